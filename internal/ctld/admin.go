package ctld

import (
	"context"
	"strings"

	"muster/internal/conf"
	"muster/internal/controller"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// Reconfigure reads the files anew, checks them whole, and puts them in force.
// On an error nothing changes.
func (d *daemon) Reconfigure(ctx context.Context, actor controller.Actor, id string) (*wire.AdminReply, error) {
	next, err := conf.Load(d.opts.Conf)
	if err != nil {
		return nil, err
	}
	set, err := settings(next)
	if err != nil {
		return nil, err
	}
	d.lookUpGroups(ctx, set)
	rules, err := d.rules(next)
	if err != nil {
		return nil, err
	}
	old := d.config()
	d.mu.Lock()
	loop, srv := d.loop, d.srv
	d.mu.Unlock()
	reply, err := loop.Do(ctx, &controller.Reconfigure{Head: controller.Head{Actor: actor, ID: id}, Settings: set})
	if err != nil {
		return nil, err
	}
	answer := reply.(*wire.AdminReply)
	if answer.Refusal != nil {
		return answer, nil
	}
	srv.Renew(rules)
	files := readConfFiles(next)
	d.mu.Lock()
	d.conf, d.files = next, files
	d.mu.Unlock()
	if err := d.logFile.setLevel(next.SlurmctldDebug); err != nil {
		return nil, err
	}
	for _, change := range conf.Diff(old, next).Changes {
		d.log.Info("reconfigured", "parameter", change.Key, "from", change.Old, "to", change.New)
		if change.Restart {
			answer.Messages = append(answer.Messages, change.Key+" takes effect when the daemons are restarted")
		}
	}
	for _, n := range next.Notices {
		d.log.Warn(n)
	}
	return answer, nil
}

// lookUpGroups fills in the ids of the groups that may use a partition.
func (d *daemon) lookUpGroups(ctx context.Context, set *controller.Settings) {
	for _, p := range set.Partitions {
		if p.AllowGroups == "" {
			continue
		}
		gids, missing := d.resolver.GroupIDs(ctx, strings.Split(p.AllowGroups, ","))
		for _, err := range missing {
			d.log.Warn("AllowGroups: this group lets nobody in", "partition", p.Name, "error", err)
		}
		p.AllowGids = gids
	}
}

// Shutdown ends this process in order.
func (d *daemon) Shutdown() { d.stop() }

// SetDebug changes how much is logged until the next reconfiguration.
func (d *daemon) SetDebug(level string) error {
	if err := d.logFile.setLevel(level); err != nil {
		return err
	}
	d.log.Info("the debug level was set by hand", "level", level)
	return nil
}

// ShowConfig is what `scontrol show config` prints.
func (d *daemon) ShowConfig() (params, cgroup []*wire.KeyValue) {
	c := d.config()
	rt := conf.Runtime{
		BootTime: slurmtime.Standard(d.started), HashMatch: true, Version: d.opts.Version,
		UserID: func(name string) (int, bool) {
			uid, err := d.resolver.ParseUser(context.Background(), name)
			return int(uid), err == nil
		},
	}
	for _, kv := range conf.ShowConfig(c, rt) {
		if kv.Key == "SlurmctldDebug" {
			kv.Value = *d.logFile.name.Load()
		}
		params = append(params, &wire.KeyValue{Key: kv.Key, Value: kv.Value})
	}
	for _, kv := range conf.ShowCgroup(c.Cgroup) {
		cgroup = append(cgroup, &wire.KeyValue{Key: kv.Key, Value: kv.Value})
	}
	return params, cgroup
}

// ConfFiles are the files for configless hosts, as they were when they were put
// in force: an edit that waits for its reconfigure reaches nobody.
func (d *daemon) ConfFiles() (hash string, files []*wire.ConfFile) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.files.hash, d.files.list
}
