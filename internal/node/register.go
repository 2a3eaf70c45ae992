package node

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"muster/internal/wire"
)

// Register says who the node is and everything that it has or had.
func (n *Node) Register() *wire.Register {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := &wire.Register{
		Node: n.cfg.Name, BootId: n.cfg.BootID, BootTime: n.cfg.BootTime, SlurmdStart: n.cfg.SlurmdStart,
		ClusterId: n.memory.ClusterId, Generation: n.memory.Generation, Term: n.memory.Term,
		HighestJob: n.memory.HighestJob, HighestJobId: n.memory.HighestJobId,
		Inventory: n.cfg.Inventory, Version: n.cfg.Version, Arch: n.cfg.Arch, Os: n.cfg.OS,
		ConfHash: n.cfg.ConfHash, Addr: n.cfg.Addr, Hostname: n.cfg.Hostname,
	}
	for _, run := range n.runs {
		r.Runs = append(r.Runs, run.fact)
	}
	return r
}

// Registered remembers the cluster, and refuses a controller of another one
// or one that no longer leads.
func (n *Node) Registered(r *wire.Registered) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.memory
	if m.ClusterId != "" && r.ClusterId != m.ClusterId {
		return fmt.Errorf("this node belongs to cluster %s, the controller is of cluster %s: nothing is done for it (to move the node, empty %s)",
			m.ClusterId, r.ClusterId, n.cfg.SpoolDir)
	}
	if r.Term < m.Term {
		return fmt.Errorf("the controller has term %d, another has led with term %d since", r.Term, m.Term)
	}
	if m.ClusterId == r.ClusterId && m.Generation == r.Generation && m.Term == r.Term {
		return nil
	}
	m.ClusterId, m.Generation, m.Term = r.ClusterId, r.Generation, r.Term
	return n.remember()
}

// remember writes down what must outlive this process. The mutex is held.
func (n *Node) remember() error {
	data, err := proto.Marshal(n.memory)
	if err != nil {
		return err
	}
	return n.journal.SetMemory(data)
}

// Load says how busy the machine is.
func (n *Node) Load() *wire.NodeLoad {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return &wire.NodeLoad{}
	}
	const fixedPoint = 1 << 16 // of the kernel's load averages
	return &wire.NodeLoad{
		CpuLoad: uint32(info.Loads[0] * 100 / fixedPoint),
		FreeMem: uint64(info.Freeram) * uint64(info.Unit) >> 20,
	}
}

// BootID is the kernel's name of this boot.
func BootID() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("reading the boot id: %w", err)
	}
	return string(data[:max(len(data)-1, 0)]), nil
}

// Arch is the machine's architecture as uname says it.
func Arch() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return runtime.GOARCH
	}
	return unix.ByteSliceToString(u.Machine[:])
}

// OS is the kernel as Slurm shows it: name, release, version.
func OS() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return runtime.GOOS
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:]) + " " + unix.ByteSliceToString(u.Version[:])
}
