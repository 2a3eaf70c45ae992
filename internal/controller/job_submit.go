package controller

import (
	"slices"
	"strconv"
	"strings"

	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/placement"
	"muster/internal/wire"
)

// submit enters a job. Every check comes before the first change.
func (s *State) submit(ev *Submit) *wire.SubmitReply {
	reply := &wire.SubmitReply{}
	if len(s.jobs) >= s.set.MaxJobCount {
		reply.Refusal = errFull
		return reply
	}
	spec := ev.Spec
	n := &newJob{spec: spec, actor: ev.Actor}
	reply.Refusal = s.check(n)
	reply.Messages = n.messages
	if reply.Refusal != nil {
		return reply
	}
	if ev.TestOnly {
		s.testOnly(n, reply)
		return reply
	}
	if _, ok := s.freeID(); !ok {
		reply.Refusal = errFull
		return reply
	}
	j := s.admit(n, ev.Contents)
	reply.JobId, reply.Key = j.st.JobId, j.st.Key
	s.stats.Submitted++
	s.wantPass()
	return reply
}

// newJob is a submission on its way through the checks.
type newJob struct {
	spec     *wire.JobSpec
	actor    Actor
	parts    []*part
	tasks    model.TaskSet
	throttle uint32
	limit    uint32
	deps     *dependency
	messages []string
}

func (s *State) check(n *newJob) *wire.Refusal {
	for _, step := range []func(*newJob) *wire.Refusal{
		s.checkPartitions, s.fillDefaults, s.checkWords, s.checkArray, s.checkNodeNames, s.checkLimits, s.checkDependency, s.checkShape,
	} {
		if r := step(n); r != nil {
			return r
		}
	}
	return nil
}

// checkPartitions finds the partitions asked for, or the default one.
func (s *State) checkPartitions(n *newJob) *wire.Refusal {
	if n.spec.Partition == "" {
		i := slices.IndexFunc(s.parts, func(p *part) bool { return p.info.IsDefault })
		if i < 0 {
			return errNoPartition
		}
		n.spec = cloneJobSpec(n.spec)
		n.spec.Partition = s.parts[i].info.Name
	}
	parts, r := s.partitions(n.spec.Partition)
	if r != nil {
		n.messages = append(n.messages, "error: invalid partition specified: "+s.strangePartition(n.spec.Partition))
		return r
	}
	n.parts = parts
	for _, p := range n.parts {
		if r := admits(p.info, n.spec, n.actor); r != nil {
			return r
		}
	}
	return s.checkGroups(n.spec, n.parts)
}

// fillDefaults writes into the request what it left to the configuration, as
// Slurm does at submission: the memory and whether it may be requeued.
func (s *State) fillDefaults(n *newJob) *wire.Refusal {
	n.spec = cloneJobSpec(n.spec)
	if !n.spec.RequeueSet {
		n.spec.Requeue = s.set.JobRequeue
	}
	if n.spec.MemKind == wire.MemKind_MEM_NONE && s.set.Pass.SelectMemory {
		kind, mem := placement.DefaultMemory(asksGPUs(n.spec), n.parts[0].info, &s.set.Pass.Options)
		if mem != 0 {
			n.spec.MemKind, n.spec.Mem = kind, mem
		}
	}
	return nil
}

func asksGPUs(spec *wire.JobSpec) bool {
	for _, list := range [][]*wire.GresRequest{spec.GresPerNode, spec.GresPerJob, spec.GresPerTask} {
		if slices.ContainsFunc(list, func(g *wire.GresRequest) bool { return g.Name == "gpu" && g.Count > 0 }) {
			return true
		}
	}
	return false
}

// strangePartition is the first name of a list that is no partition's.
func (s *State) strangePartition(list string) string {
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); s.partBy[name] == nil {
			return name
		}
	}
	return list
}

// checkWords refuses what names things that do not exist, and what only
// operators may ask for.
func (s *State) checkWords(n *newJob) *wire.Refusal {
	switch {
	case n.spec.Reservation != "":
		return errReservation
	case n.spec.Licenses != "":
		return errLicense
	case n.spec.Nice < 0 && !n.actor.Operator:
		return errNice
	case n.spec.Deadline != 0 && n.spec.Deadline <= s.now, n.spec.TimeLimit != 0 && n.spec.TimeMin > n.spec.TimeLimit:
		return errTimeLimit
	case s.set.AcctgFrequency != 0 && seldom(n.spec.AcctgFreq, s.set.AcctgFrequency):
		return errAcctgFreq
	case n.spec.MinNodesSet && n.spec.MinNodes == 0 && n.spec.MaxNodes == 0:
		return errNodeCount
	}
	return nil
}

// TaskFrequency is how often tasks are sampled by a text like `30` or
// `task=30,network=60`, in seconds; 0 = never, or not said.
func TaskFrequency(text string) uint32 {
	n, _ := taskFrequency(text)
	return n
}

func taskFrequency(text string) (seconds uint32, said bool) {
	for word := range strings.SplitSeq(strings.ToLower(text), ",") {
		kind, interval, named := strings.Cut(word, "=")
		if !named {
			kind, interval = "task", word
		}
		if n, err := strconv.ParseUint(interval, 10, 31); err == nil && kind == "task" {
			seconds, said = uint32(n), true
		}
	}
	return seconds, said
}

// seldom tells whether a job asks to be sampled more seldom than the cluster does.
func seldom(text string, most uint32) bool {
	n, said := taskFrequency(text)
	return said && (n == 0 || n > most)
}

// partitions reads a comma list of partition names.
func (s *State) partitions(list string) ([]*part, *wire.Refusal) {
	var out []*part
	for name := range strings.SplitSeq(list, ",") {
		p := s.partBy[strings.TrimSpace(name)]
		if p == nil {
			return nil, errPartition
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out, nil
}

// admits tells whether a partition takes new jobs, and this one.
func admits(p *wire.PartitionInfo, spec *wire.JobSpec, a Actor) *wire.Refusal {
	if p.State == "INACTIVE" || p.State == "DRAIN" {
		return errPartitionAway
	}
	if p.RootOnly && !a.Admin || p.DisableRootJobs && spec.Uid == 0 {
		return errDenied
	}
	return nil
}

func (s *State) checkArray(n *newJob) *wire.Refusal {
	if n.spec.Array == "" {
		return nil
	}
	if s.set.MaxArraySize == 0 {
		return errArray
	}
	tasks, throttle, err := model.ParseTasks(n.spec.Array, s.set.MaxArraySize-1)
	if err != nil || len(tasks) == 0 {
		return errArray
	}
	n.tasks = tasks
	n.throttle = max(throttle, n.spec.ArrayThrottle)
	return nil
}

func (s *State) checkNodeNames(n *newJob) *wire.Refusal {
	names, err := hostlist.Expand(n.spec.Nodelist)
	if err != nil {
		return errNodeName
	}
	for _, name := range names {
		nd := s.nodeBy[name]
		if nd == nil {
			return errNodeName
		}
		if !slices.ContainsFunc(n.parts, func(p *part) bool { return slices.Contains(nd.parts, p) }) {
			return errNotInPartition
		}
	}
	excluded, err := hostlist.Expand(n.spec.Exclude)
	if err != nil || slices.ContainsFunc(excluded, func(name string) bool { return s.nodeBy[name] == nil }) {
		return errNodeName
	}
	if n.spec.MaxNodes != 0 && n.spec.MinNodes > n.spec.MaxNodes {
		return errNodeCount
	}
	return nil
}

// checkLimits resolves the time limit and applies EnforcePartLimits.
func (s *State) checkLimits(n *newJob) *wire.Refusal {
	n.limit = limitIn(n.spec, n.parts[0].info)
	return s.enforce(n.spec, n.parts)
}

// enforces tells whether jobs over a partition's limits are refused, not kept.
func (s *State) enforces() bool {
	return s.set.EnforcePartLimits != "" && !strings.EqualFold(s.set.EnforcePartLimits, "NO")
}

// enforce refuses what is over the limits of the partitions: of all, or of one,
// as EnforcePartLimits says.
func (s *State) enforce(spec *wire.JobSpec, parts []*part) *wire.Refusal {
	if !s.enforces() {
		return nil
	}
	ok := 0
	var last *wire.Refusal
	for _, p := range parts {
		r := overLimits(spec, p.info)
		if r == nil {
			r = notPermitted(spec, p.info)
		}
		if r != nil {
			last = r
		} else {
			ok++
		}
	}
	all := strings.EqualFold(s.set.EnforcePartLimits, "ALL") || strings.EqualFold(s.set.EnforcePartLimits, "YES")
	if all && last != nil || ok == 0 {
		return last
	}
	return nil
}

// limitIn is the time limit of a job in a partition, in minutes.
func limitIn(spec *wire.JobSpec, p *wire.PartitionInfo) uint32 {
	switch {
	case spec.TimeLimit != 0:
		return spec.TimeLimit
	case p.DefaultTime != 0:
		return p.DefaultTime
	case p.MaxTime != 0:
		return p.MaxTime
	}
	return Unlimited
}

func overLimits(spec *wire.JobSpec, p *wire.PartitionInfo) *wire.Refusal {
	if p.MaxTime != 0 && spec.TimeLimit != 0 && spec.TimeLimit > p.MaxTime {
		return errTimeLimit
	}
	if p.MaxNodes != 0 && spec.MinNodes > p.MaxNodes {
		return errNodeCount
	}
	return nil
}

func (s *State) checkDependency(n *newJob) *wire.Refusal {
	if n.spec.Dependency == "" {
		return nil
	}
	d, ok := parseDependency(n.spec.Dependency)
	if !ok {
		return errDependency
	}
	own, _ := s.freeID()
	if slices.ContainsFunc(d.conds, func(c cond) bool { return c.job == own }) {
		return errDependency // on itself
	}
	n.deps = d
	return nil
}

// admit makes the record of a checked job.
func (s *State) admit(n *newJob, contents []model.Content) *job {
	spec := n.spec
	st := &wire.JobState{
		Key: s.takeKey(), JobId: s.takeID(),
		State: wire.BaseState_PENDING, Submit: s.now, TimeLimit: n.limit,
		Partition: spec.Partition,
	}
	if n.tasks != nil {
		first, _ := n.tasks.First()
		st.ArrayJobId = st.JobId
		st.ArrayPending = n.tasks.String()
		st.ArrayThrottle = n.throttle
		st.ArrayTaskCount = uint32(n.tasks.Count())
		st.ArrayTaskMin, st.ArrayTaskMax = first, n.tasks.Max()
		st.ArrayTaskStep = n.tasks[0].Step
		spec = withArray(spec, n.tasks, n.throttle)
	}
	j := &job{spec: spec, st: st, tasks: n.tasks, parts: n.parts, newSpec: true, pos: -1}
	s.estimate(j)
	st.Priority = s.firstPriority(spec, n.actor)
	st.PrioritySet = spec.Priority != 0 && n.actor.Operator
	if spec.Hold {
		s.setHold(st, !n.actor.Operator || n.actor.UID == spec.Uid)
	}
	if st.Priority != 0 {
		st.Eligible = max(s.now, spec.Begin)
	}
	s.list(j)
	j.turn = s.turn
	s.touched = append(s.touched, j)
	st.Generation = 1
	s.enter(j)
	if n.deps != nil {
		s.addDeps(j, n.deps)
		if s.lookAtDeps(j); j.deps != nil {
			j.st.Eligible = 0
		}
	}
	s.out.contents = append(s.out.contents, contents...)
	return j
}

// withArray is the spec with its array in normal form.
func withArray(spec *wire.JobSpec, tasks model.TaskSet, throttle uint32) *wire.JobSpec {
	text := tasks.String()
	if spec.Array == text && spec.ArrayThrottle == throttle {
		return spec
	}
	spec = cloneJobSpec(spec)
	spec.Array, spec.ArrayThrottle = text, throttle
	return spec
}

// topPriority is what priority/basic gives the first job.
const topPriority = 4294901759

// firstPriority is the priority of a new job: one less than the last one's
// (priority/basic), or what the multifactor formula gives while all its weights are 0.
func (s *State) firstPriority(spec *wire.JobSpec, a Actor) uint32 {
	if spec.Priority != 0 && a.Operator {
		return spec.Priority
	}
	if !s.set.PriorityBasic {
		return niced(1, spec.Nice)
	}
	if s.lowest == 0 {
		s.lowest = topPriority + 1
	}
	s.lowest = max(s.lowest-1, 1)
	return niced(s.lowest, spec.Nice)
}

func niced(p uint32, nice int32) uint32 {
	v := int64(p) - int64(nice)
	return uint32(min(max(v, 1), Unlimited-1))
}

// setHold holds a pending job.
func (s *State) setHold(st *wire.JobState, byUser bool) {
	st.Priority, st.Eligible = 0, 0
	st.HeldByUser = byUser
	st.Reason, st.ReasonText = model.ReasonHeldAdmin, ""
	if byUser {
		st.Reason = model.ReasonHeldUser
	}
}
