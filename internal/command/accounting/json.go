package accounting

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/command/dataparser"
	"muster/internal/command/queue"
	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/pattern"
	"muster/internal/users"
	"muster/internal/wire"
)

// dump writes runs in the layout of data_parser.
type dump struct {
	w    *dataparser.Writer
	ids  map[string]int64 // of TRES
	user func(uid uint32) string
}

// dumpRuns is sacct --json.
func (q *Query) dumpRuns(ctx context.Context, p *command.Program, c *client.Client, out *Context) int {
	names := users.NewResolver(users.Options{})
	d := &dump{w: q.Dump.Begin(p), ids: dataparser.TRESNames(c.Conf.Get("AccountingStorageTRES")),
		user: func(uid uint32) string { return names.NameOf(ctx, uid) }}
	d.w.List("jobs")
	order := &remainders{show: func(runs []*wire.RunRecord) error {
		for _, run := range runs {
			d.run(q, out, run)
		}
		return nil
	}}
	refusal, err := history(ctx, c, q.Request, out, order.take)
	if err == nil {
		err = order.flush()
	}
	d.w.End()
	meta := c.Meta(nil)
	switch {
	case err != nil:
		p.Error("%v", err)
		return dataparser.Lost(ctx, p, d.w, meta, "slurmdb_jobs_get", err)
	case refusal.GetCode() != 0:
		p.Error("%s", refusal.Message)
		return dataparser.Finish(ctx, p, d.w, meta, dataparser.Failure{Code: refusal.Code, Text: refusal.Message, Source: "slurmdb_jobs_get"})
	}
	return dataparser.Finish(ctx, p, d.w, meta)
}

// run writes one run with those of its steps that are wanted.
func (d *dump) run(q *Query, c *Context, run *wire.RunRecord) {
	var whole *Row
	var steps []*Row
	for _, r := range Rows(c, []*wire.RunRecord{run}, true, nil) {
		switch {
		case r.Step == nil:
			whole = r
		case !q.Request.AllocationsOnly && q.wants(r):
			steps = append(steps, r)
		}
	}
	if whole == nil || !q.wants(whole) && len(steps) == 0 {
		return
	}
	w, r := d.w, whole
	s, j := r.Spec, r.State
	w.Object("")
	w.String("account", s.Account)
	w.Object("comment")
	w.String("administrator", s.AdminComment)
	w.String("job", s.Comment)
	w.String("system", s.SystemComment)
	w.End()
	w.Int("allocation_nodes", int64(len(j.Alloc)))
	d.array(r)
	w.Object("association")
	w.String("account", s.Account)
	w.String("cluster", c.Cluster)
	w.String("partition", "")
	w.String("user", s.UserName)
	w.Int("id", 0)
	w.End()
	w.String("block", "")
	w.String("cluster", c.Cluster)
	w.String("constraints", s.Constraint)
	w.String("container", s.Container)
	sluid := ""
	if j.Sluid != 0 {
		sluid = strconv.FormatUint(j.Sluid, 10)
	}
	w.String("sluid", sluid)
	w.Exit("derived_exit_code", j.DerivedExitStatus)
	d.runTimes(r)
	w.String("exclusive", exclusiveWord(s))
	w.Exit("exit_code", j.ExitStatus)
	w.String("extra", s.Extra)
	w.String("failed_node", j.FailedNode)
	flags := []string{"CLEAR_SCHEDULING"}
	if r.started() {
		flags = []string{"STARTED_ON_SCHEDULE", "START_RECEIVED"}
	}
	w.Strings("flags", flags)
	w.String("group", s.GroupName)
	w.Object("het")
	w.Int("job_id", 0)
	w.Number("job_offset", false, 0)
	w.End()
	w.Uint("job_id", uint64(j.JobId))
	w.String("name", s.Name)
	d.runPlace(r, sluid)
	w.List("steps")
	for _, step := range steps {
		d.step(step)
	}
	w.End()
	w.String("submit_line", s.SubmitLine)
	w.Object("tres")
	w.TRES("allocated", j.TresAlloc, d.ids)
	w.TRES("requested", j.TresReq, d.ids)
	w.End()
	w.String("used_gres", "")
	w.String("user", s.UserName)
	w.Object("wckey")
	w.String("wckey", s.Wckey)
	w.Strings("flags", nil)
	w.End()
	w.String("working_directory", s.WorkDir)
	w.End()
}

func exclusiveWord(s *wire.JobSpec) string {
	if s.Exclusive == wire.Exclusive_EXCL_NODE {
		return "node"
	}
	return ""
}

func (d *dump) array(r *Row) {
	w, j := d.w, r.State
	w.Object("array")
	w.Uint("job_id", uint64(j.ArrayJobId))
	w.Object("limits")
	w.Object("max")
	w.Object("running")
	w.Uint("tasks", uint64(j.ArrayThrottle))
	w.End()
	w.End()
	w.End()
	w.Number("task_id", j.IsArrayTask, uint64(j.ArrayTaskId))
	tasks := ""
	if j.ArrayJobId != 0 && !j.IsArrayTask {
		tasks = model.PendingTasksText(j, r.TasksWidth)
	}
	w.String("task", tasks)
	w.End()
}

// cpuTimes writes the time on CPUs, of the whole and in its two parts.
func (d *dump) cpuTimes(r *Row, key string, of func(*wire.Usage) uint64) {
	t := r.cpuTime(of)
	d.w.Object(key)
	d.w.Int("seconds", int64(t/time.Second))
	d.w.Int("microseconds", int64(t%time.Second/time.Microsecond))
	d.w.End()
}

func (d *dump) runTimes(r *Row) {
	w, j := d.w, r.State
	w.Object("time")
	w.Int("elapsed", r.elapsed())
	w.Int("eligible", r.eligible())
	end := j.End
	if !model.Ended(j.State) {
		end = 0
	}
	w.Int("end", end)
	planned := int64(0)
	if r.started() && j.Eligible != 0 {
		planned = max(j.Start-j.Eligible, 0)
	}
	w.Number("planned", r.started(), uint64(planned))
	w.Int("start", j.Start)
	w.Int("submission", j.Submit)
	w.Int("suspended", j.SuspendedSecs)
	d.cpuTimes(r, "system", (*wire.Usage).GetSystemUsec)
	w.Limit("limit", j.TimeLimit)
	d.cpuTimes(r, "total", totalUsec)
	d.cpuTimes(r, "user", (*wire.Usage).GetUserUsec)
	w.End()
}

func totalUsec(u *wire.Usage) uint64 { return u.GetUserUsec() + u.GetSystemUsec() }

func (d *dump) runPlace(r *Row, sluid string) {
	w, s, j := d.w, r.Spec, r.State
	w.String("licenses", s.Licenses)
	w.Object("mcs")
	w.String("label", s.McsLabel)
	w.End()
	w.String("nodes", cmp.Or(nodeList(j.Alloc), "None assigned"))
	w.String("oversubscribe", strings.ToLower(queue.OverSubscribe(s)))
	w.String("partition", cmp.Or(j.Partition, s.Partition))
	w.Bool("hold", j.State == wire.BaseState_PENDING && j.Priority == 0)
	w.Number("priority", true, uint64(j.Priority))
	w.String("qos", s.Qos)
	w.String("qosreq", "")
	w.Object("required")
	w.Uint("CPUs", uint64(j.NumCpus))
	w.Number("memory_per_cpu", s.MemKind == wire.MemKind_MEM_PER_CPU, s.Mem)
	perNode := s.Mem
	if s.MemKind != wire.MemKind_MEM_PER_NODE {
		perNode = 0
	}
	w.Number("memory_per_node", s.MemKind != wire.MemKind_MEM_PER_CPU, perNode)
	w.End()
	killer := ""
	if j.WasCancelled {
		killer = d.user(j.CancelledBy)
	}
	w.String("kill_request_user", killer)
	w.Uint("restart_cnt", uint64(j.Restarts))
	w.Object("reservation")
	w.Int("id", 0)
	w.String("name", s.Reservation)
	w.String("requested", s.Reservation)
	w.End()
	w.String("script", "")
	w.Int("segment_size", 0)
	w.String("original_sluid", sluid)
	in, out, err := queue.StdIn(s), queue.StdOut(s, j), queue.StdErr(s, j)
	v := queue.PathValues(s, j)
	w.String("stdin_expanded", pattern.Expand(in, v))
	w.String("stdout_expanded", pattern.Expand(out, v))
	w.String("stderr_expanded", pattern.Expand(err, v))
	w.String("stdout", out)
	w.String("stderr", err)
	w.String("stdin", in)
	w.Object("state")
	w.JobState("current", j.State, j.Flags)
	w.String("reason", cmp.Or(j.Reason, model.ReasonNone))
	w.End()
}

func (d *dump) step(r *Row) {
	w, s := d.w, r.Step
	w.Object("")
	w.Object("time")
	w.Int("elapsed", r.elapsed())
	end := s.End
	if !model.Ended(s.State) {
		end = 0
	}
	w.Number("end", end != 0, uint64(end))
	w.Number("start", s.Start != 0, uint64(s.Start))
	w.Int("suspended", 0)
	d.cpuTimes(r, "system", (*wire.Usage).GetSystemUsec)
	w.Limit("limit", s.TimeLimit)
	d.cpuTimes(r, "total", totalUsec)
	d.cpuTimes(r, "user", (*wire.Usage).GetUserUsec)
	w.End()
	w.Exit("exit_code", s.ExitStatus)
	w.Object("nodes")
	w.Int("count", int64(len(s.Alloc)))
	names := make([]string, len(s.Alloc))
	for i, a := range s.Alloc {
		names[i] = a.Node
	}
	w.String("range", hostlist.CompressSorted(names))
	w.Strings("list", names)
	w.End()
	w.Object("tasks")
	w.Uint("count", uint64(s.NumTasks))
	w.End()
	w.Object("CPU")
	w.Object("requested_frequency")
	w.Number("min", true, 0)
	w.Number("max", true, 0)
	w.End()
	w.String("governor", "0")
	w.End()
	killer := ""
	if s.State == wire.BaseState_CANCELLED && s.KilledBy != 0 {
		killer = d.user(s.KilledBy)
	}
	w.String("kill_request_user", killer)
	w.JobState("state", s.State, 0)
	w.Object("statistics")
	w.Object("CPU")
	w.Int("actual_frequency", 0)
	w.End()
	w.Object("energy")
	w.Number("consumed", true, 0)
	w.End()
	w.End()
	d.stepEnd(r)
	w.End()
}

func (d *dump) stepEnd(r *Row) {
	w, s := d.w, r.Step
	w.Object("step")
	w.String("id", model.JobID(r.State)+"."+model.StepName(s.Step))
	w.String("name", s.Name)
	for _, f := range [...]struct{ key, path string }{{"stderr", s.StdErr}, {"stdin", s.StdIn}, {"stdout", s.StdOut},
		{"stderr_expanded", s.StdErr}, {"stdin_expanded", s.StdIn}, {"stdout_expanded", s.StdOut}} {
		w.String(f.key, f.path)
	}
	w.End()
	w.String("submit_line", s.SubmitLine)
	w.Object("task")
	w.String("distribution", cmp.Or(s.Layout, "Unknown"))
	w.End()
	w.Object("tres")
	w.Object("requested")
	for _, key := range [...]string{"max", "min", "average", "total"} {
		w.TRES(key, "", d.ids)
	}
	w.End()
	d.consumed(r)
	w.TRES("allocated", s.TresAlloc, d.ids)
	w.End()
}

// consumed is what was measured: of memory in bytes, of CPU time in milliseconds.
func (d *dump) consumed(r *Row) {
	u := r.usage()
	nothing := u == nil
	of := func(cpu, mem, vmem, pages, disk uint64) string {
		if nothing {
			return ""
		}
		return "cpu=" + strconv.FormatUint(cpu/1000, 10) + ",mem=" + strconv.FormatUint(mem, 10) +
			",vmem=" + strconv.FormatUint(vmem, 10) + ",pages=" + strconv.FormatUint(pages, 10) +
			",fs/disk=" + strconv.FormatUint(disk, 10)
	}
	d.w.Object("consumed")
	if nothing {
		u = &wire.Usage{}
	}
	d.w.TRES("max", of(u.AveCpuUsec, u.MaxRss, u.MaxVmsize, u.MaxPages, u.MaxDiskRead), d.ids)
	d.w.TRES("min", of(u.MinCpuUsec, u.AveRss, u.AveVmsize, u.MaxPages, u.MaxDiskRead), d.ids)
	d.w.TRES("average", of(u.AveCpuUsec, u.AveRss, u.AveVmsize, u.MaxPages, u.MaxDiskRead), d.ids)
	d.w.TRES("total", of(totCPU(u), totRSS(u), totVM(u), u.MaxPages, u.MaxDiskRead), d.ids)
	d.w.End()
}
