package control

import (
	"fmt"
	"strings"

	"muster/internal/command/queue"
	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/pattern"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// AppendJob appends the record of a job.
func AppendJob(b []byte, style *Style, j *wire.JobInfo) []byte {
	r := &jobRecord{record: record{Style: style, b: b}, spec: j.Spec, state: j.State, derived: j.Derived}
	if r.derived == nil {
		r.derived = &wire.Derived{}
	}
	r.who()
	r.when()
	r.where()
	r.amounts()
	r.how()
	r.requests()
	r.line("")
	return r.end()
}

type jobRecord struct {
	record
	spec    *wire.JobSpec
	state   *wire.JobState
	derived *wire.Derived
}

func (r *jobRecord) pending() bool { return r.state.State == wire.BaseState_PENDING }

// neverRan is true for a job that was ended before it started.
func (r *jobRecord) neverRan() bool { return model.Ended(r.state.State) && r.state.Attempt == 0 }

func (r *jobRecord) who() {
	s, j := r.spec, r.state
	switch {
	case j.ArrayJobId == 0:
		r.line("JobId=%d JobName=%s", j.JobId, s.Name)
	case j.IsArrayTask:
		r.line("JobId=%d ArrayJobId=%d ArrayTaskId=%d%s JobName=%s", j.JobId, j.ArrayJobId, j.ArrayTaskId, r.throttle(), s.Name)
	default:
		r.line("JobId=%d ArrayJobId=%d ArrayTaskId=%s%s JobName=%s", j.JobId, j.ArrayJobId,
			model.PendingTasksText(j, r.TasksWidth), r.throttle(), s.Name)
	}
	r.line("UserId=%s GroupId=%s MCS_label=%s", named(s.UserName, s.Uid), named(s.GroupName, s.Gid), or(s.McsLabel, "N/A"))
	r.line("Priority=%d Nice=%d Account=%s QOS=%s", j.Priority, s.Nice, orNull(s.Account), orNull(s.Qos))
	reason := strings.ReplaceAll(queue.Reason(j, r.derived), " ", "_")
	r.line("JobState=%s Reason=%s Dependency=%s", model.StateWord(j.State, j.Flags).Long, reason, orNull(j.Dependency))
	r.line("Requeue=%d Restarts=%d BatchFlag=%d Reboot=%d ExitCode=%s", oneZero(queue.Requeued(s)), j.Restarts, oneZero(s.Batch),
		oneZero(s.Reboot), model.ExitText(j.ExitStatus))
	if r.Details {
		r.line("DerivedExitCode=%s", model.ExitText(j.DerivedExitStatus))
	}
}

func (r *jobRecord) throttle() string {
	if r.state.ArrayThrottle == 0 {
		return ""
	}
	return fmt.Sprintf(" ArrayTaskThrottle=%d", r.state.ArrayThrottle)
}

// named is "alice(1001)"; a user without a name shows as the number alone.
func named(name string, id uint32) string { return fmt.Sprintf("%s(%d)", or(name, fmt.Sprint(id)), id) }

func (r *jobRecord) when() {
	s, j := r.spec, r.state
	timeMin := "N/A"
	if s.TimeMin != 0 {
		timeMin = slurmtime.FormatLimitClock(s.TimeMin)
	}
	r.line("RunTime=%s TimeLimit=%s TimeMin=%s", slurmtime.FormatClock(queue.Used(j, r.Now.Unix())), r.limit(), timeMin)
	now := r.Now.Unix()
	r.line("SubmitTime=%s EligibleTime=%s", r.time(j.Submit, "Unknown"), r.time(queue.Eligible(s, j, now), "Unknown"))
	r.line("AccrueTime=%s", r.time(queue.Accrued(s, j, now), "Unknown"))
	start, end := r.span()
	r.line("StartTime=%s EndTime=%s Deadline=%s", r.time(start, "Unknown"), r.time(end, "Unknown"), r.time(s.Deadline, "N/A"))
	suspended, before := "None", int64(0)
	if j.SuspendedAt != 0 {
		suspended = r.time(j.SuspendedAt, "None")
		before = max(j.SuspendedAt-j.Start-j.SuspendedSecs, 0)
	}
	r.line("SuspendTime=%s SecsPreSuspend=%d LastSchedEval=%s Scheduler=Main", suspended, before, r.time(queue.LastEvaluated(j, r.derived), "Unknown"))
}

func (r *jobRecord) limit() string {
	if r.state.TimeLimit == 0 {
		return "Partition_Limit"
	}
	return slurmtime.FormatLimitClock(r.state.TimeLimit)
}

// span is the start and end, actual or expected.
func (r *jobRecord) span() (start, end int64) {
	j := r.state
	switch {
	case r.neverRan():
		return j.End, j.End
	case !r.pending():
		if !model.Ended(j.State) && j.TimeLimit == slurmtime.Unlimited {
			return j.Start, 0
		}
		return j.Start, j.End
	}
	start = r.derived.ExpectedStart
	if start == 0 && r.spec.Begin > r.Now.Unix() {
		start = r.spec.Begin
	}
	if start == 0 || j.TimeLimit == slurmtime.Unlimited || j.TimeLimit == 0 {
		return start, 0
	}
	return start, start + int64(j.TimeLimit)*60
}

func (r *jobRecord) where() {
	s, j := r.spec, r.state
	partition := j.Partition
	if partition == "" || r.pending() && s.Partition != "" {
		partition = s.Partition
	}
	r.line("Partition=%s AllocNode:Sid=%s:%d", partition, s.SubmitHost, s.AllocSid)
	r.line("ReqNodeList=%s ExcNodeList=%s", orNull(s.Nodelist), orNull(s.Exclude))
	if sched := r.derived.SchedNodes; r.pending() && sched != "" {
		r.line("NodeList= SchedNodeList=%s", sched)
	} else {
		r.line("NodeList=%s", hostlist.Compress(queue.NodeNames(j)))
	}
	if j.BatchHost != "" && len(j.Alloc) > 0 {
		r.line("BatchHost=%s", j.BatchHost)
	}
}

func (r *jobRecord) amounts() {
	s, j := r.spec, r.state
	nodes := fmt.Sprint(j.NumNodes)
	if r.pending() && s.MaxNodes != 0 {
		nodes = fmt.Sprintf("%d-%d", j.NumNodes, s.MaxNodes)
	}
	tasks := fmt.Sprint(queue.NumTasks(s, j))
	if r.neverRan() && s.NumTasks == 0 {
		tasks = "N/A"
	}
	r.line("NumNodes=%s NumCPUs=%d NumTasks=%s CPUs/Task=%d ReqB:S:C:T=0:%d:%s:%s", nodes, j.NumCpus, tasks, max(s.CpusPerTask, 1),
		0, star(s.CoresPerSocket), star(s.ThreadsPerCore))
	r.line("TRES=%s", or(j.TresAlloc, j.TresReq))
	r.line("Socks/Node=%s NtasksPerN:B:S:C=%d:0:%s:%s CoreSpec=%s", star(s.SocketsPerNode), s.NtasksPerNode,
		star(s.NtasksPerSocket), star(s.NtasksPerCore), r.coreSpec())
	if r.Details && len(j.Alloc) > 0 {
		r.allocation()
	}
	r.line("MinCPUsNode=%d %s MinTmpDiskNode=%s", queue.MinCPUs(s), r.memory(), mib(s.TmpDisk))
}

func (r *jobRecord) coreSpec() string {
	if r.spec.ThreadSpec {
		return fmt.Sprintf("%d_Threads", r.spec.CoreSpec)
	}
	return star(r.spec.CoreSpec)
}

// memory is the line's word for memory, which depends on how it was asked for.
func (r *jobRecord) memory() string {
	switch r.spec.MemKind {
	case wire.MemKind_MEM_PER_CPU:
		return "MinMemoryCPU=" + mib(r.spec.Mem)
	case wire.MemKind_MEM_PER_GPU:
		return "MinMemoryNode=0" // the amount stands in MemPerTres
	}
	return "MinMemoryNode=" + mib(r.spec.Mem)
}

func mib(n uint64) string {
	if n == 0 {
		return "0"
	}
	return string(model.AppendMiB(nil, n))
}

func (r *jobRecord) how() {
	s := r.spec
	r.line("Features=%s DelayBoot=%s", orNull(s.Constraint), slurmtime.FormatClock(int64(s.DelayBoot)))
	if s.Prefer != "" {
		r.line("Prefer=%s", s.Prefer)
	}
	if s.Reservation != "" {
		r.line("Reservation=%s", s.Reservation)
	}
	r.line("OverSubscribe=%s Contiguous=%d Licenses=%s Network=%s", queue.OverSubscribe(s), oneZero(s.Contiguous),
		orNull(s.Licenses), orNull(s.Network))
	command := orNull(s.Command)
	for _, a := range s.Argv {
		command += " " + a
	}
	r.line("Command=%s", command)
	r.line("WorkDir=%s", s.WorkDir)
	for _, c := range [...]struct {
		name, text string
		given      bool // also an empty one
	}{
		{"AdminComment", s.AdminComment, false}, {"SystemComment", s.SystemComment, false}, {"Comment", s.Comment, s.CommentSet},
	} {
		if c.given || c.text != "" {
			r.line("%s=%s ", c.name, c.text)
		}
	}
	if s.Extra != "" {
		r.line("Extra=%s", s.Extra)
	}
	if s.Batch {
		v := pattern.Values{
			JobID: r.state.JobId, ArrayJobID: r.state.ArrayJobId, ArrayTask: pattern.NoTask,
			Step: "%s", Host: "%N", User: s.UserName, JobName: s.Name,
		}
		if r.state.IsArrayTask {
			v.ArrayTask = r.state.ArrayTaskId
		}
		r.line("StdErr=%s", pattern.Expand(queue.StdErr(s, r.state), &v))
		r.line("StdIn=%s", pattern.Expand(queue.StdIn(s), &v))
		r.line("StdOut=%s", pattern.Expand(queue.StdOut(s, r.state), &v))
	}
}

func (r *jobRecord) requests() {
	s := r.spec
	if s.Switches != 0 {
		r.line("Switches=%d@%s", s.Switches, slurmtime.FormatClock(int64(s.SwitchesWait)))
	}
	r.line("Power=%s", s.Power)
	r.given("Container", s.Container)
	if s.CpusPerGpu != 0 {
		r.line("CpusPerTres=gres:gpu:%d", s.CpusPerGpu)
	}
	if s.MemKind == wire.MemKind_MEM_PER_GPU {
		r.line("MemPerTres=gres:gpu:%d", s.Mem)
	}
	r.given("TresBind", gpuWord(s.GpuBind, s.TresBind))
	r.given("TresFreq", gpuWord(s.GpuFreq, ""))
	r.given("TresPerJob", queue.TresPer(s.TresPerJob))
	r.given("TresPerNode", queue.TresPer(s.TresPerNode))
	r.given("TresPerSocket", queue.TresPer(s.TresPerSocket))
	r.given("TresPerTask", queue.TresPer(s.TresPerTask))
	if flags := r.flagWords(); flags != "" {
		r.line("%s", flags)
	}
	if s.MailType != 0 {
		r.line("MailUser=%s MailType=%s", or(s.MailUser, s.UserName), mailWords(s.MailType))
	}
}

func (r *jobRecord) given(name, text string) {
	if text != "" {
		r.line("%s=%s", name, text)
	}
}

func gpuWord(text, other string) string {
	if text == "" {
		return other
	}
	return "gpu:" + text
}

// flagWords are the flags of a job, run together as scontrol prints them.
func (r *jobRecord) flagWords() string {
	var words string
	if strings.Contains(r.spec.GresFlags, "enforce-binding") {
		words += "GresEnforceBind=Yes"
	}
	if r.spec.KillOnInvalidDepSet && r.spec.KillOnInvalidDep {
		words += "KillOInInvalidDependent=Yes" // Slurm's spelling
	}
	if r.spec.SpreadJob {
		words += "SpreadJob=Yes"
	}
	return words
}

var mailNames = [...]struct {
	bit  wire.MailType
	name string
}{
	{wire.MailType_MAIL_ARRAY_TASKS, "ARRAY_TASKS"},
	{wire.MailType_MAIL_INVALID_DEPEND, "INVALID_DEPEND"},
	{wire.MailType_MAIL_BEGIN, "BEGIN"},
	{wire.MailType_MAIL_END, "END"},
	{wire.MailType_MAIL_FAIL, "FAIL"},
	{wire.MailType_MAIL_REQUEUE, "REQUEUE"},
	{wire.MailType_MAIL_STAGE_OUT, "STAGE_OUT"},
	{wire.MailType_MAIL_TIME_LIMIT_50, "TIME_LIMIT_50"},
	{wire.MailType_MAIL_TIME_LIMIT_80, "TIME_LIMIT_80"},
	{wire.MailType_MAIL_TIME_LIMIT_90, "TIME_LIMIT_90"},
	{wire.MailType_MAIL_TIME_LIMIT, "TIME_LIMIT"},
}

func mailWords(bits uint32) string {
	var words []string
	for _, m := range mailNames {
		if bits&uint32(m.bit) != 0 {
			words = append(words, m.name)
		}
	}
	return strings.Join(words, ",")
}

// appendCompleting appends the line of a job that has ended and is not yet gone
// from all of its nodes.
func appendCompleting(b []byte, style *Style, j *wire.JobInfo) []byte {
	r := &record{Style: style, b: b}
	r.line("JobId=%s EndTime=%s CompletingTime=%s Nodes(COMPLETING)=%s ", model.JobID(j.State), r.time(j.State.End, "Unknown"),
		slurmtime.FormatClock(max(r.Now.Unix()-j.State.End, 0)), hostlist.Compress(queue.NodeNames(j.State)))
	return append(r.b, '\n')
}
