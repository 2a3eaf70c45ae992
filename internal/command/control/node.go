package control

import (
	"fmt"
	"strings"

	"muster/internal/command/nodes"
	"muster/internal/model"
	"muster/internal/wire"
)

// AppendNode appends the record of a node.
func AppendNode(b []byte, style *Style, n *wire.NodeInfo, userName func(uint32) string) []byte {
	r := &record{Style: style, b: b}
	s := n.State
	arch := ""
	if s.Arch != "" {
		arch = " Arch=" + s.Arch
	}
	r.line("NodeName=%s%s CoresPerSocket=%d ", s.Name, arch, n.CoresPerSocket)
	load := "N/A"
	if s.Registered {
		load = fmt.Sprintf("%.2f", float64(n.CpuLoad)/100)
	}
	r.line("CPUAlloc=%d CPUEfctv=%d CPUTot=%d CPULoad=%s", n.AllocCpus, model.NodeCPUs(n), n.Cpus, load)
	r.line("AvailableFeatures=%s", orNull(s.FeaturesAvailable))
	r.line("ActiveFeatures=%s", orNull(s.FeaturesActive))
	r.line("Gres=%s", orNull(n.Gres))
	if style.Details {
		r.line("GresDrain=N/A")
		r.line("GresUsed=%s", n.GresUsed)
	}
	version := ""
	if s.Version != "" {
		version = "Version=" + s.Version
	}
	r.line("NodeAddr=%s NodeHostName=%s Port=%d %s", or(nodes.Host(s.Addr), s.Name), or(s.Hostname, s.Name), n.Port, version)
	if s.Os != "" {
		r.line("OS=%s ", s.Os)
	}
	nodeAmounts(r, n)
	nodeTimes(r, n, userName)
	return r.end()
}

func nodeAmounts(r *record, n *wire.NodeInfo) {
	s := n.State
	free := "N/A"
	if s.Registered {
		free = fmt.Sprint(n.FreeMem)
	}
	r.line("RealMemory=%d AllocMem=%d FreeMem=%s Sockets=%d Boards=%d", n.RealMemory, n.AllocMem, free, n.Sockets, max(n.Boards, 1))
	if n.CoreSpecCount != 0 || n.CpuSpecList != "" || n.MemSpecLimit != 0 {
		r.line("%s", specLine(n))
	}
	r.line("State=%s ThreadsPerCore=%d TmpDisk=%d Weight=%d Owner=%s MCS_label=%s", model.NodeStateFull(n), n.ThreadsPerCore,
		n.TmpDisk, s.Weight, or(n.Owner, "N/A"), or(n.McsLabel, "N/A"))
	if len(n.Partitions) > 0 {
		r.line("Partitions=%s ", strings.Join(n.Partitions, ","))
	}
}

// specLine is what of a node is kept back for the system.
func specLine(n *wire.NodeInfo) string {
	var b strings.Builder
	if n.CoreSpecCount != 0 {
		fmt.Fprintf(&b, "CoreSpecCount=%d ", n.CoreSpecCount)
	}
	if n.CpuSpecList != "" {
		fmt.Fprintf(&b, "CPUSpecList=%s ", n.CpuSpecList)
	}
	if n.MemSpecLimit != 0 {
		fmt.Fprintf(&b, "MemSpecLimit=%d", n.MemSpecLimit)
	}
	return b.String()
}

func nodeTimes(r *record, n *wire.NodeInfo, userName func(uint32) string) {
	s := n.State
	r.line("BootTime=%s SlurmdStartTime=%s", r.time(s.BootTime, "None"), r.time(s.SlurmdStart, "None"))
	r.line("LastBusyTime=%s", r.time(s.LastBusy, "Unknown"))
	if s.ResumeAfter != 0 {
		r.line("ResumeAfterTime=%s", r.time(s.ResumeAfter, "None"))
	}
	r.line("CfgTRES=%s", n.CfgTres)
	r.line("AllocTRES=%s", n.AllocTres)
	r.line("CapWatts=n/a")
	r.line("CurrentWatts=0 AveWatts=0")
	r.line("ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s")
	if s.Reason != "" {
		r.line("Reason=%s [%s@%s]", s.Reason, userName(s.ReasonUid), r.time(s.ReasonTime, "Unknown"))
	}
	if s.Comment != "" {
		r.line("Comment=%s", s.Comment)
	}
	if s.Extra != "" {
		r.line("Extra=%s", s.Extra)
	}
}
