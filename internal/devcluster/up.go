package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"muster/internal/command/client"
	"muster/internal/node/daemon"
	"muster/internal/wire"
)

// upTime is how long a cluster may take to come up.
const upTime = 60 * time.Second

// Up makes the cluster's folder, starts its daemons and waits until every node
// is registered. On an error what was started is ended again.
func (l Layout) Up(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	if l.exists() {
		return fmt.Errorf("%s holds a cluster already: `devcluster down --dir %s` ends and removes it", l.Dir, l.Dir)
	}
	if err := l.make(); err != nil {
		return err
	}
	if err := l.write(&o); err != nil {
		return err
	}
	var names []string
	for i := range o.Controllers {
		names = append(names, controllerName(i))
	}
	for i := range o.Nodes {
		names = append(names, fmt.Sprintf("node%d", i+1))
	}
	if o.Hollow > 0 {
		names = append(names, "hollow")
	}
	if err := os.WriteFile(l.path("run", "nodes"), []byte(strings.Join(names, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	for _, name := range names {
		if err := l.Start(name); err != nil {
			return errors.Join(err, l.Down(false))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, upTime)
	defer cancel()
	if err := l.awaitNodes(ctx, o.Nodes+o.Hollow); err != nil {
		return errors.Join(fmt.Errorf("%w; see %s", err, l.path("log")), l.Down(false))
	}
	return nil
}

func controllerName(i int) string {
	if i == 0 {
		return "ctld"
	}
	return fmt.Sprintf("ctld%d", i+1)
}

// awaitNodes asks the controller until all nodes are registered.
func (l Layout) awaitNodes(ctx context.Context, nodes int) error {
	for {
		n, last := l.registered(ctx)
		if last == nil && n >= nodes {
			return nil
		}
		if last == nil {
			last = fmt.Errorf("%d of %d nodes are registered", n, nodes)
		}
		if pid, alive := l.alive("ctld"); !alive {
			return fmt.Errorf("ctld (pid %d) has ended", pid)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("gave up waiting for the cluster: %w", last)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (l Layout) registered(ctx context.Context) (int, error) {
	c, err := client.New(l.getenv)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	count := 0
	err = c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) error {
		stream, err := ctld.Nodes(ctx, &wire.NodesRequest{All: true})
		if err != nil {
			return err
		}
		count = 0
		return readNodes(stream, func(n *wire.NodeInfo) {
			if n.State.Registered && n.State.Base != wire.NodeBase_NODE_UNKNOWN &&
				n.State.Flags&uint32(wire.NodeFlag_NF_NO_RESPOND) == 0 {
				count++
			}
		})
	})
	return count, err
}

func readNodes(stream wire.DRPCCtld_NodesClient, each func(*wire.NodeInfo)) error {
	defer stream.Close()
	for {
		page, err := stream.Recv()
		if err != nil {
			return ignoreEOF(err)
		}
		if page.Refusal != nil {
			return errors.New(page.Refusal.Message)
		}
		for _, n := range page.Nodes {
			each(n)
		}
	}
}

func (l Layout) getenv(name string) string {
	if name == "SLURM_CONF" {
		return l.Conf()
	}
	return os.Getenv(name)
}

// Down ends every daemon of the cluster, jobs included, and with remove
// deletes its folder.
func (l Layout) Down(remove bool) error {
	if !l.exists() {
		return fmt.Errorf("no cluster in %s", l.Dir)
	}
	names, err := l.NodeNames()
	if err != nil {
		return err
	}
	var errs []error
	// The nodes first, so that the controller sees no lost ones; stepd outlives
	// its noded and is ended by itself.
	for i := len(names) - 1; i >= 0; i-- {
		if _, alive := l.alive(names[i]); alive {
			_ = l.Signal(names[i], syscall.SIGCONT)
			errs = append(errs, l.Signal(names[i], syscall.SIGTERM))
		}
	}
	errs = append(errs, l.endJobs(), l.endDatabase(), l.removeCgroups(names))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if !remove {
		return nil
	}
	return os.RemoveAll(l.Dir)
}

// endJobs ends what is left of jobs: processes that carry a job id and this
// cluster's configuration in their environment, and the shepherds, which name
// the cluster's folder on their command lines.
func (l Layout) endJobs() error {
	for deadline := time.Now().Add(stopTime); ; time.Sleep(5 * time.Millisecond) {
		pids := l.jobProcesses()
		if len(pids) == 0 {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes of jobs do not end: %v", pids)
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
	var errs []error
	for _, pid := range l.shepherds() {
		if waitGone(pid, 2*time.Second) != nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			errs = append(errs, waitGone(pid, stopTime))
		}
	}
	return errors.Join(errs...)
}

// jobProcesses finds the processes of this cluster's jobs.
func (l Layout) jobProcesses() []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // another user's, or ended
		}
		vars := "\x00" + string(text)
		if strings.Contains(vars, "\x00SLURM_CONF="+l.Conf()+"\x00") && strings.Contains(vars, "\x00SLURM_JOB_ID=") {
			var pid int
			if _, err := fmt.Sscanf(filepath.Base(filepath.Dir(f)), "%d", &pid); err == nil && pid != os.Getpid() {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// removeCgroups removes the folders that held the nodes' jobs.
func (l Layout) removeCgroups(names []string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	var errs []error
	for _, name := range names {
		if strings.HasPrefix(name, "node") {
			errs = append(errs, daemon.RemoveCgroups(name, l.spool(name)))
		}
	}
	return errors.Join(errs...)
}

func (l Layout) shepherds() []int {
	var pids []int
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range lines {
		text, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		words := strings.Split(string(text), "\x00")
		if filepath.Base(words[0]) != "stepd" || !strings.Contains(string(text), l.path("spool")) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(filepath.Dir(f)), "%d", &pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// endDatabase ends the embedded database when its controller was killed and
// could not.
func (l Layout) endDatabase() error {
	pid, err := l.databasePid()
	if err != nil {
		return nil //nolint:nilerr // none runs
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
		return nil //nolint:nilerr // a stale pid file
	}
	return l.Signal("db", syscall.SIGTERM)
}
