package accounting

import (
	"strconv"
	"strings"
	"time"

	"muster/internal/command/queue"
	"muster/internal/model"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

func uintText(b []byte, n uint64) []byte { return strconv.AppendUint(b, n, 10) }

// ofJob makes a cell that only the line of a run fills.
func ofJob(cell func([]byte, *Row) []byte) func([]byte, *Row) []byte {
	return func(b []byte, r *Row) []byte {
		if r.Step != nil {
			return b
		}
		return cell(b, r)
	}
}

// ofSpec makes a cell of what was asked for in words.
func ofSpec(of func(*wire.JobSpec) string) func([]byte, *Row) []byte {
	return ofJob(func(b []byte, r *Row) []byte { return append(b, of(r.Spec)...) })
}

func cellEmpty(b []byte, _ *Row) []byte { return b }
func cellZero(b []byte, _ *Row) []byte  { return append(b, '0') }

func (r *Row) appendID(b []byte, id []byte) []byte {
	b = append(b, id...)
	if r.Step != nil {
		b = append(append(b, '.'), model.StepName(r.Step.Step)...)
	}
	return b
}

func cellJobID(b []byte, r *Row) []byte {
	return r.appendID(b, model.AppendJobID(nil, r.State, r.TasksWidth))
}

func cellJobIDRaw(b []byte, r *Row) []byte {
	return r.appendID(b, uintText(nil, uint64(r.State.JobId)))
}

func cellJobName(b []byte, r *Row) []byte {
	if r.Step != nil {
		return append(b, r.Step.Name...)
	}
	return append(b, r.Spec.Name...)
}

func cellAccount(b []byte, r *Row) []byte { return append(b, r.Spec.Account...) }

func cellAllocCPUs(b []byte, r *Row) []byte { return uintText(b, uint64(r.cpus())) }

func cellAllocNodes(b []byte, r *Row) []byte {
	if r.Step == nil && !r.started() {
		return append(b, '0')
	}
	return uintText(b, uint64(r.nodes()))
}

func cellNNodes(b []byte, r *Row) []byte { return uintText(b, uint64(r.nodes())) }

func cellAllocTRES(b []byte, r *Row) []byte {
	switch {
	case r.Step == nil && r.started():
		return append(b, r.tres(r.State.TresAlloc)...)
	case r.Step == nil:
		return b
	case r.Step.TresAlloc != "":
		return append(b, r.tres(r.Step.TresAlloc)...)
	}
	return append(b, r.tres(heldTRES(r.Step.Alloc))...)
}

// heldTRES counts what is held on nodes, for a step that brings no text of its own.
func heldTRES(alloc []*wire.NodeAlloc) string {
	t := model.TRES{Nodes: uint64(len(alloc))}
	count := make(map[string]uint64)
	var names []string
	for _, a := range alloc {
		t.CPUs += uint64(a.Cpus)
		t.Memory += a.Mem
		for _, g := range a.Gres {
			if count[g.Name] == 0 {
				names = append(names, g.Name)
			}
			count[g.Name] += g.Count
		}
	}
	for _, n := range names {
		t.Gres = append(t.Gres, model.Gres{Name: n, Count: count[n]})
	}
	return t.String()
}

func cellReqTRES(b []byte, r *Row) []byte { return append(b, r.tres(r.State.TresReq)...) }

// reqTRES is one part of what was asked for.
func reqTRES(name string) func([]byte, *Row) []byte {
	return func(b []byte, r *Row) []byte {
		if r.Step != nil {
			switch name {
			case "cpu":
				return cellAllocCPUs(b, r)
			case "node":
				return cellNNodes(b, r)
			}
			return b
		}
		return append(b, model.TRESValue(r.State.TresReq, name)...)
	}
}

func cellPartition(b []byte, r *Row) []byte {
	if !r.started() && r.State.Partition == "" {
		return append(b, r.Spec.Partition...)
	}
	return append(b, r.State.Partition...)
}

func cellState(b []byte, r *Row) []byte {
	if r.Step != nil {
		b = append(b, model.BaseName(r.Step.State).Long...)
		if r.Step.State == wire.BaseState_CANCELLED && r.Step.KilledBy != 0 {
			b = uintText(append(b, " by "...), uint64(r.Step.KilledBy))
		}
		return b
	}
	if r.State.Flags&uint32(wire.StateFlag_FLAG_REQUEUED) != 0 {
		return append(b, "REQUEUED"...)
	}
	b = append(b, model.BaseName(r.State.State).Long...)
	if r.State.State == wire.BaseState_CANCELLED && r.State.WasCancelled {
		b = uintText(append(b, " by "...), uint64(r.State.CancelledBy))
	}
	return b
}

func cellExitCode(b []byte, r *Row) []byte {
	switch {
	case r.Step != nil:
		return append(b, model.ExitTextAccounting(r.Step.ExitStatus)...)
	case r.State.State == wire.BaseState_CANCELLED: // how its script ended stands in the step's line
		return append(b, "0:0"...)
	}
	return append(b, model.ExitTextAccounting(r.State.ExitStatus)...)
}

func cellDerivedExit(b []byte, r *Row) []byte {
	if r.State.State == wire.BaseState_CANCELLED { // what that did to its steps is no result of theirs
		return append(b, "0:0"...)
	}
	return append(b, model.ExitTextAccounting(r.State.DerivedExitStatus)...)
}

// Times.

func cellElapsed(b []byte, r *Row) []byte { return append(b, slurmtime.FormatClock(r.elapsed())...) }
func cellElapsedRaw(b []byte, r *Row) []byte {
	return strconv.AppendInt(b, r.elapsed(), 10)
}
func cellCPUTime(b []byte, r *Row) []byte {
	return append(b, slurmtime.FormatClock(r.elapsed()*int64(r.cpus()))...)
}
func cellCPUTimeRaw(b []byte, r *Row) []byte {
	return strconv.AppendInt(b, r.elapsed()*int64(r.cpus()), 10)
}

func cellSubmit(b []byte, r *Row) []byte {
	if r.Step != nil {
		return r.stamp(b, r.Step.Start, "Unknown")
	}
	return r.stamp(b, r.State.Submit, "Unknown")
}

func cellEligible(b []byte, r *Row) []byte {
	if r.Step != nil {
		return r.stamp(b, r.Step.Start, "Unknown")
	}
	return r.stamp(b, r.eligible(), "Unknown")
}

func cellStart(b []byte, r *Row) []byte {
	switch {
	case r.Step != nil:
		return r.stamp(b, r.from(r.Step.Start), "Unknown")
	case r.started():
		return r.stamp(b, r.from(r.State.Start), "Unknown")
	case model.Ended(r.State.State):
		return append(b, "None"...)
	}
	return append(b, "Unknown"...)
}

func cellEnd(b []byte, r *Row) []byte {
	state, end := r.State.State, r.State.End
	if r.Step != nil {
		state, end = r.Step.State, r.Step.End
	}
	if !model.Ended(state) {
		return r.stamp(b, r.Until, "Unknown") // which is 0 without -T
	}
	return r.stamp(b, r.to(end), "Unknown")
}

func cellSuspended(b []byte, r *Row) []byte {
	if r.Step != nil {
		return append(b, "00:00:00"...)
	}
	return append(b, slurmtime.FormatClock(r.State.SuspendedSecs)...)
}

func cellTimeLimit(b []byte, r *Row) []byte {
	if limit, ok := r.limit(); ok {
		return append(b, slurmtime.FormatLimitClock(limit)...)
	}
	return append(b, "Partition_Limit"...)
}

func cellTimeLimitRaw(b []byte, r *Row) []byte {
	switch limit, ok := r.limit(); {
	case !ok:
		return append(b, "Partition_Limit"...)
	case limit == slurmtime.Unlimited:
		return append(b, "UNLIMITED"...)
	default:
		return uintText(b, uint64(limit))
	}
}

// limit is the time limit; a job that has not started and brought none has that
// of its partition.
func (r *Row) limit() (minutes uint32, ok bool) {
	if !r.started() && r.Spec.TimeLimit == 0 || r.State.TimeLimit == 0 {
		return 0, false
	}
	return r.State.TimeLimit, true
}

// planned is how long a job waited from when it could have started.
func (r *Row) planned() int64 {
	eligible := r.eligible()
	if eligible == 0 {
		return 0
	}
	until := r.State.Start
	switch {
	case !r.started() && model.Ended(r.State.State):
		until = r.State.End
	case !r.started():
		until = r.Now.Unix()
	}
	return max(until-eligible, 0)
}

func cellPlanned(b []byte, r *Row) []byte { return append(b, slurmtime.FormatClock(r.planned())...) }
func cellPlannedCPU(b []byte, r *Row) []byte {
	return append(b, slurmtime.FormatClock(r.planned()*int64(r.State.NumCpus))...)
}
func cellPlannedCPURaw(b []byte, r *Row) []byte {
	return strconv.AppendInt(b, r.planned()*int64(r.State.NumCpus), 10)
}

func userTime(u *wire.Usage) uint64   { return u.GetUserUsec() }
func systemTime(u *wire.Usage) uint64 { return u.GetSystemUsec() }
func totalTime(u *wire.Usage) uint64  { return u.GetUserUsec() + u.GetSystemUsec() }

func cpuCell(part func(*wire.Usage) uint64) func([]byte, *Row) []byte {
	return func(b []byte, r *Row) []byte {
		d := r.cpuTime(part)
		if d < time.Millisecond {
			d = 0
		}
		return append(b, slurmtime.FormatCPU(d)...)
	}
}

// Who and where.

func cellUser(b []byte, r *Row) []byte {
	if r.Spec.UserName == "" {
		return uintText(b, uint64(r.Spec.Uid))
	}
	return append(b, r.Spec.UserName...)
}
func cellUID(b []byte, r *Row) []byte { return uintText(b, uint64(r.Spec.Uid)) }
func cellGroup(b []byte, r *Row) []byte {
	if r.Spec.GroupName == "" {
		return uintText(b, uint64(r.Spec.Gid))
	}
	return append(b, r.Spec.GroupName...)
}
func cellGID(b []byte, r *Row) []byte     { return uintText(b, uint64(r.Spec.Gid)) }
func cellCluster(b []byte, r *Row) []byte { return append(b, r.Cluster...) }
func cellDBIndex(b []byte, r *Row) []byte { return strconv.AppendInt(b, r.State.Key, 10) }
func cellSluid(b []byte, r *Row) []byte   { return uintText(b, r.State.Sluid) }

func cellNodeList(b []byte, r *Row) []byte {
	if list := nodeList(r.alloc()); list != "" {
		return append(b, list...)
	}
	return append(b, "None assigned"...)
}

func cellPriority(b []byte, r *Row) []byte { return uintText(b, uint64(r.State.Priority)) }
func cellRestarts(b []byte, r *Row) []byte { return uintText(b, uint64(r.State.Restarts)) }

// cellReason is why a job that never started was waiting.
func cellReason(b []byte, r *Row) []byte {
	if r.started() {
		return append(b, model.ReasonNone...)
	}
	return append(b, queue.Reason(r.State, nil)...)
}

// handling names how a job was handled.
func (r *Row) handling() []string {
	if r.started() {
		return []string{"SchedMain", "StartReceived"}
	}
	return []string{"StartReceived"}
}

func cellFlags(b []byte, r *Row) []byte { return append(b, strings.Join(r.handling(), ",")...) }

func cellOverSubscribe(b []byte, r *Row) []byte { return append(b, queue.OverSubscribe(r.Spec)...) }

func cellNTasks(b []byte, r *Row) []byte {
	if r.Step == nil {
		return b
	}
	return uintText(b, uint64(r.Step.NumTasks))
}

func cellLayout(b []byte, r *Row) []byte {
	if r.Step == nil {
		return b
	}
	if r.Step.Step == int32(wire.StepNumber_STEP_BATCH) {
		return append(b, "Unknown"...)
	}
	return append(b, r.Step.Layout...)
}

// cellFreq is what a step asked of the CPUs' clock, which is nothing.
func cellFreq(b []byte, r *Row) []byte {
	if r.Step != nil && r.Step.Step < 0 {
		return append(b, '0')
	}
	return append(b, "Unknown"...)
}

func cellAveFreq(b []byte, r *Row) []byte {
	if r.Step == nil {
		return b
	}
	return append(b, '0')
}

// cellEnergy is not measured: 0 in the lines in which sacct shows a number at all.
func cellEnergy(b []byte, r *Row) []byte {
	if r.Step == nil && r.started() && !model.Ended(r.State.State) {
		return b
	}
	return append(b, '0')
}

func cellSubmitLine(b []byte, r *Row) []byte {
	if r.Step != nil {
		return append(b, r.Step.SubmitLine...)
	}
	return append(b, r.Spec.SubmitLine...)
}

func cellStdOut(b []byte, r *Row) []byte { return append(b, r.file(queue.StdOut(r.Spec, r.State))...) }
func cellStdErr(b []byte, r *Row) []byte { return append(b, r.file(queue.StdErr(r.Spec, r.State))...) }
func cellStdIn(b []byte, r *Row) []byte  { return append(b, r.file(queue.StdIn(r.Spec))...) }

// cellExclusive names what is not shared, and with whom.
func cellExclusive(b []byte, r *Row) []byte { return append(b, exclusive[r.Spec.Exclusive]...) }

var exclusive = map[wire.Exclusive]string{
	wire.Exclusive_EXCL_NONE: "NO",
	wire.Exclusive_EXCL_NODE: "NODE",
	wire.Exclusive_EXCL_USER: "USER",
	wire.Exclusive_EXCL_MCS:  "MCS",
	wire.Exclusive_EXCL_TOPO: "TOPO",
}
