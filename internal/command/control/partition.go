package control

import (
	"fmt"

	"muster/internal/model"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// AppendPartition appends the record of a partition.
func AppendPartition(b []byte, style *Style, p *wire.PartitionInfo) []byte {
	r := &record{Style: style, b: b}
	r.line("PartitionName=%s", p.Name)
	r.line("AllowGroups=%s %s %s", or(p.AllowGroups, "ALL"),
		allowOrDeny("Accounts", p.AllowAccounts, p.DenyAccounts), allowOrDeny("Qos", p.AllowQos, p.DenyQos))
	alternate := ""
	if p.Alternate != "" {
		alternate = " Alternate=" + p.Alternate
	}
	r.line("AllocNodes=%s%s Default=%s QoS=%s", or(p.AllocNodes, "ALL"), alternate, yesNo(p.IsDefault), or(p.Qos, "N/A"))
	defaultTime := "NONE"
	if p.DefaultTime != 0 {
		defaultTime = slurmtime.FormatLimitClock(p.DefaultTime)
	}
	r.line("DefaultTime=%s DisableRootJobs=%s ExclusiveUser=%s GraceTime=%d Hidden=%s", defaultTime, yesNo(p.DisableRootJobs),
		yesNo(p.Exclusive == "USER"), p.GraceTime, yesNo(p.Hidden))
	r.line("MaxNodes=%s MaxTime=%s MinNodes=%d LLN=%s MaxCPUsPerNode=%s", count(p.MaxNodes), maxTime(p.MaxTime), p.MinNodes,
		yesNo(p.Lln), count(p.MaxCpusPerNode))
	r.line("Nodes=%s", orNull(p.Nodes))
	r.line("PriorityJobFactor=%d PriorityTier=%d RootOnly=%s ReqResv=%s OverSubscribe=%s", p.PriorityJobFactor, p.PriorityTier,
		yesNo(p.RootOnly), yesNo(p.ReqResv), or(p.Oversubscribe, "NO"))
	overTime := "NONE"
	switch {
	case p.OverTimeLimitSet && p.OverTimeLimit == slurmtime.Unlimited:
		overTime = "UNLIMITED"
	case p.OverTimeLimitSet:
		overTime = fmt.Sprint(p.OverTimeLimit)
	}
	r.line("OverTimeLimit=%s PreemptMode=%s", overTime, or(p.PreemptMode, "OFF"))
	r.line("State=%s TotalCPUs=%d TotalNodes=%d SelectTypeParameters=%s", p.State, p.TotalCpus, p.TotalNodes,
		or(p.SelectTypeParameters, "NONE"))
	r.line("JobDefaults=%s", orNull(p.JobDefaults))
	r.line("%s %s", memoryWord("Def", p.DefMemKind, p.DefMem), memoryWord("Max", p.MaxMemKind, p.MaxMem))
	if p.Tres != "" {
		r.line("TRES=%s", p.Tres)
	}
	if p.TresBillingWeights != "" {
		r.line("TRESBillingWeights=%s", p.TresBillingWeights)
	}
	return r.end()
}

func allowOrDeny(what, allow, deny string) string {
	if deny != "" && (allow == "" || allow == "ALL") {
		return "Deny" + what + "=" + deny
	}
	return "Allow" + what + "=" + or(allow, "ALL")
}

func maxTime(minutes uint32) string {
	if minutes == 0 {
		return "UNLIMITED"
	}
	return slurmtime.FormatLimitClock(minutes)
}

func memoryWord(which string, kind wire.MemKind, mib uint64) string {
	amount := "UNLIMITED"
	if mib != 0 {
		amount = fmt.Sprint(mib)
	}
	if kind == wire.MemKind_MEM_PER_CPU {
		return which + "MemPerCPU=" + amount
	}
	return which + "MemPerNode=" + amount
}

// AppendStep appends the record of a step.
func AppendStep(b []byte, style *Style, j *wire.JobInfo, s *wire.StepState) []byte {
	r := &record{Style: style, b: b}
	limit := "UNLIMITED"
	if s.TimeLimit != 0 {
		limit = slurmtime.FormatLimitClock(s.TimeLimit)
	}
	r.line("StepId=%s.%s UserId=%d StartTime=%s TimeLimit=%s", model.JobID(j.State), model.StepName(s.Step), j.Spec.GetUid(),
		r.time(s.Start, "Unknown"), limit)
	r.line("State=%s Partition=%s NodeList=%s", model.BaseName(s.State).Long, j.State.Partition, stepNodes(s))
	cpus := uint32(0)
	tres, dist := s.TresAlloc, ""
	if s.Step >= 0 {
		for _, a := range s.Alloc {
			cpus += a.Cpus
		}
		dist = " Dist=" + or(s.Layout, "Block")
	} else {
		tres = ""
	}
	r.line("Nodes=%d CPUs=%d Tasks=%d Name=%s Network=(null)", len(s.Alloc), cpus, s.NumTasks, s.Name)
	r.line("TRES=%s", orNull(model.SortedTRES(tres)))
	r.line("ResvPorts=(null)")
	r.line("CPUFreqReq=Default%s", dist)
	r.line("SrunHost:Pid=%s:%d", orNull(s.Host), s.Pid)
	return r.end()
}
