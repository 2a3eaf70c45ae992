package queue

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"muster/internal/command/client"
	"muster/internal/command/dataparser"
	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/pattern"
	"muster/internal/wire"
)

// Dump writes jobs in the layout of data_parser, each as it comes.
type Dump struct {
	*Context
	Writer *dataparser.Writer
	Nodes  map[string]NodeLayout
	Select string // SelectTypeParameters
	Keep   func(*wire.JobInfo) bool
	Update int64 // when the controller's jobs last changed
}

// NodeLayout is what of a node a job's allocation is described by.
type NodeLayout struct {
	Index, Sockets, CoresPerSocket, ThreadsPerCore uint32
}

// Layouts asks for the layout of all nodes.
func Layouts(ctx context.Context, c *client.Client) (map[string]NodeLayout, error) {
	nodes, err := c.LoadNodes(ctx, &wire.NodesRequest{All: true})
	if err != nil {
		return nil, err
	}
	out := make(map[string]NodeLayout, len(nodes.List))
	for i, n := range nodes.List {
		out[n.State.GetName()] = NodeLayout{uint32(i), n.Sockets, n.CoresPerSocket, n.ThreadsPerCore}
	}
	return out, nil
}

// Jobs writes the list "jobs" and what belongs beside it.
func (d *Dump) Jobs(ctx context.Context, c *client.Client, req *wire.JobsRequest) (*wire.Refusal, error) {
	d.Writer.List("jobs")
	refusal, err := Each(ctx, c, req, d.Context, func(page *wire.JobsPage) error {
		d.Update = page.LastUpdate
		for _, j := range page.Jobs {
			if d.Keep == nil || d.Keep(j) {
				d.job(j)
			}
		}
		return nil
	})
	d.Writer.End()
	d.Writer.Time("last_backfill", 0)
	d.Writer.Time("last_update", d.Update)
	return refusal, err
}

// job writes one record; a list of array tasks that have not started is one.
func (d *Dump) job(j *wire.JobInfo) {
	r := NewRow(d.Context, j)
	w := d.Writer
	w.Object("")
	d.identity(&r)
	d.process(&r)
	d.asked(&r)
	d.placed(&r)
	d.perWhat(&r)
	d.times(&r)
	d.paths(&r)
	d.tres(&r)
	w.End()
}

// flagsOf are the flags of the layout that can be told of a job.
func flagsOf(r *Row) []string {
	flags := []string{}
	add := func(on bool, word string) {
		if on {
			flags = append(flags, word)
		}
	}
	s := r.Spec
	add(s.KillOnInvalidDepSet && s.KillOnInvalidDep, "KILL_INVALID_DEPENDENCY")
	add(s.KillOnInvalidDepSet && !s.KillOnInvalidDep, "NO_KILL_INVALID_DEPENDENCY")
	add(strings.Contains(s.GresFlags, "enforce-binding"), "GRES_BINDING_ENFORCED")
	add(strings.Contains(s.GresFlags, "disable-binding"), "GRES_BINDING_DISABLED")
	add(s.SpreadJob, "SPREAD_JOB")
	add(s.UseMinNodes, "PREFER_MINIMUM_NODE_COUNT")
	add(s.NumTasks != 0, "EXACT_TASK_COUNT_REQUESTED")
	add(s.Mem != 0, "EXACT_MEMORY_REQUESTED")
	add(r.State.Attempt > 0 && !model.Ended(r.State.State), "JOB_WAS_RUNNING")
	add(s.Partition == "", "USING_DEFAULT_PARTITION")
	add(r.State.Dependency != "", "DEPENDENT")
	return flags
}

func (d *Dump) identity(r *Row) {
	w, s, j := d.Writer, r.Spec, r.State
	w.String("account", s.Account)
	w.Time("accrue_time", Accrued(s, j, r.Now.Unix()))
	w.String("admin_comment", s.AdminComment)
	w.String("allocating_node", s.SubmitHost)
	w.Number("array_job_id", true, uint64(j.ArrayJobId))
	w.Number("array_task_id", j.IsArrayTask, uint64(j.ArrayTaskId))
	w.Number("array_max_tasks", true, uint64(j.ArrayThrottle))
	tasks := ""
	if j.ArrayJobId != 0 && !j.IsArrayTask {
		tasks = model.PendingTasksText(j, r.TasksWidth)
	}
	w.String("array_task_string", tasks)
	w.Int("association_id", 0)
	w.String("batch_features", s.BatchFeatures)
	w.Bool("batch_flag", s.Batch)
	w.String("batch_host", j.BatchHost)
	w.Strings("flags", flagsOf(r))
	for _, key := range [...]string{"burst_buffer", "burst_buffer_state"} {
		w.String(key, "")
	}
	w.String("cluster", r.Cluster)
	w.String("cluster_features", "")
	command := s.Command
	for _, a := range s.Argv {
		command += " " + a
	}
	w.String("command", command)
	w.String("comment", s.Comment)
	w.String("container", s.Container)
	w.String("container_id", "")
	w.String("container_type", "")
}

func (d *Dump) process(r *Row) {
	w, s, j := d.Writer, r.Spec, r.State
	w.Bool("contiguous", s.Contiguous)
	cores, threads := s.CoreSpec, uint32(0)
	switch {
	case s.ThreadSpec:
		cores, threads = 0, s.CoreSpec
	case cores == 0:
		threads = noThreads
	}
	w.Uint("core_spec", uint64(cores))
	w.Uint("thread_spec", uint64(threads))
	w.NonZero("cores_per_socket", uint64(s.CoresPerSocket))
	billing, err := strconv.ParseFloat(model.TRESValue(cmp.Or(j.TresAlloc, j.TresReq), "billing"), 64)
	w.FloatNumber("billable_tres", err == nil, billing)
	w.Number("cpus_per_task", true, uint64(max(s.CpusPerTask, 1)))
	for _, key := range [...]string{"cpu_frequency_minimum", "cpu_frequency_maximum", "cpu_frequency_governor"} {
		w.NonZero(key, 0)
	}
	w.String("cpus_per_tres", perGPU(s.CpusPerGpu))
	w.String("cron", "")
	w.Time("deadline", s.Deadline)
	w.Number("delay_boot", true, uint64(s.DelayBoot))
	w.String("dependency", j.Dependency)
	w.Exit("derived_exit_code", j.DerivedExitStatus)
	w.Time("eligible_time", Eligible(s, j, r.Now.Unix()))
	w.Time("end_time", r.expectedEnd())
	w.String("excluded_nodes", s.Exclude)
	w.Exit("exit_code", j.ExitStatus)
	w.String("extra", s.Extra)
	w.String("failed_node", j.FailedNode)
	w.String("features", s.Constraint)
	for _, key := range [...]string{"federation_origin", "federation_siblings_active", "federation_siblings_viable"} {
		w.String(key, "")
	}
}

// noThreads is what stands for specialized threads where neither cores nor
// threads were asked for.
const noThreads = 32766

func perGPU[N uint32 | uint64](n N) string {
	if n == 0 {
		return ""
	}
	return "gres/gpu:" + strconv.FormatUint(uint64(n), 10)
}

// expectedEnd is when a job ended or, as far as is known, will.
func (r *Row) expectedEnd() int64 {
	switch {
	case model.Ended(r.State.State) || r.State.End != 0:
		return r.State.End
	case r.start() == 0 || r.unlimited():
		return 0
	}
	return r.start() + int64(r.limit())*60
}

func (d *Dump) asked(r *Row) {
	w, s, j := d.Writer, r.Spec, r.State
	d.gresDetail(j)
	w.Uint("group_id", uint64(s.Gid))
	w.String("group_name", s.GroupName)
	w.Number("het_job_id", true, 0)
	w.String("het_job_id_set", "")
	w.Number("het_job_offset", true, 0)
	w.Uint("job_id", uint64(j.JobId))
	d.resources(r)
	w.Strings("job_size_str", nil)
	w.JobState("job_state", j.State, j.Flags)
	w.Time("last_sched_evaluation", LastEvaluated(j, r.Derived))
	w.String("licenses", s.Licenses)
	w.String("licenses_allocated", "")
	w.Strings("mail_type", mailWords(s.MailType))
	w.String("mail_user", cmp.Or(s.MailUser, s.UserName))
	w.Number("max_cpus", true, 0)
	w.Number("max_nodes", true, uint64(s.MaxNodes))
	w.String("mcs_label", s.McsLabel)
	perTres := ""
	if s.MemKind == wire.MemKind_MEM_PER_GPU {
		perTres = perGPU(s.Mem)
	}
	w.String("memory_per_tres", perTres)
	w.Int("memory_update_delay", 0)
	w.Int("memory_update_margin", 0)
	w.String("name", s.Name)
	w.String("network", s.Network)
}

var mailTypes = [...]struct {
	bit  wire.MailType
	word string
}{
	{wire.MailType_MAIL_BEGIN, "BEGIN"},
	{wire.MailType_MAIL_END, "END"},
	{wire.MailType_MAIL_FAIL, "FAIL"},
	{wire.MailType_MAIL_REQUEUE, "REQUEUE"},
	{wire.MailType_MAIL_TIME_LIMIT, "TIME=100%"},
	{wire.MailType_MAIL_TIME_LIMIT_90, "TIME=90%"},
	{wire.MailType_MAIL_TIME_LIMIT_80, "TIME=80%"},
	{wire.MailType_MAIL_TIME_LIMIT_50, "TIME=50%"},
	{wire.MailType_MAIL_STAGE_OUT, "STAGE_OUT"},
	{wire.MailType_MAIL_ARRAY_TASKS, "ARRAY_TASKS"},
	{wire.MailType_MAIL_INVALID_DEPEND, "INVALID_DEPENDENCY"},
}

func mailWords(bits uint32) []string {
	var words []string
	for _, m := range mailTypes {
		if bits&uint32(m.bit) != 0 {
			words = append(words, m.word)
		}
	}
	return words
}

// gresDetail has a text for each node: "gpu:a100:2(IDX:0-1)".
func (d *Dump) gresDetail(j *wire.JobState) {
	d.Writer.List("gres_detail")
	for _, a := range j.Alloc {
		if len(a.Gres) == 0 {
			continue
		}
		words := make([]string, len(a.Gres))
		for i, g := range a.Gres {
			words[i] = model.GresText(g)
		}
		d.Writer.String("", strings.Join(words, ","))
	}
	d.Writer.End()
}

// resources is what the job holds; null for one that holds nothing.
func (d *Dump) resources(r *Row) {
	w, j := d.Writer, r.State
	if len(j.Alloc) == 0 {
		w.Null("job_resources")
		return
	}
	w.Object("job_resources")
	w.Strings("select_type", dataparser.SelectWords(d.Select))
	w.Object("nodes")
	w.Int("count", int64(len(j.Alloc)))
	w.Strings("select_type", []string{"AVAILABLE"})
	names := make([]string, len(j.Alloc))
	for i, a := range j.Alloc {
		names[i] = a.Node
	}
	w.String("list", hostlist.Compress(names))
	w.Bool("whole", r.Spec.Exclusive == wire.Exclusive_EXCL_NODE)
	w.List("allocation")
	threads := uint32(0)
	for _, a := range j.Alloc {
		layout := d.Nodes[a.Node]
		threads = layout.ThreadsPerCore
		d.node(a, layout)
	}
	w.End()
	w.End()
	w.Uint("cpus", uint64(j.NumCpus))
	w.NonZero("threads_per_core", uint64(threads))
	w.End()
}

func (d *Dump) node(a *wire.NodeAlloc, layout NodeLayout) {
	w := d.Writer
	w.Object("")
	w.Uint("index", uint64(layout.Index))
	w.String("name", a.Node)
	w.Object("cpus")
	w.Uint("count", uint64(a.Cpus))
	w.Uint("used", 0) // by steps; the controller counts them elsewhere
	w.End()
	w.Object("memory")
	w.Uint("used", 0)
	w.Uint("allocated", a.Mem)
	w.End()
	d.sockets(a, layout)
	w.End()
}

// sockets tells of every core of a node whether it is the job's.
func (d *Dump) sockets(a *wire.NodeAlloc, layout NodeLayout) {
	w := d.Writer
	cores, sockets := layout.CoresPerSocket, layout.Sockets
	if cores == 0 { // a node that is no more: its cores, in one socket
		sockets = 1
		for _, core := range a.Core {
			cores = max(cores, core+1)
		}
	}
	w.List("sockets")
	next := a.Core // ascending
	for socket := range sockets {
		w.Object("")
		w.Uint("index", uint64(socket))
		w.List("cores")
		for core := range cores {
			status := "UNALLOCATED"
			if len(next) > 0 && next[0] == socket*cores+core {
				status, next = "ALLOCATED", next[1:]
			}
			w.Object("")
			w.Uint("index", uint64(core))
			w.Strings("status", []string{status})
			w.End()
		}
		w.End()
		w.End()
	}
	w.End()
}

func (d *Dump) placed(r *Row) {
	w, s, j := d.Writer, r.Spec, r.State
	w.String("nodes", hostlist.Compress(NodeNames(j)))
	w.Int("nice", int64(s.Nice))
	w.AtMost("tasks_per_core", s.NtasksPerCore)
	w.Number("tasks_per_tres", true, uint64(s.NtasksPerGpu))
	w.Number("tasks_per_node", true, uint64(s.NtasksPerNode))
	w.AtMost("tasks_per_socket", s.NtasksPerSocket)
	w.Number("tasks_per_board", true, 0)
	w.Number("cpus", true, uint64(j.NumCpus))
	w.Number("node_count", true, uint64(j.NumNodes))
	w.Number("tasks", true, uint64(NumTasks(s, j)))
	w.String("partition", r.partition())
	w.String("prefer", s.Prefer)
	w.Number("memory_per_cpu", s.MemKind == wire.MemKind_MEM_PER_CPU, s.Mem)
	w.Number("memory_per_node", s.MemKind != wire.MemKind_MEM_PER_CPU, perNode(s))
	w.Number("minimum_cpus_per_node", true, uint64(MinCPUs(s)))
	w.Number("minimum_tmp_disk_per_node", true, s.TmpDisk)
}

// perNode is the memory asked for on each node; that asked for each GPU is told
// elsewhere.
func perNode(s *wire.JobSpec) uint64 {
	if s.MemKind == wire.MemKind_MEM_PER_NODE {
		return s.Mem
	}
	return 0
}

func (d *Dump) perWhat(r *Row) {
	w, s, j := d.Writer, r.Spec, r.State
	w.Time("preempt_time", 0)
	w.Time("preemptable_time", 0)
	before := int64(0)
	if j.SuspendedAt != 0 {
		before = max(j.SuspendedAt-j.Start-j.SuspendedSecs, 0)
	}
	w.Time("pre_sus_time", before)
	w.Bool("hold", r.pending() && j.Priority == 0)
	w.Number("priority", true, uint64(j.Priority))
	w.List("priority_by_partition")
	w.End()
	profile := "NOT_SET"
	if s.Profile != "" {
		profile = strings.ToUpper(s.Profile)
	}
	w.Strings("profile", strings.Split(profile, ","))
	w.String("qos", s.Qos)
	w.Bool("reboot", s.Reboot)
	w.String("required_nodes", s.Nodelist)
	w.Uint("required_switches", uint64(s.Switches))
	w.Bool("requeue", Requeued(s))
	w.Time("resize_time", j.LastResize)
	w.Uint("restart_cnt", uint64(j.Restarts))
	w.String("resv_name", s.Reservation)
	w.String("scheduled_nodes", r.Derived.SchedNodes)
	w.Int("segment_size", 0)
	w.String("selinux_context", "")
	w.Strings("shared", sharedWords(s))
	w.Object("step_id")
	w.String("sluid", sluid(j.Sluid))
	w.Number("job_id", true, uint64(j.JobId))
	w.NonZero("step_het_component", 0)
	w.String("step_id", "")
	w.End()
	w.Int("sockets_per_board", 0)
	w.NonZero("sockets_per_node", uint64(s.SocketsPerNode))
}

// sluid is empty for a job from before there were any.
func sluid(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

func sharedWords(s *wire.JobSpec) []string {
	switch s.Exclusive {
	case wire.Exclusive_EXCL_NODE:
		return []string{"none"}
	case wire.Exclusive_EXCL_USER:
		return []string{"user"}
	case wire.Exclusive_EXCL_MCS:
		return []string{"mcs"}
	case wire.Exclusive_EXCL_TOPO:
		return []string{"topo"}
	}
	if s.Oversubscribe {
		return []string{"oversubscribe"}
	}
	return nil
}

func (d *Dump) times(r *Row) {
	w, j := d.Writer, r.State
	w.Time("start_time", r.start())
	w.String("state_description", j.ReasonText)
	reason := j.Reason
	if reason == "" || reason == model.ReasonNone {
		reason = Reason(&wire.JobState{State: j.State}, r.Derived)
	}
	w.String("state_reason", reason)
}

// paths are the job's files as they were given, and with their patterns filled in.
func (d *Dump) paths(r *Row) {
	w, s, j := d.Writer, r.Spec, r.State
	in, out, err := StdIn(s), StdOut(s, j), StdErr(s, j)
	if !s.Batch {
		in, out, err = "", "", ""
	}
	w.String("standard_input", in)
	w.String("standard_output", out)
	w.String("standard_error", err)
	v := PathValues(s, j)
	w.String("stdin_expanded", pattern.Expand(in, v))
	w.String("stdout_expanded", pattern.Expand(out, v))
	w.String("stderr_expanded", pattern.Expand(err, v))
	w.Time("submit_time", j.Submit)
	w.String("submit_line", s.SubmitLine)
	w.Time("suspend_time", j.SuspendedAt)
	w.String("system_comment", s.SystemComment)
	w.Limit("time_limit", r.limit())
	w.Number("time_minimum", true, uint64(s.TimeMin))
	w.NonZero("threads_per_core", uint64(s.ThreadsPerCore))
}

// PathValues is what the patterns in a job's paths stand for.
func PathValues(s *wire.JobSpec, j *wire.JobState) *pattern.Values {
	v := &pattern.Values{
		JobID: j.JobId, ArrayJobID: j.ArrayJobId, ArrayTask: pattern.NoTask,
		Step: "%s", Host: "%N", User: s.UserName, JobName: s.Name,
	}
	if j.IsArrayTask {
		v.ArrayTask = j.ArrayTaskId
	}
	return v
}

func (d *Dump) tres(r *Row) {
	w, s, j := d.Writer, r.Spec, r.State
	bind := s.TresBind
	if s.GpuBind != "" {
		bind = "gres/gpu:" + s.GpuBind
	}
	w.String("tres_bind", bind)
	freq := ""
	if s.GpuFreq != "" {
		freq = "gpu:" + s.GpuFreq
	}
	w.String("tres_freq", freq)
	for _, t := range [...]struct{ key, text string }{
		{"tres_per_job", s.TresPerJob}, {"tres_per_node", s.TresPerNode},
		{"tres_per_socket", s.TresPerSocket}, {"tres_per_task", s.TresPerTask},
	} {
		w.String(t.key, strings.ReplaceAll(TresPer(t.text), "gres:", "gres/"))
	}
	w.String("tres_req_str", j.TresReq)
	w.String("tres_alloc_str", j.TresAlloc)
	w.Uint("user_id", uint64(s.Uid))
	w.String("user_name", s.UserName)
	w.Uint("maximum_switch_wait_time", uint64(s.SwitchesWait))
	w.String("wckey", s.Wckey)
	w.String("current_working_directory", s.WorkDir)
}
