package conf

import (
	"strings"
	"time"

	"muster/internal/slurmtime"
)

// PartitionConf is one partition as slurm.conf describes it. Times are minutes.
type PartitionConf struct {
	Pos       Pos
	Name      string
	Nodes     string   // as written
	NodeNames []string // node sets and ALL resolved

	Default         bool
	State           string // UP, DOWN, DRAIN, INACTIVE
	AllocNodes      string // empty: all
	AllowAccounts   []string
	AllowGroups     []string
	AllowQos        []string
	DenyAccounts    []string
	DenyQos         []string
	Alternate       string
	QOS             string
	DefaultTime     uint32 // 0: MaxTime
	MaxTime         uint32 // Unlimited
	MinNodes        uint32
	MaxNodes        uint32 // Unlimited
	MaxCPUsPerNode  uint32 // Unlimited
	MaxCPUsPerSock  uint32 // Unlimited
	DefMem          MemLimit
	DefMemPerGPU    uint64 // MiB, 0 = none; goes before DefMem for jobs with GPUs
	MaxMem          MemLimit
	DefCPUPerGPU    uint32
	GraceTime       uint32 // seconds
	OverTimeLimit   uint32
	OverTimeSet     bool
	PriorityJob     uint32
	PriorityTier    uint32
	PreemptMode     string // empty: the cluster's
	OverSubscribe   string // NO, YES:n, FORCE:n, EXCLUSIVE
	Exclusive       string // NO, NODE, USER, TOPO
	Hidden          bool
	LLN             bool
	RootOnly        bool
	ReqResv         bool
	DisableRootJobs bool
	SelectParams    Options
	BillingWeights  string
	Topology        string
}

var partitionAttrs = []string{
	"AllocNodes", "AllowAccounts", "AllowGroups", "AllowQos", "Alternate", "CpuBind", "Default", "DefaultTime", "DefCpuPerGPU",
	"DefMemPerCPU", "DefMemPerGPU", "DefMemPerNode", "DenyAccounts", "DenyQos", "DisableRootJobs", "Exclusive", "ExclusiveUser",
	"ExclusiveTopo", "GraceTime", "Hidden", "LLN", "MaxCPUsPerNode", "MaxCPUsPerSocket", "MaxMemPerCPU", "MaxMemPerNode", "MaxNodes",
	"MaxTime", "MinNodes", "Nodes", "OverSubscribe", "OverTimeLimit", "PartitionName", "PowerDownOnIdle", "PreemptMode", "Priority",
	"PriorityJobFactor", "PriorityTier", "QOS", "ReqResv", "ResumeTimeout", "RootOnly", "SelectTypeParameters", "Shared", "State",
	"SuspendTime", "SuspendTimeout", "Topology", "TRESBillingWeights",
}

var inertPartitionAttrs = []string{"CpuBind", "PowerDownOnIdle", "ResumeTimeout", "SuspendTime", "SuspendTimeout", "Topology"}

func (c *Config) buildPartitions(r *raw) {
	defaults := attrs{}
	seen := map[string]Pos{}
	first := ""
	for _, l := range r.partitions {
		a := collect(l.pairs, partitionAttrs, "partition", r.report)
		if strings.EqualFold(l.name, "DEFAULT") {
			defaults = a.withDefaults(defaults)
			continue
		}
		for _, name := range splitList(l.name) {
			if at, dup := seen[name]; dup {
				r.errorf(l.Pos, "partition %s is defined twice (first at %s)", name, at)
				continue
			}
			seen[name] = l.Pos
			p := c.readPartition(r, l.Pos, name, a.withDefaults(defaults))
			if p.Default && first != "" {
				r.noticef(l.Pos, "partitions %s and %s are both Default; %s counts", first, name, name)
				c.clearDefault()
			}
			if p.Default {
				first = name
			}
			c.Partitions = append(c.Partitions, p)
		}
	}
	for _, p := range c.Partitions {
		if p.Alternate != "" && seen[p.Alternate].Line == 0 {
			r.errorf(p.Pos, "Alternate: partition %s is not defined", p.Alternate)
		}
	}
}

func (c *Config) clearDefault() {
	for i := range c.Partitions {
		c.Partitions[i].Default = false
	}
}

func (c *Config) readPartition(r *raw, at Pos, name string, a attrs) PartitionConf {
	p := PartitionConf{
		Pos: at, Name: name, State: "UP", MaxTime: Unlimited, MaxNodes: Unlimited, MaxCPUsPerNode: Unlimited,
		MaxCPUsPerSock: Unlimited, MinNodes: 0, PriorityJob: 1, PriorityTier: 1, OverSubscribe: "NO", Exclusive: "NO",
		DisableRootJobs: c.DisableRootJobs,
	}
	v := valueReader{r.report, a}
	v.text("Nodes", &p.Nodes)
	if n, ok := v.get("Nodes"); ok {
		p.NodeNames = c.resolve(r, n.Pos, "partition "+name, n.value)
	}
	p.readAccess(v)
	p.readLimits(v)
	p.readSharing(v)
	for _, k := range inertPartitionAttrs {
		if x, ok := a[strings.ToLower(k)]; ok {
			r.noticef(x.Pos, "partition attribute %s has no effect: %s", k, notYet)
		}
	}
	return p
}

func (p *PartitionConf) readAccess(v valueReader) {
	v.boolean("Default", &p.Default)
	v.word("State", []string{"UP", "DOWN", "DRAIN", "INACTIVE"}, &p.State)
	v.textNotAll("AllocNodes", &p.AllocNodes)
	v.listNotAll("AllowAccounts", &p.AllowAccounts)
	v.listNotAll("AllowGroups", &p.AllowGroups)
	v.listNotAll("AllowQos", &p.AllowQos)
	v.list("DenyAccounts", &p.DenyAccounts)
	v.list("DenyQos", &p.DenyQos)
	v.text("Alternate", &p.Alternate)
	v.text("QOS", &p.QOS)
	v.boolean("Hidden", &p.Hidden)
	v.boolean("RootOnly", &p.RootOnly)
	v.boolean("ReqResv", &p.ReqResv)
	v.boolean("DisableRootJobs", &p.DisableRootJobs)
}

func (p *PartitionConf) readLimits(v valueReader) {
	v.limit("DefaultTime", &p.DefaultTime)
	v.limit("MaxTime", &p.MaxTime)
	v.uint32("MinNodes", &p.MinNodes)
	v.uint32("MaxNodes", &p.MaxNodes)
	v.uint32("MaxCPUsPerNode", &p.MaxCPUsPerNode)
	v.uint32("MaxCPUsPerSocket", &p.MaxCPUsPerSock)
	v.uint32("DefCpuPerGPU", &p.DefCPUPerGPU)
	v.uint32("PriorityJobFactor", &p.PriorityJob)
	v.uint32("PriorityTier", &p.PriorityTier)
	if x, ok := v.get("Priority"); ok {
		v.uint32("Priority", &p.PriorityTier)
		p.PriorityJob = p.PriorityTier
		v.noticef(x.Pos, "partition attribute Priority still acts, but is replaced by PriorityTier and PriorityJobFactor")
	}
	if x, ok := v.get("GraceTime"); ok {
		d, err := parseSeconds(x.value)
		if err != nil {
			d, err = parseSpan(x.value)
		}
		if err != nil {
			v.errorf(x.Pos, "GraceTime: %v", err)
		} else if d < Infinite {
			p.GraceTime = uint32(d / time.Second)
		}
	}
	_, p.OverTimeSet = v.get("OverTimeLimit")
	v.uint32("OverTimeLimit", &p.OverTimeLimit)
	p.DefMem = v.memLimit("DefMemPerNode", "DefMemPerCPU")
	v.memory("DefMemPerGPU", &p.DefMemPerGPU)
	p.MaxMem = v.memLimit("MaxMemPerNode", "MaxMemPerCPU")
	if p.MaxNodes < p.MinNodes {
		v.errorf(p.Pos, "partition %s: MinNodes %d is more than MaxNodes %d", p.Name, p.MinNodes, p.MaxNodes)
	}
	if p.DefaultTime > p.MaxTime {
		v.noticef(p.Pos, "partition %s: DefaultTime is more than MaxTime; MaxTime is taken", p.Name)
		p.DefaultTime = p.MaxTime
	}
}

func (p *PartitionConf) readSharing(v valueReader) {
	v.text("PreemptMode", &p.PreemptMode)
	p.PreemptMode = strings.ToUpper(p.PreemptMode)
	v.boolean("LLN", &p.LLN)
	v.text("TRESBillingWeights", &p.BillingWeights)
	v.text("Topology", &p.Topology)
	if x, ok := v.get("SelectTypeParameters"); ok {
		p.SelectParams = parseOptions(x.value)
	}
	v.word("Exclusive", []string{"NO", "NODE", "USER", "TOPO"}, &p.Exclusive)
	for _, old := range []struct{ key, mode string }{{"ExclusiveUser", "USER"}, {"ExclusiveTopo", "TOPO"}} {
		on := false
		if v.boolean(old.key, &on); on {
			p.Exclusive = old.mode
		}
	}
	for _, key := range []string{"Shared", "OverSubscribe"} {
		if x, ok := v.get(key); ok {
			word, count, hasCount := strings.Cut(strings.ToUpper(x.value), ":")
			if !containsFold([]string{"NO", "YES", "FORCE", "EXCLUSIVE"}, word) || hasCount && !isNumber(count) {
				v.errorf(x.Pos, "%s: wanted NO, YES[:n], FORCE[:n] or EXCLUSIVE, found %q", key, x.value)
				continue
			}
			p.OverSubscribe = word
			if word == "YES" || word == "FORCE" {
				p.OverSubscribe += ":" + orDefault(count, "4")
			}
		}
	}
}

func isNumber(s string) bool {
	v, err := parseNumber(s)
	return err == nil && v > 0 && v < 65536
}

func (v valueReader) textNotAll(key string, to *string) {
	if p, ok := v.get(key); ok && !strings.EqualFold(p.value, "ALL") {
		*to = p.value
	}
}

func (v valueReader) listNotAll(key string, to *[]string) {
	if p, ok := v.get(key); ok && !strings.EqualFold(p.value, "ALL") {
		*to = splitList(p.value)
	}
}

// limit reads a time limit in minutes.
func (v valueReader) limit(key string, to *uint32) {
	p, ok := v.get(key)
	if !ok || strings.EqualFold(p.value, "NONE") {
		return
	}
	m, err := slurmtime.ParseLimit(p.value)
	if err != nil {
		v.errorf(p.Pos, "%s: %v", key, err)
		return
	}
	*to = m
}

// memLimit reads the first of two attributes that is given; 0 means no limit.
func (v valueReader) memLimit(node, cpu string) MemLimit {
	var out MemLimit
	first := ""
	for _, k := range []struct {
		name string
		kind MemKind
	}{{node, MemPerNode}, {cpu, MemPerCPU}} {
		p, ok := v.get(k.name)
		if !ok {
			continue
		}
		if first != "" {
			v.noticef(p.Pos, "%s is not used, since %s is given", k.name, first)
			continue
		}
		first = k.name
		if isInfinite(p.value) {
			continue
		}
		var mib uint64
		if v.memory(k.name, &mib); mib > 0 {
			out = MemLimit{k.kind, mib}
		}
	}
	return out
}
