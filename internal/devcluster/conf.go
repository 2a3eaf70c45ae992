package devcluster

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"

	"muster/internal/auth/setup"
)

// Options are what `up` can be told.
type Options struct {
	Nodes   int
	CPUs    int // a node
	Threads int // a core
	Mem     int // MiB a node
	GPUs    int
	GPUType string
	// LastNode holds further words of the last node's line.
	LastNode string
	Conf     string // file whose lines are added to slurm.conf
	Hollow   int    // simulated nodes
	// Database is the URL of an external PostgreSQL; empty = the embedded one.
	Database string
	// Controllers is the number of ctld processes; more than one needs Database.
	Controllers int
	// Auth is AuthType; empty = auth/slurm.
	Auth string
}

// check refuses what cannot work.
func (o *Options) check() error {
	switch {
	case o.Nodes < 0 || o.Hollow < 0 || o.Nodes+o.Hollow == 0:
		return fmt.Errorf("--nodes or --hollow must be at least 1")
	case o.CPUs < 1 || o.Threads < 1 || o.CPUs%o.Threads != 0:
		return fmt.Errorf("--cpus must be a multiple of --threads, and both at least 1")
	case o.Mem < 1 || o.GPUs < 0:
		return fmt.Errorf("--mem must be at least 1 and --gpus not negative")
	case o.Controllers > 1 && o.Database == "":
		return fmt.Errorf("--controllers %d needs --database: the embedded database serves one controller", o.Controllers)
	}
	return nil
}

// write makes the configuration files.
func (l Layout) write(o *Options) error {
	free, err := ports(1 + o.Nodes)
	if err != nil {
		return err
	}
	text, err := l.slurmConf(o, free)
	if err != nil {
		return err
	}
	if err := setup.Cluster(l.path("etc"), l.State(), os.Geteuid(), os.Getegid()); err != nil {
		return err
	}
	files := []struct {
		name, text string
		mode       os.FileMode
	}{
		{"slurm.conf", text, 0o644},
		{"gres.conf", l.gresConf(o), 0o644},
		{"cgroup.conf", "ConstrainCores=no\nConstrainRAMSpace=no\nConstrainDevices=no\n", 0o644},
	}
	if o.Database != "" {
		files = append(files, struct {
			name, text string
			mode       os.FileMode
		}{"muster.conf", "DatabaseURL=" + o.Database + "\n", 0o600})
	}
	for _, f := range files {
		if err := os.WriteFile(l.path("etc", f.name), []byte(f.text), f.mode); err != nil {
			return err
		}
	}
	return nil
}

func (l Layout) slurmConf(o *Options, free []int) (string, error) {
	var b bytes.Buffer
	p := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	extra := ""
	if o.Conf != "" {
		text, err := os.ReadFile(o.Conf)
		if err != nil {
			return "", fmt.Errorf("read --conf: %w", err)
		}
		extra = string(text)
	}
	set := func(key, format string, a ...any) {
		if !given(extra, key) {
			p(key+"="+format, a...)
		}
	}
	p("# Made by devcluster; ended by `devcluster down --dir %s`.", l.Dir)
	set("ClusterName", "dev")
	for i := range o.Controllers {
		host := "localhost"
		if i > 0 {
			host = fmt.Sprintf("localhost%d", i+1)
		}
		p("SlurmctldHost=%s(127.0.0.%d)", host, i+1)
	}
	p("SlurmctldPort=%d", free[0])
	user, err := currentUser()
	if err != nil {
		return "", err
	}
	p("SlurmUser=%s", user)
	p("SlurmdUser=%s", user)
	auth := o.Auth
	if auth == "" {
		auth = "auth/slurm"
	}
	set("AuthType", "%s", auth)
	if auth == "auth/slurm" {
		set("AuthInfo", "socket=%s", l.path("run", "sack.sock"))
	}
	p("StateSaveLocation=%s", l.State())
	p("SlurmdSpoolDir=%s", l.path("spool", "%n"))
	p("SlurmctldLogFile=%s", l.Log("ctld"))
	p("SlurmdLogFile=%s", l.Log("%n"))
	// The daemons' own pid files: several controllers have one name for theirs,
	// so they are not those by which they are ended here.
	p("SlurmctldPidFile=%s", l.pidFile("slurmctld"))
	p("SlurmdPidFile=%s", l.pidFile("slurmd-%n"))
	set("SelectType", "select/cons_tres")
	set("SelectTypeParameters", "CR_Core_Memory")
	set("SlurmdParameters", "config_overrides")
	set("ReturnToService", "1")
	set("ProctrackType", "%s", map[bool]string{true: "proctrack/cgroup", false: "proctrack/linuxproc"}[os.Geteuid() == 0])
	if o.GPUs > 0 {
		set("GresTypes", "gpu")
		set("AccountingStorageTRES", "gres/gpu")
	}
	l.nodeLines(p, o, free[1:], extra)
	if !given(extra, "PartitionName") {
		p("PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP")
	}
	b.WriteString(extra)
	return b.String(), nil
}

func (l Layout) nodeLines(p func(string, ...any), o *Options, free []int, extra string) {
	if given(extra, "NodeName") {
		return
	}
	hw := fmt.Sprintf("CPUs=%d Sockets=1 CoresPerSocket=%d ThreadsPerCore=%d RealMemory=%d",
		o.CPUs, o.CPUs/o.Threads, o.Threads, o.Mem)
	if o.GPUs > 0 {
		hw += " Gres=gpu:"
		if o.GPUType != "" {
			hw += o.GPUType + ":"
		}
		hw += fmt.Sprint(o.GPUs)
	}
	for i := range o.Nodes {
		words := hw
		if i == o.Nodes-1 && o.LastNode != "" {
			words += " " + o.LastNode
		}
		p("NodeName=node%d NodeHostname=localhost NodeAddr=127.0.0.1 Port=%d %s", i+1, free[i], words)
	}
	if o.Hollow > 0 {
		p("NodeName=hollow[1-%d] NodeHostname=localhost NodeAddr=127.0.0.1 Port=1 %s", o.Hollow, hw)
	}
}

func (l Layout) gresConf(o *Options) string {
	if o.GPUs == 0 {
		return ""
	}
	typ := ""
	if o.GPUType != "" {
		typ = " Type=" + o.GPUType
	}
	return fmt.Sprintf("AutoDetect=off\nName=gpu%s Count=%d\n", typ, o.GPUs)
}

// given tells whether the text sets a parameter.
func given(text, key string) bool {
	return regexp.MustCompile(`(?im)^\s*` + regexp.QuoteMeta(key) + `\s*=`).MatchString(text)
}

// NodeNames lists the node daemons of the cluster, as written by up.
func (l Layout) NodeNames() ([]string, error) {
	text, err := os.ReadFile(l.path("run", "nodes"))
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(text)), nil
}
