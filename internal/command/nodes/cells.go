package nodes

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"muster/internal/command/format"
	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

func text(b []byte, s, none string) []byte {
	if s == "" {
		s = none
	}
	return append(b, s...)
}

func uintText(b []byte, n uint64) []byte { return strconv.AppendUint(b, n, 10) }

// Of partitions.

func cellAvail(b []byte, r *Row) []byte {
	return text(b, strings.ToLower(r.Part.State), "up")
}

func limit(b []byte, minutes uint32, none string) []byte {
	switch minutes {
	case 0:
		return append(b, none...)
	case slurmtime.Unlimited:
		return append(b, "infinite"...)
	}
	return append(b, slurmtime.FormatLimit(minutes)...)
}

func cellTimeLimit(b []byte, r *Row) []byte   { return limit(b, r.Part.MaxTime, "infinite") }
func cellDefaultTime(b []byte, r *Row) []byte { return limit(b, r.Part.DefaultTime, "n/a") }

func cellJobSize(b []byte, r *Row) []byte {
	least := max(r.Part.MinNodes, 1)
	if r.Part.MaxNodes == 0 || r.Part.MaxNodes == slurmtime.Unlimited {
		return append(uintText(b, uint64(least)), "-infinite"...)
	}
	b = uintText(b, uint64(least))
	if r.Part.MaxNodes != least {
		b = uintText(append(b, '-'), uint64(r.Part.MaxNodes))
	}
	return b
}

func cellRoot(b []byte, r *Row) []byte {
	if r.Part.RootOnly {
		return append(b, "yes"...)
	}
	return append(b, "no"...)
}

func allOr(b []byte, list string) []byte {
	if list == "" || strings.EqualFold(list, "ALL") {
		return append(b, "all"...)
	}
	return append(b, list...)
}

func cellOverSubscribe(b []byte, r *Row) []byte { return text(b, r.Part.Oversubscribe, "NO") }
func cellGroups(b []byte, r *Row) []byte        { return allOr(b, r.Part.AllowGroups) }
func cellAllocNodes(b []byte, r *Row) []byte    { return allOr(b, r.Part.AllocNodes) }
func cellPartitionName(b []byte, r *Row) []byte { return append(b, r.Part.Name...) }
func cellPreemptMode(b []byte, r *Row) []byte   { return text(b, r.Part.PreemptMode, "OFF") }
func cellJobFactor(b []byte, r *Row) []byte     { return uintText(b, uint64(r.Part.PriorityJobFactor)) }
func cellTier(b []byte, r *Row) []byte          { return uintText(b, uint64(r.Part.PriorityTier)) }

func cellPartition(b []byte, r *Row) []byte {
	b = append(b, r.Part.Name...)
	if r.Part.IsDefault {
		b = append(b, '*')
	}
	return b
}

// narrowPartition cuts the name and keeps the star of the default partition.
func narrowPartition(width int) format.Cell[Row] {
	return func(b []byte, r *Row) []byte {
		if !r.Part.IsDefault || len(r.Part.Name) < width {
			return cellPartition(b, r)
		}
		return append(append(b, r.Part.Name[:width-1]...), '*')
	}
}

func cellMaxCPUs(b []byte, r *Row) []byte {
	if r.Part.MaxCpusPerNode == 0 || r.Part.MaxCpusPerNode == slurmtime.Unlimited {
		return append(b, "UNLIMITED"...)
	}
	return uintText(b, uint64(r.Part.MaxCpusPerNode))
}

// Of nodes, counted.

func cellNodesAI(b []byte, r *Row) []byte {
	t := r.nodeTally()
	return uintText(append(uintText(b, t.alloc), '/'), t.idle)
}

func (t tally) append(b []byte) []byte {
	b = append(uintText(b, t.alloc), '/')
	b = append(uintText(b, t.idle), '/')
	b = append(uintText(b, t.other), '/')
	return uintText(b, t.total)
}

func cellNodesAIOT(b []byte, r *Row) []byte { return r.nodeTally().append(b) }
func cellCPUsAIOT(b []byte, r *Row) []byte  { return r.cpuTally().append(b) }
func cellCount(b []byte, r *Row) []byte     { return uintText(b, uint64(len(r.Nodes))) }

// Of nodes, the least, with a plus where some have more.

func leastPlus(b []byte, r *Row, of func(*wire.NodeInfo) uint64) []byte {
	least, most := bounds(r, of)
	b = uintText(b, least)
	if most != least {
		b = append(b, '+')
	}
	return b
}

func cpus(n *wire.NodeInfo) uint64    { return uint64(n.Cpus) }
func memory(n *wire.NodeInfo) uint64  { return n.RealMemory }
func disk(n *wire.NodeInfo) uint64    { return n.TmpDisk }
func weight(n *wire.NodeInfo) uint64  { return uint64(n.State.Weight) }
func sockets(n *wire.NodeInfo) uint64 { return uint64(n.Sockets) }
func cores(n *wire.NodeInfo) uint64   { return uint64(n.CoresPerSocket) }
func threads(n *wire.NodeInfo) uint64 { return uint64(n.ThreadsPerCore) }

func cellCPUs(b []byte, r *Row) []byte    { return leastPlus(b, r, cpus) }
func cellMemory(b []byte, r *Row) []byte  { return leastPlus(b, r, memory) }
func cellDisk(b []byte, r *Row) []byte    { return leastPlus(b, r, disk) }
func cellWeight(b []byte, r *Row) []byte  { return leastPlus(b, r, weight) }
func cellSockets(b []byte, r *Row) []byte { return leastPlus(b, r, sockets) }
func cellCores(b []byte, r *Row) []byte   { return leastPlus(b, r, cores) }
func cellThreads(b []byte, r *Row) []byte { return leastPlus(b, r, threads) }

func cellSCT(b []byte, r *Row) []byte {
	b = append(cellSockets(b, r), ':')
	b = append(cellCores(b, r), ':')
	return cellThreads(b, r)
}

// known is false for nodes of which nothing was measured yet.
func known(n *wire.NodeInfo) bool { return n != nil && n.State.Registered }

func cellFreeMem(b []byte, r *Row) []byte {
	if !known(r.first()) {
		return append(b, "N/A"...)
	}
	least, most := bounds(r, func(n *wire.NodeInfo) uint64 { return n.FreeMem })
	b = uintText(b, least)
	if most != least {
		b = uintText(append(b, '-'), most)
	}
	return b
}

func cellLoad(b []byte, r *Row) []byte {
	if !known(r.first()) {
		return append(b, "N/A"...)
	}
	least, most := bounds(r, func(n *wire.NodeInfo) uint32 { return n.CpuLoad })
	b = fmt.Appendf(b, "%.2f", float64(least)/100)
	if most != least {
		b = fmt.Appendf(b, "-%.2f", float64(most)/100)
	}
	return b
}

func cellAllocMem(b []byte, r *Row) []byte {
	return leastPlus(b, r, func(n *wire.NodeInfo) uint64 { return n.AllocMem })
}

// Of nodes that are alike.

func (r *Row) one(b []byte, none string, of func(*wire.NodeInfo) string) []byte {
	if len(r.Nodes) == 0 {
		return append(b, none...)
	}
	return text(b, of(r.Nodes[0]), none)
}

func cellState(b []byte, r *Row) []byte {
	return r.one(b, "n/a", func(n *wire.NodeInfo) string { return model.NodeStateName(n).Short })
}
func cellStateLong(b []byte, r *Row) []byte {
	return r.one(b, "n/a", func(n *wire.NodeInfo) string { return model.NodeStateName(n).Long })
}
func cellStateFull(b []byte, r *Row) []byte {
	return r.one(b, "n/a", func(n *wire.NodeInfo) string { return strings.ToLower(model.NodeStateFull(n)) })
}
func cellReason(b []byte, r *Row) []byte {
	return r.one(b, "none", func(n *wire.NodeInfo) string { return n.State.Reason })
}
func cellFeatures(b []byte, r *Row) []byte {
	return r.one(b, "(null)", func(n *wire.NodeInfo) string { return n.State.FeaturesAvailable })
}
func cellActive(b []byte, r *Row) []byte {
	return r.one(b, "(null)", func(n *wire.NodeInfo) string { return n.State.FeaturesActive })
}
func cellGres(b []byte, r *Row) []byte {
	return r.one(b, "(null)", func(n *wire.NodeInfo) string { return n.Gres })
}
func cellGresUsed(b []byte, r *Row) []byte {
	return r.one(b, "", func(n *wire.NodeInfo) string { return n.GresUsed })
}
func cellVersion(b []byte, r *Row) []byte {
	return r.one(b, "N/A", func(n *wire.NodeInfo) string { return n.State.Version })
}
func cellComment(b []byte, r *Row) []byte {
	return r.one(b, "(null)", func(n *wire.NodeInfo) string { return n.State.Comment })
}
func cellExtra(b []byte, r *Row) []byte {
	return r.one(b, "(null)", func(n *wire.NodeInfo) string { return n.State.Extra })
}
func cellPort(b []byte, r *Row) []byte {
	return r.one(b, "0", func(n *wire.NodeInfo) string { return fmt.Sprint(n.Port) })
}

func cellReasonTime(b []byte, r *Row) []byte {
	n := r.first()
	if n == nil || n.State.ReasonTime == 0 {
		return append(b, "Unknown"...)
	}
	return append(b, slurmtime.Stamp(time.Unix(n.State.ReasonTime, 0), r.TimeFormat, r.Now)...)
}

func cellUser(b []byte, r *Row) []byte {
	n := r.first()
	if n == nil || n.State.ReasonTime == 0 {
		return append(b, "Unknown"...)
	}
	return append(b, r.UserName(n.State.ReasonUid)...)
}

func cellUserLong(b []byte, r *Row) []byte {
	n := r.first()
	if n == nil || n.State.ReasonTime == 0 {
		return append(b, "Unknown"...)
	}
	return fmt.Appendf(b, "%s(%d)", r.UserName(n.State.ReasonUid), n.State.ReasonUid)
}

// Of nodes, named.

func (r *Row) names(of func(*wire.NodeInfo) string) []string {
	names := make([]string, len(r.Nodes))
	for i, n := range r.Nodes {
		names[i] = of(n)
	}
	return hostlist.Uniq(names)
}

func cellNodeList(b []byte, r *Row) []byte {
	return append(b, hostlist.CompressSorted(r.names(nodeName))...)
}

func nodeName(n *wire.NodeInfo) string { return n.State.Name }

func cellHosts(b []byte, r *Row) []byte {
	return append(b, hostlist.CompressSorted(r.names(func(n *wire.NodeInfo) string {
		if n.State.Hostname != "" {
			return n.State.Hostname
		}
		return n.State.Name
	}))...)
}

func cellAddrs(b []byte, r *Row) []byte {
	return append(b, hostlist.CompressSorted(r.names(func(n *wire.NodeInfo) string {
		if host, _, err := net.SplitHostPort(n.State.Addr); err == nil {
			return host
		}
		if n.State.Addr != "" {
			return n.State.Addr
		}
		return n.State.Name
	}))...)
}

func cellCluster(b []byte, _ *Row) []byte { return append(b, "N/A"...) }
func cellNone(b []byte, _ *Row) []byte    { return b }
