package daemon

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"muster/internal/conf"
	"muster/internal/node"
	"muster/internal/node/inventory"
	"muster/internal/wire"
)

// FindNode decides which node of slurm.conf this is.
func FindNode(c *conf.Config, name string) (*conf.NodeConf, error) {
	if name != "" {
		n, ok := c.Node(name)
		if !ok {
			return nil, fmt.Errorf("node %s is not in %s", name, c.Path)
		}
		return n, nil
	}
	host, err := conf.ShortHostname()
	if err != nil {
		return nil, err
	}
	var found []*conf.NodeConf
	for i := range c.Nodes {
		short, _, _ := strings.Cut(c.Nodes[i].Hostname, ".")
		if c.Nodes[i].Name == host || short == host {
			found = append(found, &c.Nodes[i])
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fmt.Errorf("no node of %s is this host (%s): name it with -N", c.Path, host)
	}
	return nil, fmt.Errorf("%d nodes of %s are on this host (%s): name one with -N", len(found), c.Path, host)
}

// reattachWait is how long a step goes on when its srun is lost.
const reattachWait = 30 * time.Second

func settings(c *conf.Config) (node.Settings, error) {
	if c.PrologFlags.Has("RunInJob") {
		return node.Settings{}, fmt.Errorf("%s: not supported yet: PrologFlags=RunInJob", c.Path)
	}
	s := node.Settings{
		Prolog: inDir(c.Dir(), c.Prolog), Epilog: inDir(c.Dir(), c.Epilog),
		PrologSerial:      c.PrologFlags.Has("Serial"),
		PrologAlloc:       c.PrologFlags.Has("Alloc") || c.PrologFlags.Has("Contain") || c.PrologFlags.Has("X11"),
		PrologTimeout:     finite(c.PrologTimeout),
		EpilogTimeout:     finite(c.EpilogTimeout),
		UnkillableTimeout: c.UnkillableStepTimeout,
		UnkillableProgram: c.UnkillableStepProgram,
		KillWait:          c.KillWait,
		JobFileAppend:     c.JobFileAppend,
		Sample:            sampleInterval(c),
		ReattachWait:      reattachWait,
	}
	if c.TaskProlog != "" {
		s.TaskProlog = inDir(c.Dir(), []string{c.TaskProlog})[0]
	}
	if c.TaskEpilog != "" {
		s.TaskEpilog = inDir(c.Dir(), []string{c.TaskEpilog})[0]
	}
	return s, nil
}

func inDir(dir string, programs []string) []string {
	out := make([]string, len(programs))
	for i, p := range programs {
		if out[i] = p; !filepath.IsAbs(p) {
			out[i] = filepath.Join(dir, p)
		}
	}
	return out
}

func finite(d time.Duration) time.Duration {
	if d == conf.Infinite {
		return 0
	}
	return d
}

// sampleInterval is the `task` value of JobAcctGatherFrequency.
func sampleInterval(c *conf.Config) time.Duration {
	if strings.HasSuffix(c.JobAcctGatherType, "none") {
		return 0
	}
	for word := range strings.SplitSeq(c.JobAcctGatherFrequency, ",") {
		word = strings.TrimPrefix(strings.TrimSpace(word), "task=")
		if n, err := strconv.Atoi(word); err == nil {
			return time.Duration(n) * time.Second
		}
	}
	return 30 * time.Second
}

// hardware is what the node registers with.
func hardware(c *conf.Config, n *conf.NodeConf, declared bool) (*wire.Inventory, [][]int, error) {
	devices, err := inventory.Devices(c, n.Name, !declared)
	if err != nil {
		return nil, nil, err
	}
	if declared {
		return inventory.Declared(n, devices), nil, nil
	}
	machine, err := inventory.Detect(c.TmpFS)
	if err != nil {
		return nil, nil, err
	}
	if c.SlurmdParams.Has("config_overrides") {
		return inventory.Declared(n, devices), machine.CoreCPUs, nil
	}
	return machine.Wire(devices), machine.CoreCPUs, nil
}
