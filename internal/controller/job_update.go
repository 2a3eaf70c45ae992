package controller

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/size"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// updateJobs changes the jobs that the target names: an id, or an id with tasks.
func (s *State) updateJobs(ev *Update) *wire.UpdateReply {
	reply := &wire.UpdateReply{}
	ref, err := model.ParseJobRef(ev.Request.Target)
	if err != nil {
		reply.Refusal = errJobID
		return reply
	}
	found := s.chooseOne(ref)
	if s.isArray(ref) {
		reply.Jobs, reply.Refusal = s.updateArray(ref, found, ev)
		return reply
	}
	if len(found) == 0 {
		reply.Refusal = errJobID
		return reply
	}
	warning, refused := s.updateChosen(found[0], ev)
	reply.Refusal = refused
	if warning != nil {
		reply.Jobs = []*wire.JobOutcome{{Id: model.JobID(found[0].j.st), Refusal: warning}}
	}
	return reply
}

// updateArray changes tasks of an array; of a whole array those that have not ended.
func (s *State) updateArray(ref *wire.JobRef, found []chosen, ev *Update) ([]*wire.JobOutcome, *wire.Refusal) {
	done := unknownTasks(ref, found)
	for _, c := range found {
		if len(found) > 1 && model.Ended(c.j.st.State) {
			continue
		}
		tasks := tasksOf(c)
		warning, refused := s.updateChosen(c, ev)
		done = append(done, taskOutcome{tasks, cmp.Or(refused, warning)})
	}
	if len(done) == 0 {
		return nil, errDone
	}
	return arrayOutcomes(ref.JobId, done), nil
}

// updateChosen changes what a choice stands for. The check is made before tasks
// are taken out of their array. A warning is said although the change is made.
func (s *State) updateChosen(c chosen, ev *Update) (warning, refused *wire.Refusal) {
	if !ev.Actor.may(c.j.spec.Uid) {
		return nil, errUser
	}
	if r := s.checkUpdate(c.j, ev); r != nil {
		return nil, r
	}
	for _, j := range s.records(c) {
		u, r := s.tryUpdate(j, ev)
		if r != nil {
			return warning, r
		}
		s.putUpdate(u)
		warning = cmp.Or(u.warning, warning)
	}
	return warning, nil
}

// jobUpdate is a change of a job being made up on copies.
type jobUpdate struct {
	j      *job
	actor  Actor
	now    int64
	spec   *wire.JobSpec
	st     *wire.JobState
	parts  []*part
	deps   *dependency
	drops  bool // dependencies are taken away
	limit  bool // the time limit has changed
	spoke  bool // the spec has changed
	endSet bool // the end is given, not computed
	// warning is said although the change is made: the partitions will not take the job.
	warning *wire.Refusal
}

func (s *State) checkUpdate(j *job, ev *Update) *wire.Refusal {
	_, r := s.tryUpdate(j, ev)
	return r
}

// tryUpdate makes the change on copies.
func (s *State) tryUpdate(j *job, ev *Update) (*jobUpdate, *wire.Refusal) {
	if model.Ended(j.st.State) {
		return nil, errDone
	}
	u := &jobUpdate{j: j, actor: ev.Actor, now: s.now, spec: cloneJobSpec(j.spec), st: cloneJobState(j.st)}
	for _, f := range ev.Request.Fields {
		set := jobField(f.Key)
		if set == nil {
			return nil, unknownField(f.Key)
		}
		if r := set(s, u, f); r != nil {
			return nil, r
		}
	}
	if u.parts != nil && waits(j.st) {
		n := &newJob{spec: u.spec, actor: u.actor, parts: u.parts}
		for _, p := range u.parts {
			if r := admits(p.info, u.spec, u.actor); r != nil {
				return nil, r
			}
		}
		if r := s.checkNodeNames(n); r != nil {
			return nil, r
		}
		if s.checkGroups(u.spec, u.parts) != nil || s.enforce(u.spec, u.parts) != nil {
			u.warning = errPartConfig
		}
	}
	return u, nil
}

// putUpdate puts a checked change in force.
func (s *State) putUpdate(u *jobUpdate) {
	j := u.j
	s.edit(j)
	u.st.Generation = j.st.Generation
	j.st = u.st // a copy of this batch's
	if u.spoke {
		j.spec, j.newSpec = u.spec, true
	}
	if u.parts != nil {
		j.parts = u.parts
		if waits(j.st) {
			j.st.Partition = j.spec.Partition
			if j.spec.TimeLimit == 0 {
				j.st.TimeLimit = limitIn(j.spec, j.parts[0].info)
			}
		}
	}
	if u.drops {
		s.dropDeps(j)
		j.st.Dependency = ""
		if j.st.Reason == model.ReasonDependency || j.st.Reason == model.ReasonDependencyNever {
			j.st.Reason = ""
		}
	}
	if u.deps != nil {
		s.addDeps(j, u.deps)
		j.st.Dependency = s.depText(u.deps)
	}
	if j.deps != nil && j.st.Priority != 0 { // one that is held shows them as they were given
		s.lookAtDeps(j)
	}
	if waits(j.st) {
		s.estimate(j)
		j.st.Eligible = 0
		if j.st.Priority != 0 && j.deps == nil {
			j.st.Eligible = max(j.st.Submit, s.notBefore(j))
		}
	} else if u.limit && !u.endSet {
		j.st.End = s.expectedEnd(j.st, j.st.Start)
	}
	s.wantPass()
}

type jobSetter func(s *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal

// text makes the setter of a plain text field of the request.
func text(at func(*wire.JobSpec) *string, pendingOnly bool) jobSetter {
	return func(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
		if pendingOnly && !waits(u.st) {
			return errNotPending
		}
		*at(u.spec), u.spoke = f.Value, true
		return nil
	}
}

// count makes the setter of a number of the request that may change while the job waits.
func count(at func(*wire.JobSpec) *uint32) jobSetter {
	return func(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
		if !waits(u.st) {
			return errNotPending
		}
		n, r := parseUint32(f)
		if r == nil {
			*at(u.spec), u.spoke = n, true
		}
		return r
	}
}

func memory(kind wire.MemKind) jobSetter {
	return func(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
		if !waits(u.st) {
			return errNotPending
		}
		mib, err := size.ParseMemory(f.Value)
		if err != nil {
			return badValue(f.Key, f.Value)
		}
		u.spec.MemKind, u.spec.Mem, u.spoke = kind, mib, true
		return nil
	}
}

// jobField finds what sets a field, by scontrol's names.
func jobField(key string) jobSetter {
	switch strings.ToLower(key) {
	case "timelimit":
		return setTimeLimit
	case "priority":
		return setPriority
	case "nice":
		return setNice
	case "partition":
		return setPartition
	case "name", "jobname":
		return text(func(s *wire.JobSpec) *string { return &s.Name }, false)
	case "comment":
		return text(func(s *wire.JobSpec) *string { return &s.Comment }, false)
	case "admincomment":
		return operatorOnly(text(func(s *wire.JobSpec) *string { return &s.AdminComment }, false))
	case "systemcomment":
		return operatorOnly(text(func(s *wire.JobSpec) *string { return &s.SystemComment }, false))
	case "extra":
		return text(func(s *wire.JobSpec) *string { return &s.Extra }, false)
	case "account":
		return text(func(s *wire.JobSpec) *string { return &s.Account }, true)
	case "qos":
		return text(func(s *wire.JobSpec) *string { return &s.Qos }, true)
	case "wckey":
		return text(func(s *wire.JobSpec) *string { return &s.Wckey }, true)
	case "features":
		return setFeatures
	case "reqnodelist", "nodelist":
		return text(func(s *wire.JobSpec) *string { return &s.Nodelist }, true)
	case "excnodelist":
		return text(func(s *wire.JobSpec) *string { return &s.Exclude }, true)
	case "numnodes", "reqnodes", "minnodes":
		return setNumNodes
	case "numcpus", "reqcpus", "mincpus", "reqprocs":
		return setNumCPUs
	case "numtasks":
		return count(func(s *wire.JobSpec) *uint32 { return &s.NumTasks })
	case "cpuspertask":
		return count(func(s *wire.JobSpec) *uint32 { return &s.CpusPerTask })
	case "mincpusnode":
		return count(func(s *wire.JobSpec) *uint32 { return &s.MinCpus })
	case "minmemorynode":
		return memory(wire.MemKind_MEM_PER_NODE)
	case "minmemorycpu":
		return memory(wire.MemKind_MEM_PER_CPU)
	case "starttime", "eligibletime":
		return setStartTime
	case "deadline":
		return setDeadline
	case "endtime":
		return setEndTime
	case "dependency":
		return setDependency
	case "requeue":
		return setRequeue
	case "arraytaskthrottle":
		return setThrottle
	case "gres":
		return setGres
	case "mailuser":
		return text(func(s *wire.JobSpec) *string { return &s.MailUser }, false)
	case "stdout":
		return text(func(s *wire.JobSpec) *string { return &s.StdOut }, true)
	case "stderr":
		return text(func(s *wire.JobSpec) *string { return &s.StdErr }, true)
	case "stdin":
		return text(func(s *wire.JobSpec) *string { return &s.StdIn }, true)
	case "workdir":
		return text(func(s *wire.JobSpec) *string { return &s.WorkDir }, true)
	}
	return shapeFields[strings.ToLower(key)]
}

func operatorOnly(set jobSetter) jobSetter {
	return func(s *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
		if !u.actor.Operator {
			return errDenied
		}
		return set(s, u, f)
	}
}

// setTimeLimit: only operators may raise the limit of a running job.
func setTimeLimit(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	value := f.Value
	sign := f.Op
	if strings.HasPrefix(value, "+") || strings.HasPrefix(value, "-") && value != "-1" {
		sign, value = value[:1], value[1:]
	}
	limit, err := slurmtime.ParseLimit(value)
	if err != nil {
		return badValue(f.Key, f.Value)
	}
	now := u.st.TimeLimit
	switch {
	case strings.HasPrefix(sign, "+") && now != Unlimited:
		limit += now
	case strings.HasPrefix(sign, "-") && now != Unlimited:
		if limit >= now {
			return errTimeLimit
		}
		limit = now - limit
	}
	if limit > now && !u.actor.Operator && !waits(u.st) {
		return errDenied
	}
	u.st.TimeLimit, u.spec.TimeLimit = limit, limit
	u.limit, u.spoke = true, true
	return nil
}

func setPriority(s *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	n, r := parseUint32(f)
	if r != nil {
		return r
	}
	switch {
	case !waits(u.st):
		return errNotPending
	case n == 0:
		s.setHold(u.st, !u.actor.Operator || u.actor.UID == u.spec.Uid && u.actor.UID != 0)
		return nil
	case u.st.Priority == 0 && n != Unlimited:
		return errHeld
	case !u.actor.Operator && (n > u.st.Priority || u.st.Priority == 0 && !u.st.HeldByUser):
		return errDenied
	case n == Unlimited: // as scontrol release has it
		n = s.firstPriority(u.spec, Actor{})
		u.st.PrioritySet = false
	default:
		u.st.PrioritySet = true
	}
	if u.st.Priority == 0 {
		u.st.Reason = ""
	}
	u.st.Priority = n
	return nil
}

func setNice(s *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	n, err := strconv.ParseInt(f.Value, 10, 32)
	if err != nil {
		return badValue(f.Key, f.Value)
	}
	if int32(n) < u.spec.Nice && n < 0 && !u.actor.Operator {
		return errDenied
	}
	if !waits(u.st) {
		return errNotPending
	}
	if u.st.Priority != 0 && !u.st.PrioritySet {
		u.st.Priority = niced(u.st.Priority, int32(n)-u.spec.Nice)
		if !s.set.PriorityBasic {
			u.st.Priority = niced(1, int32(n))
		}
	}
	u.spec.Nice, u.spoke = int32(n), true
	return nil
}

func setPartition(s *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	if !waits(u.st) {
		return errNotPending
	}
	parts, r := s.partitions(f.Value)
	if r != nil {
		return r
	}
	u.parts = parts
	u.spec.Partition, u.spoke = f.Value, true
	return nil
}

func setFeatures(s *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	if !waits(u.st) {
		return errNotPending
	}
	if !s.featuresKnown(f.Value) {
		return errFeature
	}
	u.spec.Constraint, u.spoke = f.Value, true
	return nil
}

func setNumNodes(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	if !waits(u.st) {
		return errNotHere // a running job does not change its size
	}
	lo, hi, ranged := strings.Cut(f.Value, "-")
	least, err := strconv.ParseUint(lo, 10, 32)
	most := least
	if err == nil && ranged {
		most, err = strconv.ParseUint(hi, 10, 32)
	}
	if err != nil || least == 0 || most < least {
		return errNodeCount
	}
	u.spec.MinNodes, u.spec.MaxNodes, u.spec.MinNodesSet, u.spoke = uint32(least), 0, true, true
	if ranged {
		u.spec.MaxNodes = uint32(most)
	}
	return nil
}

// setNumCPUs changes the number of tasks so that the job asks for that many CPUs.
func setNumCPUs(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	if !waits(u.st) {
		return errNotPending
	}
	lo, _, _ := strings.Cut(f.Value, "-")
	n, err := strconv.ParseUint(lo, 10, 32)
	per := uint64(max(u.spec.CpusPerTask, 1))
	if err != nil || n == 0 || n%per != 0 {
		return badValue(f.Key, f.Value)
	}
	u.spec.NumTasks, u.spoke = uint32(n/per), true
	return nil
}

func setStartTime(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	if !waits(u.st) {
		return errNotPending
	}
	t, err := slurmtime.Parse(f.Value, time.Unix(u.now, 0))
	if err != nil {
		return badValue(f.Key, f.Value)
	}
	u.spec.Begin, u.st.NotBefore, u.spoke = t.Unix(), 0, true
	return nil
}

func setDeadline(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	t, err := slurmtime.Parse(f.Value, time.Unix(u.now, 0))
	if err != nil {
		return badValue(f.Key, f.Value)
	}
	u.spec.Deadline, u.spoke = t.Unix(), true
	return nil
}

// setEndTime sets the time limit so that a running job ends then.
func setEndTime(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	if u.st.Start == 0 || waits(u.st) {
		return errNotRunning
	}
	t, err := slurmtime.Parse(f.Value, time.Unix(u.now, 0))
	if err != nil {
		return badValue(f.Key, f.Value)
	}
	end := max(t.Unix(), u.now)
	if end > u.st.End && !u.actor.Operator {
		return errDenied
	}
	u.st.End = end
	u.st.TimeLimit = uint32((end - u.st.Start + 59) / 60)
	u.endSet = true
	return nil
}

func setDependency(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	if !waits(u.st) {
		return errNotPending
	}
	u.drops, u.deps = true, nil
	if f.Value != "" && f.Value != "0" {
		d, ok := parseDependency(f.Value)
		if !ok {
			return errDependency
		}
		for i := range d.conds {
			if d.conds[i].job == u.st.JobId && d.conds[i].kind != "singleton" {
				return errDependency
			}
		}
		u.deps = d
	}
	u.spec.Dependency, u.spoke = f.Value, true
	return nil
}

func setRequeue(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	yes, r := parseYesNo(f)
	if r == nil {
		u.spec.RequeueSet, u.spec.Requeue, u.spoke = true, yes, true
	}
	return r
}

func setThrottle(_ *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	if u.st.ArrayJobId == 0 {
		return errArray
	}
	n, r := parseUint32(f)
	if r == nil {
		u.st.ArrayThrottle = n
	}
	return r
}

// setGres reads gres as --gres does: name[:type][:count],…
func setGres(s *State, u *jobUpdate, f *wire.FieldUpdate) *wire.Refusal {
	if !waits(u.st) {
		return errNotPending
	}
	var list []*wire.GresRequest
	for word := range strings.SplitSeq(strings.TrimPrefix(f.Value, "gres/"), ",") {
		if word == "" {
			continue
		}
		parts := strings.Split(strings.TrimPrefix(strings.TrimPrefix(word, "gres/"), "gres:"), ":")
		g := &wire.GresRequest{Name: parts[0], Count: 1}
		rest := parts[1:]
		if n := len(rest); n > 0 {
			if v, err := size.ParseCount(rest[n-1]); err == nil {
				g.Count, rest = v, rest[:n-1]
			}
		}
		if len(rest) == 1 {
			g.Type = rest[0]
		}
		if len(rest) > 1 || !s.gresKnown(g) {
			return errGres
		}
		list = append(list, g)
	}
	u.spec.GresPerNode, u.spec.TresPerNode, u.spoke = list, gresText(list), true
	return nil
}

func gresText(list []*wire.GresRequest) string {
	var out []string
	for _, g := range list {
		t := "gres/" + g.Name
		if g.Type != "" {
			t += ":" + g.Type
		}
		out = append(out, t+":"+strconv.FormatUint(g.Count, 10))
	}
	return strings.Join(out, ",")
}

// expandKnown expands a host list whose names must all be nodes.
func (s *State) expandKnown(list string) ([]*node, *wire.Refusal) {
	if strings.EqualFold(list, "ALL") {
		return s.nodes, nil
	}
	names, err := hostlist.Expand(list)
	if err != nil || len(names) == 0 {
		return nil, errNodeName
	}
	out := make([]*node, 0, len(names))
	for _, name := range names {
		n := s.nodeBy[name]
		if n == nil {
			return nil, errNodeName
		}
		out = append(out, n)
	}
	return out, nil
}
