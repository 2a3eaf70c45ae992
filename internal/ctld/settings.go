package ctld

import (
	"fmt"
	"strings"
	"time"

	"muster/internal/conf"
	"muster/internal/controller"
	"muster/internal/hostlist"
	"muster/internal/wire"
)

// settings turns the configuration into what the reducer knows of it.
func settings(c *conf.Config) (*controller.Settings, error) {
	if !strings.EqualFold(c.SelectType, "select/cons_tres") && !strings.EqualFold(c.SelectType, "select/linear") {
		return nil, fmt.Errorf("%s: not supported yet: SelectType=%s; use select/cons_tres", c.Path, c.SelectType)
	}
	has := func(word string) bool { return c.SelectParams.Has(word) }
	memory := has("CR_CPU_Memory") || has("CR_Core_Memory") || has("CR_Socket_Memory") || has("CR_Memory")
	s := &controller.Settings{
		ClusterName:        c.ClusterName,
		SlurmdTimeout:      seconds(c.SlurmdTimeout),
		ReturnToService:    c.ReturnToService,
		ConfigOverrides:    c.SlurmdParams.Has("config_overrides"),
		NoHoldOnPrologFail: c.SchedulerParams.Has("nohold_on_prolog_fail"),
		PrologAlloc:        c.PrologFlags.Has("Alloc") || c.PrologFlags.Has("Contain"),
		Contain:            c.PrologFlags.Has("Contain"),
		MinJobAge:          seconds(c.MinJobAge),
		MaxJobCount:        int(c.MaxJobCount),
		MaxArraySize:       c.MaxArraySize,
		AcctgFrequency:     controller.TaskFrequency(c.JobAcctGatherFrequency),
		FirstJobID:         c.FirstJobID,
		MaxJobID:           c.MaxJobID,
		KillWait:           uint32(seconds(c.KillWait)),
		OverTimeLimit:      c.OverTimeLimit,
		JobRequeue:         c.JobRequeue,
		MaxBatchRequeue:    c.MaxBatchRequeue,
		RequeueExit:        exits(c.RequeueExit),
		RequeueExitHold:    exits(c.RequeueExitHold),
		EnforcePartLimits:  c.EnforcePartLimits,
		KillInvalidDepend:  c.DependencyParams.Has("kill_invalid_depend"),
		PriorityBasic:      strings.EqualFold(c.PriorityType, "priority/basic"),
		HasPrologSlurmctld: len(c.PrologSlurmctld) > 0,
		HasEpilogSlurmctld: len(c.EpilogSlurmctld) > 0,
		KeepPartState:      c.ReconfigFlags.Has("KeepPartState") || c.ReconfigFlags.Has("KeepPartInfo"),
		TRESGres:           gresTRES(c),
	}
	o := &s.Pass
	o.SelectCores = !has("CR_CPU") && !has("CR_CPU_Memory")
	o.SelectMemory = memory || len(c.SelectParams) == 0
	o.LLN, o.PackNodes = has("CR_LLN"), has("CR_Pack_Nodes")
	o.DefCPUPerGPU, o.MaxStarts = c.DefCPUPerGPU, maxPlanStarts
	memLimit(c.DefMem, &o.DefMemPerNode, &o.DefMemPerCPU)
	o.DefMemPerGPU = c.DefMemPerGPU
	memLimit(c.MaxMem, &o.MaxMemPerNode, &o.MaxMemPerCPU)
	for i := range c.Nodes {
		s.Nodes = append(s.Nodes, nodeSettings(c, &c.Nodes[i]))
	}
	for i := range c.Partitions {
		s.Partitions = append(s.Partitions, partitionInfo(c, &c.Partitions[i]))
	}
	return s, nil
}

// gresTRES lists the generic resources that count as TRES: what
// AccountingStorageTRES names as gres/….
func gresTRES(c *conf.Config) []string {
	var out []string
	for _, t := range c.AccountingStorageTRES {
		if name, ok := strings.CutPrefix(strings.ToLower(t), "gres/"); ok {
			out = append(out, name)
		}
	}
	return out
}

// maxPlanStarts bounds one plan, so that a pass over a long queue of small jobs
// yields work early.
const maxPlanStarts = 4096

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

func exits(ranges []conf.ExitRange) map[int]bool {
	out := map[int]bool{}
	for _, r := range ranges {
		for code := r.Lo; code <= r.Hi && code < 256; code++ {
			out[code] = true
		}
	}
	return out
}

func memLimit(l conf.MemLimit, node, cpu *uint64) {
	switch l.Kind {
	case conf.MemPerNode:
		*node = l.MiB
	case conf.MemPerCPU:
		*cpu = l.MiB
	}
}

func nodeSettings(c *conf.Config, n *conf.NodeConf) controller.NodeSettings {
	return controller.NodeSettings{
		Name: n.Name, Addr: n.Addr, Hostname: n.Hostname, Port: uint32(n.Port),
		CPUs: uint32(n.CPUs), Boards: uint32(n.Boards), Sockets: uint32(n.Sockets),
		CoresPerSocket: uint32(n.CoresPerSocket), ThreadsPerCore: uint32(n.ThreadsPerCore),
		RealMemory: n.RealMemory, TmpDisk: n.TmpDisk, Gres: n.Gres, GresDevices: gresSettings(c, n),
		Features: strings.Join(n.Features, ","), Weight: n.Weight, CoreSpecCount: uint32(n.CoreSpecCount),
		CPUSpecList: n.CPUSpecList, SpecCPUs: specCPUs(n.CPUSpecList), MemSpecLimit: n.MemSpecLimit, State: n.State, Reason: n.Reason,
	}
}

// specCPUs are the numbers in a CpuSpecList, which the configuration's reader
// has checked.
func specCPUs(list string) []uint32 {
	ids, err := conf.ParseIDs(list)
	if err != nil {
		return nil
	}
	out := make([]uint32, len(ids))
	for i, id := range ids {
		out[i] = uint32(id)
	}
	return out
}

// gresSettings numbers a node's devices: those of gres.conf in its order, else
// the counts of the node line. Resources other than GPUs without files are only
// counted.
func gresSettings(c *conf.Config, n *conf.NodeConf) []controller.GresSettings {
	var out []controller.GresSettings
	next := map[string]uint32{}
	for _, g := range n.GresCounts {
		s := controller.GresSettings{Name: g.Name, Type: g.Type, Count: g.Count}
		if g.Name == "gpu" || hasFiles(c, n.Name, g.Name) {
			for range g.Count {
				s.Index = append(s.Index, next[g.Name])
				next[g.Name]++
			}
		}
		out = append(out, s)
	}
	return out
}

func hasFiles(c *conf.Config, node, name string) bool {
	for _, g := range c.GresFor(node) {
		if g.Name == name && len(g.Files) > 0 {
			return true
		}
	}
	return false
}

func partitionInfo(c *conf.Config, p *conf.PartitionConf) *wire.PartitionInfo {
	list := func(names []string) string { return strings.Join(names, ",") }
	info := &wire.PartitionInfo{
		Name: p.Name, Nodes: hostlist.Compress(p.NodeNames), NodeNames: p.NodeNames,
		IsDefault: p.Default, State: p.State, AllowGroups: list(p.AllowGroups), AllowAccounts: list(p.AllowAccounts),
		DenyAccounts: list(p.DenyAccounts), AllowQos: list(p.AllowQos), DenyQos: list(p.DenyQos), AllocNodes: p.AllocNodes,
		DefaultTime: p.DefaultTime, MaxTime: p.MaxTime, MinNodes: p.MinNodes, MaxNodes: p.MaxNodes,
		MaxCpusPerNode: p.MaxCPUsPerNode, MaxCpusPerSocket: p.MaxCPUsPerSock,
		DefCpuPerGpu: p.DefCPUPerGPU, PriorityJobFactor: p.PriorityJob, PriorityTier: p.PriorityTier,
		RootOnly: p.RootOnly, ReqResv: p.ReqResv, Hidden: p.Hidden, Lln: p.LLN, Oversubscribe: p.OverSubscribe,
		Exclusive: p.Exclusive, PreemptMode: p.PreemptMode, GraceTime: p.GraceTime,
		OverTimeLimit: p.OverTimeLimit, OverTimeLimitSet: p.OverTimeSet, Qos: p.QOS,
		DisableRootJobs: p.DisableRootJobs, Alternate: p.Alternate, TresBillingWeights: p.BillingWeights, Topology: p.Topology,
	}
	switch p.DefMem.Kind {
	case conf.MemPerNode:
		info.DefMemKind, info.DefMem = wire.MemKind_MEM_PER_NODE, p.DefMem.MiB
	case conf.MemPerCPU:
		info.DefMemKind, info.DefMem = wire.MemKind_MEM_PER_CPU, p.DefMem.MiB
	}
	info.DefMemPerGpu = p.DefMemPerGPU
	switch p.MaxMem.Kind {
	case conf.MemPerNode:
		info.MaxMemKind, info.MaxMem = wire.MemKind_MEM_PER_NODE, p.MaxMem.MiB
	case conf.MemPerCPU:
		info.MaxMemKind, info.MaxMem = wire.MemKind_MEM_PER_CPU, p.MaxMem.MiB
	}
	if info.DefCpuPerGpu == 0 {
		info.DefCpuPerGpu = c.DefCPUPerGPU
	}
	return info
}
