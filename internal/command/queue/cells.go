package queue

import (
	"strconv"
	"time"

	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// The cells, in the order of their letters and names. Each appends to b.

func cellJobID(b []byte, r *Row) []byte {
	start := len(b)
	b = model.AppendJobID(b, r.State, r.TasksWidth)
	const most = 31
	if r.CutID && len(b)-start > most {
		b = b[:start+most]
	}
	return b
}

func cellOwnID(b []byte, r *Row) []byte { return number(b, r.State.JobId) }
func cellArrayID(b []byte, r *Row) []byte {
	if r.State.ArrayJobId != 0 {
		return number(b, r.State.ArrayJobId)
	}
	return number(b, r.State.JobId)
}

func cellTaskID(b []byte, r *Row) []byte {
	switch {
	case r.State.ArrayJobId == 0:
		return append(b, "N/A"...)
	case r.State.IsArrayTask:
		return number(b, r.State.ArrayTaskId)
	}
	return append(b, model.PendingTasksText(r.State, r.TasksWidth)...)
}

func cellAccount(b []byte, r *Row) []byte { return orNull(b, r.Spec.Account) }

func cellBatchHost(b []byte, r *Row) []byte {
	if r.State.Start == 0 || r.pending() {
		return append(b, "n/a"...)
	}
	if r.Spec.Batch {
		return or(b, r.State.BatchHost, "n/a")
	}
	return or(b, r.Spec.SubmitHost, "n/a")
}

// MinCPUs is the least number of CPUs that a job needs on one node.
func MinCPUs(s *wire.JobSpec) uint32 {
	return max(s.MinCpus, max(s.CpusPerTask, 1)*max(s.NtasksPerNode, 1))
}

func cellMinCPUs(b []byte, r *Row) []byte { return number(b, MinCPUs(r.Spec)) }
func cellCPUs(b []byte, r *Row) []byte    { return number(b, r.State.NumCpus) }
func cellTmp(b []byte, r *Row) []byte     { return r.amount(b, r.Spec.TmpDisk, "") }

func (r *Row) amount(b []byte, mib uint64, suffix string) []byte {
	if mib == 0 && suffix == "" {
		return append(b, '0')
	}
	if r.NoConvert {
		return append(number(b, mib), 'M')
	}
	return model.AppendMiB(b, mib)
}

func cellNodes(b []byte, r *Row) []byte { return number(b, r.State.NumNodes) }

func cellEnd(b []byte, r *Row) []byte {
	if model.Ended(r.State.State) {
		return r.stamp(b, r.State.End, "N/A")
	}
	start := r.start()
	switch {
	case start == 0:
		return append(b, "N/A"...)
	case r.unlimited():
		return append(b, "NONE"...)
	case r.State.End != 0:
		return r.stamp(b, r.State.End, "N/A")
	}
	return r.stamp(b, start+int64(r.limit())*60, "N/A")
}

func cellDependency(b []byte, r *Row) []byte { return orNull(b, r.State.Dependency) }
func cellFeatures(b []byte, r *Row) []byte   { return orNull(b, r.Spec.Constraint) }

func cellGroup(b []byte, r *Row) []byte {
	if r.Spec.GroupName == "" {
		return number(b, r.Spec.Gid)
	}
	return append(b, r.Spec.GroupName...)
}
func cellGID(b []byte, r *Row) []byte { return number(b, r.Spec.Gid) }

// OverSubscribe says how a job shares its nodes.
func OverSubscribe(s *wire.JobSpec) string {
	switch s.Exclusive {
	case wire.Exclusive_EXCL_NODE:
		return "NO"
	case wire.Exclusive_EXCL_USER:
		return "USER"
	case wire.Exclusive_EXCL_MCS:
		return "MCS"
	case wire.Exclusive_EXCL_TOPO:
		return "TOPO"
	}
	if s.Oversubscribe {
		return "YES"
	}
	return "OK"
}

// ExclusiveWord says with whom a job does not share its nodes, in the words of
// the column EXCLUSIVE.
func ExclusiveWord(e wire.Exclusive) string {
	switch e {
	case wire.Exclusive_EXCL_NODE:
		return "NODE"
	case wire.Exclusive_EXCL_USER:
		return "USER"
	case wire.Exclusive_EXCL_MCS:
		return "MCS"
	case wire.Exclusive_EXCL_TOPO:
		return "TOPO"
	}
	return "NO"
}

func cellExclusive(b []byte, r *Row) []byte { return append(b, ExclusiveWord(r.Spec.Exclusive)...) }

func cellShare(b []byte, r *Row) []byte   { return append(b, OverSubscribe(r.Spec)...) }
func cellSockets(b []byte, r *Row) []byte { return orStar(b, r.Spec.SocketsPerNode) }
func cellCores(b []byte, r *Row) []byte   { return orStar(b, r.Spec.CoresPerSocket) }
func cellThreads(b []byte, r *Row) []byte { return orStar(b, r.Spec.ThreadsPerCore) }

func cellSCT(b []byte, r *Row) []byte {
	b = append(cellSockets(b, r), ':')
	b = append(cellCores(b, r), ':')
	return cellThreads(b, r)
}

func cellName(b []byte, r *Row) []byte { return append(b, r.Spec.Name...) }
func cellComment(b []byte, r *Row) []byte {
	if r.Spec.CommentSet {
		return append(b, r.Spec.Comment...)
	}
	return orNull(b, r.Spec.Comment)
}

func cellLimit(b []byte, r *Row) []byte {
	if r.unlimited() {
		return append(b, "UNLIMITED"...)
	}
	return elapsed(b, int64(r.limit())*60)
}

func cellLeft(b []byte, r *Row) []byte {
	if r.unlimited() {
		return append(b, "UNLIMITED"...)
	}
	left := int64(r.limit())*60 - Used(r.State, r.Now.Unix())
	if left < 0 {
		return elapsed(append(b, '-'), -left)
	}
	return elapsed(b, left)
}

func cellUsed(b []byte, r *Row) []byte {
	return elapsed(b, Used(r.State, r.Now.Unix()))
}

func cellMemory(b []byte, r *Row) []byte {
	if r.Spec.Mem == 0 {
		return append(b, '0') // the node's
	}
	return r.amount(b, r.Spec.Mem, "M")
}

func cellReqNodes(b []byte, r *Row) []byte { return append(b, r.Spec.Nodelist...) }
func cellExcNodes(b []byte, r *Row) []byte { return append(b, r.Spec.Exclude...) }

func cellNodeList(b []byte, r *Row) []byte {
	if len(r.State.Alloc) == 1 {
		return append(b, r.State.Alloc[0].Node...)
	}
	return append(b, hostlist.Compress(NodeNames(r.State))...)
}

func cellCommand(b []byte, r *Row) []byte {
	b = orNull(b, r.Spec.Command)
	for _, a := range r.Spec.Argv {
		b = append(append(b, ' '), a...)
	}
	return b
}

func cellContiguous(b []byte, r *Row) []byte { return yes(b, r.Spec.Contiguous) }

func cellPriorityShare(b []byte, r *Row) []byte {
	return strconv.AppendFloat(b, float64(r.State.Priority)/4294967295, 'f', 14, 64)
}
func cellPriority(b []byte, r *Row) []byte { return number(b, r.State.Priority) }

func cellPartition(b []byte, r *Row) []byte { return append(b, r.partition()...) }

func cellQOS(b []byte, r *Row) []byte    { return orNull(b, r.Spec.Qos) }
func cellReason(b []byte, r *Row) []byte { return append(b, Reason(r.State, r.Derived)...) }

func cellNodesOrReason(b []byte, r *Row) []byte {
	if !r.showsNodes() {
		return append(cellReason(append(b, '('), r), ')')
	}
	return cellNodeList(b, r)
}

// showsNodes tells whether the nodes of a job say more than a reason.
func (r *Row) showsNodes() bool {
	switch r.State.State {
	case wire.BaseState_PENDING, wire.BaseState_FAILED, wire.BaseState_TIMEOUT,
		wire.BaseState_OUT_OF_MEMORY, wire.BaseState_DEADLINE:
		return false
	}
	return true
}

func cellStart(b []byte, r *Row) []byte { return r.stamp(b, r.start(), "N/A") }
func cellStateShort(b []byte, r *Row) []byte {
	return append(b, model.StateWord(r.State.State, r.State.Flags).Short...)
}
func cellState(b []byte, r *Row) []byte {
	return append(b, model.StateWord(r.State.State, r.State.Flags).Long...)
}

func cellUser(b []byte, r *Row) []byte {
	if r.Spec.UserName == "" {
		return number(b, r.Spec.Uid)
	}
	return append(b, r.Spec.UserName...)
}
func cellUID(b []byte, r *Row) []byte         { return number(b, r.Spec.Uid) }
func cellReservation(b []byte, r *Row) []byte { return orNull(b, r.Spec.Reservation) }
func cellSubmit(b []byte, r *Row) []byte      { return r.stamp(b, r.State.Submit, "N/A") }
func cellWCKey(b []byte, r *Row) []byte       { return orNull(b, r.Spec.Wckey) }
func cellLicenses(b []byte, r *Row) []byte    { return orNull(b, r.Spec.Licenses) }

func cellCoreSpec(b []byte, r *Row) []byte {
	if r.Spec.CoreSpec == 0 {
		return append(b, "N/A"...)
	}
	b = number(b, r.Spec.CoreSpec)
	if r.Spec.ThreadSpec {
		b = append(b, " Threads"...)
	}
	return b
}

func cellCron(b []byte, _ *Row) []byte { return append(b, "No"...) } // no scrontab makes jobs

// cellLicensesAlloc is what a job that runs holds, all that it asked for.
func cellLicensesAlloc(b []byte, r *Row) []byte {
	if !ran(r.State) || model.Ended(r.State.State) {
		return append(b, "(null)"...)
	}
	return cellLicenses(b, r)
}

func cellNice(b []byte, r *Row) []byte       { return number(b, r.Spec.Nice) }
func cellSchedNodes(b []byte, r *Row) []byte { return orNull(b, r.Derived.SchedNodes) }
func cellWorkDir(b []byte, r *Row) []byte    { return append(b, r.Spec.WorkDir...) }

func cellTresPerNode(b []byte, r *Row) []byte { return or(b, TresPer(r.Spec.TresPerNode), "N/A") }

// Those with a name only.

func cellAccrue(b []byte, r *Row) []byte {
	return r.stamp(b, Accrued(r.Spec, r.State, r.Now.Unix()), "N/A")
}
func cellAdminComment(b []byte, r *Row) []byte { return orNull(b, r.Spec.AdminComment) }
func cellSubmitHost(b []byte, r *Row) []byte   { return orNull(b, r.Spec.SubmitHost) }
func cellSID(b []byte, r *Row) []byte          { return number(b, r.Spec.AllocSid) }
func cellBatchFlag(b []byte, r *Row) []byte    { return yes(b, r.Spec.Batch) }
func cellZero(b []byte, _ *Row) []byte         { return append(b, '0') }
func cellNA(b []byte, _ *Row) []byte           { return append(b, "NA"...) }
func cellNSlashA(b []byte, _ *Row) []byte      { return append(b, "N/A"...) }
func cellNull(b []byte, _ *Row) []byte         { return append(b, "(null)"...) }
func cellCluster(b []byte, r *Row) []byte      { return append(b, r.Cluster...) }
func cellContainer(b []byte, r *Row) []byte    { return orNull(b, r.Spec.Container) }
func cellCPUsPerTask(b []byte, r *Row) []byte  { return number(b, max(r.Spec.CpusPerTask, 1)) }

func cellCPUsPerTres(b []byte, r *Row) []byte {
	if r.Spec.CpusPerGpu == 0 {
		return append(b, "N/A"...)
	}
	return number(append(b, "gres:gpu:"...), r.Spec.CpusPerGpu)
}

func cellMemPerTres(b []byte, r *Row) []byte {
	if r.Spec.MemKind != wire.MemKind_MEM_PER_GPU {
		return append(b, "N/A"...)
	}
	return number(append(b, "gres:gpu:"...), r.Spec.Mem)
}

func cellDeadline(b []byte, r *Row) []byte { return r.stamp(b, r.Spec.Deadline, "N/A") }
func cellDelayBoot(b []byte, r *Row) []byte {
	return append(b, slurmtime.FormatElapsed(int64(r.Spec.DelayBoot))...)
}
func cellDerived(b []byte, r *Row) []byte { return number(b, r.State.DerivedExitStatus) }
func cellExit(b []byte, r *Row) []byte    { return number(b, r.State.ExitStatus) }
func cellEligible(b []byte, r *Row) []byte {
	return r.stamp(b, Eligible(r.Spec, r.State, r.Now.Unix()), "N/A")
}
func cellLastSched(b []byte, r *Row) []byte {
	return r.stamp(b, LastEvaluated(r.State, r.Derived), "N/A")
}

// cellMaxNodes is the most nodes that a job may get, all that it needs where it gave none.
func cellMaxNodes(b []byte, r *Row) []byte {
	if r.Spec.MaxNodes == 0 {
		return number(b, r.State.NumNodes)
	}
	return number(b, r.Spec.MaxNodes)
}

func cellMCS(b []byte, r *Row) []byte { return orNull(b, r.Spec.McsLabel) }
func cellTimeMin(b []byte, r *Row) []byte {
	return append(b, slurmtime.FormatLimit(r.Spec.TimeMin)...)
}
func cellNetwork(b []byte, r *Row) []byte       { return orNull(b, r.Spec.Network) }
func cellPerCore(b []byte, r *Row) []byte       { return orNSlashA(b, r.Spec.NtasksPerCore) }
func cellPerNode(b []byte, r *Row) []byte       { return number(b, r.Spec.NtasksPerNode) }
func cellPerSocket(b []byte, r *Row) []byte     { return orNSlashA(b, r.Spec.NtasksPerSocket) }
func cellPrefer(b []byte, r *Row) []byte        { return orNull(b, r.Spec.Prefer) }
func cellProfile(b []byte, r *Row) []byte       { return or(b, r.Spec.Profile, "NotSet") }
func cellReboot(b []byte, r *Row) []byte        { return yes(b, r.Spec.Reboot) }
func cellSwitches(b []byte, r *Row) []byte      { return number(b, r.Spec.Switches) }
func cellRequeue(b []byte, r *Row) []byte       { return yes(b, Requeued(r.Spec)) }
func cellResize(b []byte, r *Row) []byte        { return r.stamp(b, r.State.LastResize, "N/A") }
func cellRestarts(b []byte, r *Row) []byte      { return number(b, r.State.Restarts) }
func cellStdErr(b []byte, r *Row) []byte        { return append(b, r.expand(StdErr(r.Spec, r.State))...) }
func cellStdIn(b []byte, r *Row) []byte         { return append(b, r.expand(StdIn(r.Spec))...) }
func cellStdOut(b []byte, r *Row) []byte        { return append(b, r.expand(StdOut(r.Spec, r.State))...) }
func cellSystemComment(b []byte, r *Row) []byte { return orNull(b, r.Spec.SystemComment) }
func cellTresBind(b []byte, r *Row) []byte      { return or(b, r.Spec.TresBind, "N/A") }
func cellTresPerJob(b []byte, r *Row) []byte    { return or(b, TresPer(r.Spec.TresPerJob), "N/A") }
func cellTresPerTask(b []byte, r *Row) []byte   { return or(b, TresPer(r.Spec.TresPerTask), "N/A") }
func cellTresPerSocket(b []byte, r *Row) []byte {
	return or(b, TresPer(r.Spec.TresPerSocket), "N/A")
}

func orNSlashA(b []byte, n uint32) []byte {
	if n == 0 {
		return append(b, "N/A"...)
	}
	return number(b, n)
}

func cellTasks(b []byte, r *Row) []byte { return number(b, NumTasks(r.Spec, r.State)) }

// NumTasks is the number of tasks asked for, or one a node.
func NumTasks(spec *wire.JobSpec, s *wire.JobState) uint32 {
	if spec.NumTasks != 0 {
		return spec.NumTasks
	}
	return max(max(spec.NtasksPerNode, 1)*max(spec.MinNodes, 1), 1)
}

func cellTres(b []byte, r *Row) []byte {
	if r.State.TresAlloc != "" {
		return append(b, r.State.TresAlloc...)
	}
	return append(b, r.State.TresReq...)
}

func cellPendingTime(b []byte, r *Row) []byte {
	until := r.State.Start
	if until == 0 {
		until = r.Now.Unix()
	}
	return number(b, max(until-r.State.Submit, 0))
}

func cellMaxCPUs(b []byte, r *Row) []byte { return number(b, r.State.NumCpus) }

func cellWaitSwitch(b []byte, r *Row) []byte {
	return append(b, slurmtime.FormatElapsed(int64(r.Spec.SwitchesWait))...)
}

func cellSluid(b []byte, r *Row) []byte { return append(b, sluid(r.State.Sluid)...) }

// stepTime is how long a step has run.
func (r *Row) stepTime() time.Duration {
	end := r.Step.End
	if end == 0 || !model.Ended(r.Step.State) {
		end = r.Now.Unix()
	}
	return time.Duration(max(end-r.Step.Start, 0)) * time.Second
}
