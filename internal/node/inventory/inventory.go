// Package inventory finds out what hardware a node has: processors, memory,
// scratch space from the kernel, devices from gres.conf.
//
// It must not compare: whether the hardware is what slurm.conf says is the
// controller's question.
package inventory

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"muster/internal/conf"
	"muster/internal/wire"
)

// Machine is what the kernel says of this machine.
type Machine struct {
	CPUs, Sockets, CoresPerSocket, ThreadsPerCore int
	RealMemory, TmpDisk                           uint64 // MiB
	CoreCPUs                                      [][]int
}

// Detect reads /sys and /proc. tmpFS is the scratch file system.
func Detect(tmpFS string) (*Machine, error) {
	m, err := topology("/sys/devices/system/cpu")
	if err != nil {
		return nil, err
	}
	if m.RealMemory, err = memory("/proc/meminfo"); err != nil {
		return nil, err
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(tmpFS, &stat); err == nil { // a missing TmpFS counts as none
		m.TmpDisk = stat.Blocks * uint64(stat.Bsize) >> 20
	}
	return m, nil
}

type coreID struct{ socket, core int }

func topology(dir string) (*Machine, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "cpu[0-9]*"))
	if err != nil {
		return nil, err
	}
	cpus := make(map[coreID][]int)
	m := new(Machine)
	for _, path := range paths {
		number, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(path), "cpu"))
		if err != nil {
			continue
		}
		socket, err := readInt(filepath.Join(path, "topology/physical_package_id"))
		if err != nil {
			continue // offline
		}
		core, err := readInt(filepath.Join(path, "topology/core_id"))
		if err != nil {
			return nil, fmt.Errorf("reading the processors: %w", err)
		}
		id := coreID{socket, core}
		cpus[id] = append(cpus[id], number)
		m.CPUs++
	}
	if m.CPUs == 0 {
		return nil, fmt.Errorf("no processors found in %s", dir)
	}
	ids := make([]coreID, 0, len(cpus))
	sockets := make(map[int]bool)
	for id, threads := range cpus {
		ids = append(ids, id)
		sockets[id.socket] = true
		m.ThreadsPerCore = max(m.ThreadsPerCore, len(threads))
		sort.Ints(threads)
	}
	sort.Slice(ids, func(i, j int) bool {
		if ids[i].socket != ids[j].socket {
			return ids[i].socket < ids[j].socket
		}
		return ids[i].core < ids[j].core
	})
	for _, id := range ids {
		m.CoreCPUs = append(m.CoreCPUs, cpus[id])
	}
	m.Sockets = len(sockets)
	m.CoresPerSocket = max(len(ids)/m.Sockets, 1)
	return m, nil
}

func readInt(path string) (int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}

func memory(path string) (uint64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("reading the memory's size: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
			return kib >> 10, err
		}
	}
	return 0, fmt.Errorf("%s has no MemTotal", path)
}

// Line is the machine's line for slurm.conf.
func (m *Machine) Line(node string) string {
	return fmt.Sprintf("NodeName=%s CPUs=%d Boards=1 SocketsPerBoard=%d CoresPerSocket=%d ThreadsPerCore=%d RealMemory=%d",
		node, m.CPUs, m.Sockets, m.CoresPerSocket, m.ThreadsPerCore, m.RealMemory)
}

// UpTime is how long the machine is up, as slurmd -C says it.
func UpTime() string {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return "UpTime=unknown"
	}
	s := int64(info.Uptime)
	return fmt.Sprintf("UpTime=%d-%02d:%02d:%02d", s/86400, s/3600%24, s/60%60, s%60)
}

// Wire is the machine with its devices, as it is registered.
func (m *Machine) Wire(devices []*wire.GresDevice) *wire.Inventory {
	return &wire.Inventory{
		Cpus: uint32(m.CPUs), Boards: 1, Sockets: uint32(m.Sockets), CoresPerSocket: uint32(m.CoresPerSocket),
		ThreadsPerCore: uint32(m.ThreadsPerCore), RealMemory: m.RealMemory, TmpDisk: m.TmpDisk, Gres: devices,
	}
}

// Declared is the hardware that the configuration says, taken for real: for
// clusters of many nodes on one machine.
func Declared(n *conf.NodeConf, devices []*wire.GresDevice) *wire.Inventory {
	return &wire.Inventory{
		Cpus: uint32(n.CPUs), Boards: uint32(max(n.Boards, 1)), Sockets: uint32(n.Sockets), CoresPerSocket: uint32(n.CoresPerSocket),
		ThreadsPerCore: uint32(n.ThreadsPerCore), RealMemory: n.RealMemory, TmpDisk: n.TmpDisk, Gres: devices,
	}
}

// Devices lists what gres.conf says that a node has. With check, a device file
// that is missing is an error.
func Devices(c *conf.Config, node string, check bool) ([]*wire.GresDevice, error) {
	var devices []*wire.GresDevice
	index := make(map[string]uint32)
	for _, g := range c.GresFor(node) {
		files := append(append([]string(nil), g.Files...), g.Multiple...)
		if check {
			for _, file := range files {
				if _, err := os.Stat(file); err != nil {
					return nil, fmt.Errorf("%s: gres/%s: device %w", g.Pos, g.Name, err)
				}
			}
		}
		device := &wire.GresDevice{Name: g.Name, Type: g.Type, Cores: g.Cores, Links: g.Links, Flags: strings.Join(g.Flags, ",")}
		switch {
		case len(g.Files) > 0:
			for _, file := range g.Files {
				devices = append(devices, next(device, file, index))
			}
		case len(g.Multiple) > 0:
			devices = append(devices, next(device, strings.Join(g.Multiple, ","), index))
		default: // only counted: one entry says how many
			device.Flags = strings.TrimPrefix(fmt.Sprintf("%s,count=%d", device.Flags, max(g.Count, 1)), ",")
			devices = append(devices, next(device, "", index))
		}
	}
	return devices, nil
}

func next(like *wire.GresDevice, file string, index map[string]uint32) *wire.GresDevice {
	d := &wire.GresDevice{Name: like.Name, Type: like.Type, Cores: like.Cores, Links: like.Links, Flags: like.Flags, File: file, Index: index[like.Name]}
	index[like.Name]++
	return d
}
