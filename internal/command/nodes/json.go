package nodes

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"
	"strings"

	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/command/dataparser"
	"muster/internal/model"
	"muster/internal/wire"
)

// WriteNode writes a node in the layout of data_parser.
func WriteNode(w *dataparser.Writer, n *wire.NodeInfo, userName func(uint32) string) {
	s := n.State
	w.Object("")
	w.String("architecture", s.Arch)
	w.String("burstbuffer_network_address", "")
	w.Uint("boards", uint64(max(n.Boards, 1)))
	w.Time("boot_time", s.BootTime)
	w.Time("tls_cert_last_renewal", 0)
	w.Strings("cert_flags", nil)
	w.String("cluster_name", "") // of a federation only
	w.Uint("cores", uint64(n.CoresPerSocket))
	w.Uint("specialized_cores", uint64(n.CoreSpecCount))
	w.Int("cpu_binding", 0)
	w.Uint("cpu_load", uint64(n.CpuLoad))
	w.Number("free_mem", s.Registered, n.FreeMem)
	w.Uint("cpus", uint64(n.Cpus))
	w.Uint("effective_cpus", uint64(model.NodeCPUs(n)))
	w.String("specialized_cpus", n.CpuSpecList)
	writeEnergy(w)
	w.String("extra", s.Extra)
	w.CSV("features", s.FeaturesAvailable)
	w.CSV("active_features", s.FeaturesActive)
	w.String("gpu_spec", "")
	w.String("gres", n.Gres)
	w.String("gres_drained", "N/A")
	w.String("gres_used", n.GresUsed)
	w.String("instance_id", "")
	w.String("instance_type", "")
	w.Time("last_busy", s.LastBusy)
	w.String("mcs_label", n.McsLabel)
	w.Uint("specialized_memory", n.MemSpecLimit)
	w.String("name", s.Name)
	w.Strings("next_state_after_reboot", []string{"INVALID"})
	w.String("address", cmp.Or(Host(s.Addr), s.Name))
	w.String("hostname", cmp.Or(s.Hostname, s.Name))
	w.Strings("state", strings.Split(model.NodeStateFull(n), "+"))
	w.String("operating_system", s.Os)
	w.String("owner", n.Owner)
	w.Strings("partitions", n.Partitions)
	w.Uint("port", uint64(n.Port))
	w.Uint("real_memory", n.RealMemory)
	w.Int("res_cores_per_gpu", 0)
	w.String("comment", s.Comment)
	writeReason(w, n, userName)
	writeHeld(w, n)
	w.End()
}

// Host is an address without its port, which a node may report it with.
func Host(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

func writeEnergy(w *dataparser.Writer) {
	w.Object("energy")
	for _, key := range [...]string{"average_watts", "base_consumed_energy", "consumed_energy"} {
		w.Int(key, 0)
	}
	w.Number("current_watts", true, 0)
	w.Int("previous_consumed_energy", 0)
	w.Int("last_collected", 0)
	w.End()
}

func writeReason(w *dataparser.Writer, n *wire.NodeInfo, userName func(uint32) string) {
	s := n.State
	w.String("reason", s.Reason)
	w.Time("reason_changed_at", s.ReasonTime)
	w.String("reason_set_by_user", reasonUser(n, userName))
	w.Time("resume_after", s.ResumeAfter)
	w.String("reservation", "")
	w.Number("suspend_time", false, 0)
}

func reasonUser(n *wire.NodeInfo, userName func(uint32) string) string {
	if n.State.Reason == "" {
		return ""
	}
	return userName(n.State.ReasonUid)
}

func writeHeld(w *dataparser.Writer, n *wire.NodeInfo) {
	s := n.State
	w.Uint("alloc_memory", n.AllocMem)
	w.Uint("alloc_cpus", uint64(n.AllocCpus))
	w.Uint("alloc_idle_cpus", uint64(model.NodeCPUs(n)-min(n.AllocCpus, model.NodeCPUs(n))))
	w.String("tres_used", n.AllocTres)
	w.Time("slurmd_start_time", s.SlurmdStart)
	w.Uint("sockets", uint64(n.Sockets))
	w.Uint("threads", uint64(n.ThreadsPerCore))
	w.Uint("temporary_disk", n.TmpDisk)
	w.Uint("weight", uint64(s.Weight))
	w.String("topology", "")
	w.String("tres", n.CfgTres)
	w.String("version", s.Version)
}

// writeDump is sinfo --json: what each row stands for, all fields of it.
func (q *query) writeDump(ctx context.Context, p *command.Program, c *client.Client, view *Context,
	parts []*wire.PartitionInfo, nodes []*wire.NodeInfo) int {
	table := ParseTable(dumpFormat, q.exact)
	rows := table.Rows(view, parts, nodes, &q.filter, q.byNode)
	Sort(rows, q.sortText)
	w := q.dump.Begin(p)
	w.List("sinfo")
	for _, r := range rows {
		writeRow(w, r)
	}
	w.End()
	return dataparser.Finish(ctx, p, w, c.Meta(nil))
}

// dumpFormat has the columns by which nodes are told apart in a dump.
const dumpFormat = "%R%t%b%f%G%w%c%m%d%z%E"

func writeRow(w *dataparser.Writer, r *Row) {
	w.Object("")
	n := r.first()
	if n == nil {
		n = &wire.NodeInfo{State: &wire.NodeState{}}
	}
	w.Uint("port", uint64(n.Port))
	w.Object("node")
	state := []string{}
	if len(r.Nodes) > 0 {
		state = strings.Split(model.NodeStateFull(n), "+")
	}
	w.Strings("state", state)
	w.End()
	writeNodeNames(w, r)
	writeRowCPUs(w, r)
	for _, b := range rowBounds {
		least, most := bounds(r, b.of)
		w.Object(b.key)
		w.Uint("minimum", least)
		w.Uint("maximum", most)
		if b.key == "memory" {
			writeFree(w, r)
		}
		w.End()
	}
	w.Object("features")
	w.String("total", n.State.FeaturesAvailable)
	w.String("active", n.State.FeaturesActive)
	w.End()
	w.Object("gres")
	w.String("total", n.Gres)
	w.String("used", n.GresUsed)
	w.End()
	w.String("cluster", "")
	w.String("comment", n.State.Comment)
	w.String("extra", n.State.Extra)
	w.Object("reason")
	w.String("description", n.State.Reason)
	w.Time("time", n.State.ReasonTime)
	w.String("user", reasonUser(n, r.UserName))
	w.End()
	w.String("reservation", "")
	w.Object("partition")
	partitionMembers(w, r.Part)
	w.End()
	w.End()
}

var rowBounds = [...]struct {
	key string
	of  func(*wire.NodeInfo) uint64
}{
	{"sockets", func(n *wire.NodeInfo) uint64 { return uint64(n.Sockets) }},
	{"cores", func(n *wire.NodeInfo) uint64 { return uint64(n.CoresPerSocket) }},
	{"threads", func(n *wire.NodeInfo) uint64 { return uint64(n.ThreadsPerCore) }},
	{"disk", func(n *wire.NodeInfo) uint64 { return n.TmpDisk }},
	{"memory", func(n *wire.NodeInfo) uint64 { return n.RealMemory }},
	{"weight", func(n *wire.NodeInfo) uint64 { return uint64(n.State.Weight) }},
}

func writeFree(w *dataparser.Writer, r *Row) {
	least, most := bounds(r, func(n *wire.NodeInfo) uint64 { return n.FreeMem })
	w.Object("free")
	w.Number("minimum", len(r.Nodes) > 0, least)
	w.Number("maximum", len(r.Nodes) > 0, most)
	w.End()
	held := uint64(0)
	for _, n := range r.Nodes {
		held += n.AllocMem
	}
	w.Uint("allocated", held)
}

func writeTally(w *dataparser.Writer, t tally) {
	w.Uint("allocated", t.alloc)
	w.Uint("idle", t.idle)
	w.Uint("other", t.other)
	w.Uint("total", t.total)
}

func writeNodeNames(w *dataparser.Writer, r *Row) {
	w.Object("nodes")
	writeTally(w, r.nodeTally())
	for _, list := range [...]struct {
		key string
		of  func(*wire.NodeState) string
	}{
		{"hostnames", func(s *wire.NodeState) string { return cmp.Or(s.Hostname, s.Name) }},
		{"addresses", func(s *wire.NodeState) string { return cmp.Or(Host(s.Addr), s.Name) }},
		{"nodes", func(s *wire.NodeState) string { return s.Name }},
	} {
		w.List(list.key)
		for _, n := range r.Nodes {
			w.String("", list.of(n.State))
		}
		w.End()
	}
	w.End()
}

func writeRowCPUs(w *dataparser.Writer, r *Row) {
	w.Object("cpus")
	writeTally(w, r.cpuTally())
	least, most := bounds(r, func(n *wire.NodeInfo) uint32 { return n.Cpus })
	w.Uint("minimum", uint64(least))
	w.Uint("maximum", uint64(most))
	least, most = bounds(r, func(n *wire.NodeInfo) uint32 { return n.CpuLoad })
	w.Object("load")
	w.Uint("minimum", uint64(least))
	w.Uint("maximum", uint64(most))
	w.End()
	w.Object("per_node")
	w.AtMost("max", r.Part.MaxCpusPerNode)
	w.End()
	w.End()
}

// WritePartition writes a partition in the layout of data_parser.
func WritePartition(w *dataparser.Writer, p *wire.PartitionInfo) {
	w.Object("")
	partitionMembers(w, p)
	w.End()
}

func partitionMembers(w *dataparser.Writer, p *wire.PartitionInfo) {
	w.Object("nodes")
	w.String("allowed_allocation", some(p.AllocNodes))
	w.String("configured", p.Nodes)
	w.Uint("total", uint64(p.TotalNodes))
	w.End()
	w.Object("accounts")
	w.String("allowed", some(p.AllowAccounts))
	w.String("deny", p.DenyAccounts)
	w.End()
	w.Object("groups")
	w.String("allowed", some(p.AllowGroups))
	w.End()
	w.Object("qos")
	w.String("allowed", some(p.AllowQos))
	w.String("deny", p.DenyQos)
	w.String("assigned", p.Qos)
	w.End()
	w.String("alternate", p.Alternate)
	w.Object("tres")
	w.String("billing_weights", p.TresBillingWeights)
	w.String("configured", p.Tres)
	w.End()
	w.String("cluster", "")
	w.Strings("select_type", dataparser.SelectWords(p.SelectTypeParameters))
	w.Object("cpus")
	w.Strings("task_binding", nil)
	w.Uint("total", uint64(p.TotalCpus))
	w.End()
	partitionDefaults(w, p)
	w.Strings("flags", partitionFlags(p))
	w.Object("partition")
	w.String("exclusive", p.Exclusive)
	w.String("oversubscribe", cmp.Or(p.Oversubscribe, "NO"))
	w.Strings("state", []string{p.State})
	w.End()
	w.Uint("grace_time", uint64(p.GraceTime))
	partitionMaximums(w, p)
	w.Object("minimums")
	w.Uint("nodes", uint64(p.MinNodes))
	w.End()
	w.String("name", p.Name)
	w.String("node_sets", "")
	w.Strings("preempt_mode", preemptWords(p.PreemptMode))
	w.Object("priority")
	w.Uint("job_factor", uint64(p.PriorityJobFactor))
	w.Uint("tier", uint64(p.PriorityTier))
	w.End()
	w.Object("timeouts")
	w.NonZero("resume", 0)
	w.NonZero("suspend", 0)
	w.End()
	w.String("topology", p.Topology)
	w.NonZero("suspend_time", 0)
}

func partitionDefaults(w *dataparser.Writer, p *wire.PartitionInfo) {
	w.Object("defaults")
	perCPU := p.DefMemKind == wire.MemKind_MEM_PER_CPU
	w.Uint("memory_per_cpu", p.DefMem)
	w.Number("partition_memory_per_cpu", perCPU, p.DefMem)
	w.Number("partition_memory_per_node", !perCPU, p.DefMem)
	w.Limit("time", p.DefaultTime)
	w.String("job", p.JobDefaults)
	w.End()
}

func partitionMaximums(w *dataparser.Writer, p *wire.PartitionInfo) {
	w.Object("maximums")
	w.AtMost("cpus_per_node", p.MaxCpusPerNode)
	w.AtMost("cpus_per_socket", p.MaxCpusPerSocket)
	perCPU := p.MaxMemKind == wire.MemKind_MEM_PER_CPU
	w.Uint("memory_per_cpu", p.MaxMem)
	w.Number("partition_memory_per_cpu", perCPU, p.MaxMem)
	w.Number("partition_memory_per_node", !perCPU, p.MaxMem)
	w.AtMost("nodes", p.MaxNodes)
	shares := uint64(1)
	mode, count, _ := strings.Cut(p.Oversubscribe, ":")
	if n, err := strconv.ParseUint(count, 10, 32); err == nil {
		shares = n
	}
	w.Uint("shares", shares)
	w.Object("oversubscribe")
	w.Uint("jobs", shares)
	force := []string{}
	if strings.EqualFold(mode, "FORCE") {
		force = append(force, "force")
	}
	w.Strings("flags", force)
	w.End()
	w.AtMost("time", p.MaxTime)
	overTime := p.OverTimeLimit
	if overTime == 0 && p.OverTimeLimitSet {
		w.Number("over_time_limit", true, 0)
	} else {
		w.Limit("over_time_limit", overTime)
	}
	w.End()
}

// some is a list of names; that all are meant is said by an empty one.
func some(list string) string {
	if strings.EqualFold(list, "ALL") {
		return ""
	}
	return list
}

// preemptModes are the layout's words for those of PreemptMode.
var preemptModes = map[string]string{"OFF": "DISABLED", "SUSPEND": "SUSPEND", "GANG": "SUSPEND", "REQUEUE": "REQUEUE",
	"CANCEL": "CANCEL", "PRIORITY": "PRIORITY"}

func preemptWords(modes string) []string {
	var words []string
	for mode := range strings.SplitSeq(cmp.Or(modes, "OFF"), ",") {
		if word := preemptModes[strings.ToUpper(mode)]; word != "" && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

func partitionFlags(p *wire.PartitionInfo) []string {
	flags := []string{}
	for _, f := range [...]struct {
		on   bool
		word string
	}{
		{p.IsDefault, "DEFAULT"}, {p.Hidden, "HIDDEN"}, {p.DisableRootJobs, "NO_ROOT"}, {p.RootOnly, "ROOT_ONLY"},
		{p.ReqResv, "REQ_RESV"}, {p.Lln, "LLN"}, {p.PowerDownOnIdle, "PDOI"},
	} {
		if f.on {
			flags = append(flags, f.word)
		}
	}
	return flags
}
