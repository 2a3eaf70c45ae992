package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// writeConfig writes slurm.conf, gres.conf, cgroup.conf and slurmdbd.conf.
func (c *Cluster) writeConfig() error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("this host's name: %w", err)
	}
	for _, f := range []struct {
		name, text string
		mode       os.FileMode
	}{
		{"slurm.conf", c.slurmConf(host), 0o644},
		{"gres.conf", c.gresConf(), 0o644},
		{"cgroup.conf", "CgroupAutomount=no\nConstrainCores=no\n", 0o644},
		{"slurmdbd.conf", c.slurmdbdConf(host), 0o600},
	} {
		path := filepath.Join(c.cfg.Dir, "etc", f.name)
		if err := os.WriteFile(path, []byte(f.text), f.mode); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	return nil
}

func (c *Cluster) slurmConf(host string) string {
	var b strings.Builder
	d := c.cfg.Dir
	fmt.Fprintf(&b, "SlurmctldHost=%s(127.0.0.1)\nSlurmctldPort=%d\n", host, c.ports.ctld)
	fmt.Fprintf(&b, "SlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\nAuthInfo=socket=%s\n", c.mungeSocket())
	fmt.Fprintf(&b, "StateSaveLocation=%s/state\nSlurmdSpoolDir=%s/spool/%%n\n", d, d)
	fmt.Fprintf(&b, "SlurmctldPidFile=%s/slurmctld.pid\nSlurmdPidFile=%s/slurmd.%%n.pid\n", d, d)
	fmt.Fprintf(&b, "SlurmctldLogFile=%s/log/slurmctld.log\nSlurmdLogFile=%s/log/slurmd.%%n.log\n", d, d)
	b.WriteString("ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/linux\n")
	b.WriteString("SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n")
	b.WriteString("SlurmdParameters=config_overrides\nMpiDefault=none\nSwitchType=switch/none\n")
	// The newest release's defaults where 22.05 had others.
	b.WriteString("PriorityType=priority/multifactor\nSchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1\n")
	fmt.Fprintf(&b, "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\nAccountingStoragePort=%d\nAccountingStoragePass=%s\n", c.ports.dbd, c.mungeSocket())
	if c.cfg.GPUs > 0 {
		b.WriteString("AccountingStorageTRES=gres/gpu\nGresTypes=gpu\n")
	}
	gres := ""
	if c.cfg.GPUs > 0 {
		gres = fmt.Sprintf(" Gres=gpu:%s:%d", c.cfg.GPUType, c.cfg.GPUs)
	}
	threads := max(c.cfg.Threads, 1)
	for i, port := range c.ports.slurmd {
		more := gres
		if i == len(c.ports.slurmd)-1 && c.cfg.LastNode != "" {
			more += " " + c.cfg.LastNode
		}
		fmt.Fprintf(&b, "NodeName=node%d NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=%d Sockets=1 CoresPerSocket=%d ThreadsPerCore=%d RealMemory=%d%s\n",
			i+1, host, port, c.cfg.CPUs, c.cfg.CPUs/threads, threads, c.cfg.Memory, more)
	}
	b.WriteString(c.cfg.Conf)
	return b.String()
}

func (c *Cluster) gresConf() string {
	if c.cfg.GPUs == 0 {
		return ""
	}
	return fmt.Sprintf("NodeName=node[1-%d] Name=gpu Type=%s File=%s/dev/gpu[0-%d]\n",
		c.cfg.Nodes, c.cfg.GPUType, c.cfg.Dir, c.cfg.GPUs-1)
}

func (c *Cluster) slurmdbdConf(host string) string {
	return fmt.Sprintf(`AuthType=auth/munge
AuthInfo=socket=%s
DbdHost=%s
DbdAddr=127.0.0.1
DbdPort=%d
SlurmUser=root
LogFile=%s/log/slurmdbd.log
PidFile=%s/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=%d
StorageUser=slurm
StoragePass=oracle
StorageLoc=slurm_acct_db
`, c.mungeSocket(), host, c.ports.dbd, c.cfg.Dir, c.cfg.Dir, c.ports.sql)
}

func (c *Cluster) mungeSocket() string { return filepath.Join(c.cfg.Dir, "munge", "socket") }
