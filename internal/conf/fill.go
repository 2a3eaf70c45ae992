package conf

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// fill turns the parameters into the typed fields.
func (c *Config) fill(r *raw) {
	c.fillIdentity(r)
	c.fillDaemons(r)
	c.fillJobs(r)
	c.fillResources(r)
	c.fillHooks(r)
	c.fillAccounting(r)
}

func (c *Config) fillIdentity(r *raw) {
	c.ClusterName = r.str("ClusterName")
	if c.ClusterName == "" {
		r.errorf(Pos{c.Path, 1}, "ClusterName is missing")
	} else if low := strings.ToLower(c.ClusterName); low != c.ClusterName {
		r.noticef(r.pos("ClusterName"), "ClusterName is kept in lower case: %s", low)
		c.ClusterName = low
	}
	c.fillControllers(r)
	c.SlurmctldAddr = r.str("SlurmctldAddr")
	c.SlurmctldPorts = parsePorts(r, "SlurmctldPort")
	c.SlurmdPort = int(r.number("SlurmdPort"))
	if c.SlurmdPort < 1 || c.SlurmdPort > 65535 {
		r.errorf(r.pos("SlurmdPort"), "SlurmdPort: %d is no port", c.SlurmdPort)
	}
	c.SlurmUser = r.str("SlurmUser")
	c.SlurmdUser = r.str("SlurmdUser")
	c.AuthType = r.str("AuthType")
	c.AuthInfo = r.options("AuthInfo")
	c.AuthAltTypes = r.list("AuthAltTypes")
	c.AuthAltParams = r.options("AuthAltParameters")
	c.TLSType = r.str("TLSType")
	c.TLSParams = r.options("TLSParameters")
}

func (c *Config) fillControllers(r *raw) {
	seen := map[string]bool{}
	add := func(p Pos, name, addr string) {
		if seen[name] {
			r.errorf(p, "SlurmctldHost %s is named twice", name)
		}
		seen[name] = true
		c.SlurmctldHosts = append(c.SlurmctldHosts, ControllerHost{name, orDefault(addr, name)})
	}
	for _, p := range r.params["slurmctldhost"] {
		name, addr, hasAddr := strings.Cut(p.value, "(")
		if hasAddr && (!strings.HasSuffix(addr, ")") || addr == ")") || name == "" {
			r.errorf(p.Pos, "SlurmctldHost: wanted name or name(address), found %q", p.value)
			continue
		}
		add(p.Pos, name, strings.TrimSuffix(addr, ")"))
	}
	if len(c.SlurmctldHosts) == 0 && !r.given("SlurmctldHost") && r.given("ControlMachine") {
		add(r.pos("ControlMachine"), r.str("ControlMachine"), r.str("ControlAddr"))
		if r.given("BackupController") {
			add(r.pos("BackupController"), r.str("BackupController"), r.str("BackupAddr"))
		}
	}
	if len(c.SlurmctldHosts) == 0 && !r.given("SlurmctldHost") {
		r.errorf(Pos{c.Path, 1}, "SlurmctldHost is missing")
	}
}

// parsePorts reads "6817" or "6817-6820".
func parsePorts(r *raw, name string) []int {
	lo, hi, isRange := strings.Cut(r.str(name), "-")
	first, err1 := strconv.Atoi(lo)
	last := first
	var err2 error
	if isRange {
		last, err2 = strconv.Atoi(hi)
	}
	if err1 != nil || err2 != nil || first < 1 || last < first || last > 65535 {
		r.errorf(r.pos(name), "%s: wanted a port or a range of ports, found %q", name, r.str(name))
		return nil
	}
	var out []int
	for p := first; p <= last; p++ {
		out = append(out, p)
	}
	return out
}

func (c *Config) fillDaemons(r *raw) {
	c.MessageTimeout = r.seconds("MessageTimeout")
	c.TCPTimeout = r.seconds("TCPTimeout")
	c.SlurmctldTimeout = r.seconds("SlurmctldTimeout")
	c.SlurmdTimeout = r.seconds("SlurmdTimeout")
	c.StateSaveLocation = r.str("StateSaveLocation")
	c.SlurmdSpoolDir = r.str("SlurmdSpoolDir")
	c.SlurmctldLogFile = r.str("SlurmctldLogFile")
	c.SlurmdLogFile = r.str("SlurmdLogFile")
	c.SlurmctldPidFile = r.str("SlurmctldPidFile")
	c.SlurmdPidFile = r.str("SlurmdPidFile")
	c.SlurmctldDebug = r.level("SlurmctldDebug")
	c.SlurmdDebug = r.level("SlurmdDebug")
	c.SlurmctldSyslogDebug = r.level("SlurmctldSyslogDebug")
	c.SlurmdSyslogDebug = r.level("SlurmdSyslogDebug")
	c.LogTimeFormat = strings.ToLower(r.str("LogTimeFormat"))
	c.DebugFlags = r.list("DebugFlags")
	c.SlurmctldParams = r.options("SlurmctldParameters")
	c.SlurmdParams = r.options("SlurmdParameters")
	if r.str("FastSchedule") == "2" {
		c.SlurmdParams = append(c.SlurmdParams, Option{Name: "config_overrides"})
	}
	c.LaunchParams = r.options("LaunchParameters")
	c.TmpFS = r.str("TmpFS")
	c.ReturnToService = int(r.number("ReturnToService"))
	if c.ReturnToService > 2 {
		r.errorf(r.pos("ReturnToService"), "ReturnToService: wanted 0, 1 or 2, found %s", r.str("ReturnToService"))
	}
	c.ReconfigFlags = r.options("ReconfigFlags")
	c.PrivateData = r.options("PrivateData")
	c.MailProg = r.str("MailProg")
	c.MailDomain = r.str("MailDomain")
}

func (c *Config) fillJobs(r *raw) {
	c.BatchStartTimeout = r.seconds("BatchStartTimeout")
	c.CompleteWait = r.seconds("CompleteWait")
	c.InactiveLimit = r.seconds("InactiveLimit")
	c.KillWait = r.seconds("KillWait")
	c.WaitTime = r.seconds("WaitTime")
	c.MinJobAge = r.seconds("MinJobAge")
	c.OverTimeLimit = r.number("OverTimeLimit")
	c.FirstJobID = r.number("FirstJobId")
	c.MaxJobID = r.number("MaxJobId")
	c.MaxJobCount = r.number("MaxJobCount")
	c.MaxArraySize = r.number("MaxArraySize")
	c.MaxStepCount = r.number("MaxStepCount")
	c.MaxTasksPerNode = r.number("MaxTasksPerNode")
	c.MaxBatchRequeue = r.number("MaxBatchRequeue")
	c.JobRequeue = r.boolean("JobRequeue")
	c.JobFileAppend = r.boolean("JobFileAppend")
	c.KillOnBadExit = r.boolean("KillOnBadExit")
	c.DisableRootJobs = r.boolean("DisableRootJobs")
	c.EnforcePartLimits = strings.ToUpper(r.str("EnforcePartLimits"))
	if c.EnforcePartLimits == "YES" { // the older way to say ALL
		c.EnforcePartLimits = "ALL"
	}
	c.RequeueExit = parseExits(r, "RequeueExit")
	c.RequeueExitHold = parseExits(r, "RequeueExitHold")
	c.DependencyParams = r.options("DependencyParameters")
	if c.FirstJobID < 1 || c.FirstJobID > c.MaxJobID {
		r.errorf(orPos(r.pos("FirstJobId"), r.pos("MaxJobId")), "FirstJobId %d is not between 1 and MaxJobId %d", c.FirstJobID, c.MaxJobID)
	}
	const mostArray = 4000001
	if c.MaxArraySize > mostArray {
		r.errorf(r.pos("MaxArraySize"), "MaxArraySize: at most %d, found %s", mostArray, r.str("MaxArraySize"))
	}
}

func orPos(a, b Pos) Pos {
	if a.Line == 0 {
		return b
	}
	return a
}

// parseExits reads "1,3-5".
func parseExits(r *raw, name string) []ExitRange {
	var out []ExitRange
	for _, f := range r.list(name) {
		lo, hi, isRange := strings.Cut(f, "-")
		a, err := strconv.Atoi(lo)
		b := a
		if err == nil && isRange {
			b, err = strconv.Atoi(hi)
		}
		if err != nil || a < 0 || b < a || b > 255 {
			r.errorf(r.pos(name), "%s: wanted exit codes between 0 and 255 or ranges of them, found %q", name, f)
			continue
		}
		out = append(out, ExitRange{a, b})
	}
	return out
}

func (c *Config) fillResources(r *raw) {
	c.SchedulerType = strings.ToLower(r.str("SchedulerType"))
	c.SchedulerParams = r.options("SchedulerParameters")
	c.PriorityType = strings.ToLower(r.str("PriorityType"))
	c.SelectType = strings.ToLower(r.str("SelectType"))
	c.SelectParams = r.options("SelectTypeParameters")
	switch c.SelectType {
	case "select/linear":
		r.errorf(r.pos("SelectType"), "not supported yet: SelectType=select/linear; use select/cons_tres, with OverSubscribe=EXCLUSIVE in the partitions for whole nodes")
	case "select/cons_res":
		r.noticef(r.pos("SelectType"), "SelectType=select/cons_res is gone from Slurm since 23.11; select/cons_tres acts in its place")
		c.SelectType = "select/cons_tres"
	}
	c.GresTypes = r.list("GresTypes")
	c.DefMem = r.memLimit("DefMemPerNode", "DefMemPerCPU")
	if r.given("DefMemPerGPU") {
		c.DefMemPerGPU = r.mem("DefMemPerGPU")
	}
	c.MaxMem = r.memLimit("MaxMemPerNode", "MaxMemPerCPU")
	c.DefCPUPerGPU = r.optionalNumber("DefCpuPerGPU")
	c.ProctrackType = strings.ToLower(r.str("ProctrackType"))
	for _, p := range r.list("TaskPlugin") {
		if p = strings.TrimPrefix(strings.ToLower(p), "task/"); p != "none" {
			c.TaskPlugin = append(c.TaskPlugin, p)
		}
	}
	c.TaskPluginParam = r.options("TaskPluginParam")
	c.VSizeFactor = r.number("VSizeFactor")
	c.PropagateLimits = r.options("PropagateResourceLimits")
	c.PropagateLimitsExcept = r.options("PropagateResourceLimitsExcept")
	if r.given("PropagateResourceLimits") && r.given("PropagateResourceLimitsExcept") {
		r.errorf(r.pos("PropagateResourceLimitsExcept"), "PropagateResourceLimits and PropagateResourceLimitsExcept exclude each other")
	}
}

// memLimit reads the first of two parameters that is given.
func (r *raw) memLimit(node, cpu string) MemLimit {
	var out MemLimit
	first := ""
	for _, k := range []struct {
		name string
		kind MemKind
	}{{node, MemPerNode}, {cpu, MemPerCPU}} {
		if !r.given(k.name) {
			continue
		}
		if first != "" {
			r.noticef(r.pos(k.name), "%s is not used, since %s is given", k.name, first)
			continue
		}
		first = k.name
		if mib := r.mem(k.name); mib > 0 {
			out = MemLimit{k.kind, mib}
		}
	}
	return out
}

func (r *raw) optionalNumber(name string) uint32 {
	if !r.given(name) {
		return 0
	}
	return r.number(name)
}

func (c *Config) fillHooks(r *raw) {
	c.Prolog = r.all("Prolog")
	c.Epilog = r.all("Epilog")
	c.PrologSlurmctld = r.all("PrologSlurmctld")
	c.EpilogSlurmctld = r.all("EpilogSlurmctld")
	c.TaskProlog = r.str("TaskProlog")
	c.TaskEpilog = r.str("TaskEpilog")
	c.PrologFlags = impliedAlloc(r.options("PrologFlags"))
	both := Infinite
	if r.given("PrologEpilogTimeout") && r.str("PrologEpilogTimeout") != "65534" {
		both = r.seconds("PrologEpilogTimeout")
	}
	c.PrologTimeout, c.EpilogTimeout = both, both
	for name, field := range map[string]*time.Duration{"PrologTimeout": &c.PrologTimeout, "EpilogTimeout": &c.EpilogTimeout} {
		if r.given(name) {
			*field = r.seconds(name)
		}
	}
	c.UnkillableStepProgram = r.str("UnkillableStepProgram")
	c.UnkillableStepTimeout = r.seconds("UnkillableStepTimeout")
	if !r.given("UnkillableStepTimeout") {
		// slurm.conf(5): 60 seconds or five times MessageTimeout.
		c.UnkillableStepTimeout = max(c.UnkillableStepTimeout, 5*r.seconds("MessageTimeout"))
	}
}

// impliedAlloc adds Alloc where another flag needs it.
func impliedAlloc(flags Options) Options {
	for _, f := range []string{"Contain", "NoHold", "X11", "RunInJob"} {
		if flags.Has(f) && !flags.Has("Alloc") {
			return append(flags, Option{Name: "Alloc"})
		}
	}
	return flags
}

func (c *Config) fillAccounting(r *raw) {
	c.AccountingStorageType = "slurmdbd"
	if v := strings.TrimPrefix(strings.ToLower(r.str("AccountingStorageType")), "accounting_storage/"); v == "" || v == "none" {
		c.AccountingStorageType = "none"
	}
	c.AccountingStorageEnforce = r.options("AccountingStorageEnforce")
	c.AccountingStorageTRES = r.list("AccountingStorageTRES")
	c.AccountingStoreFlags = r.options("AccountingStoreFlags")
	if r.boolean("AccountingStoreJobComment") {
		c.AccountingStoreFlags = append(c.AccountingStoreFlags, Option{Name: "job_comment"})
	}
	c.JobAcctGatherType = strings.TrimPrefix(strings.ToLower(orDefault(r.str("JobAcctGatherType"), "jobacct_gather/none")), "jobacct_gather/")
	c.JobAcctGatherFrequency = r.str("JobAcctGatherFrequency")
	c.TrackWCKey = r.boolean("TrackWCKey")
}

// ShortHostname is this machine's name up to the first dot.
func ShortHostname() (string, error) {
	name, err := os.Hostname()
	short, _, _ := strings.Cut(name, ".")
	return short, err
}
