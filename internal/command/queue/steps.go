package queue

import (
	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// stepFields are the columns of squeue --steps.
var stepFields = [...]field{
	{'b', "tres-per-node", "TRES_PER_JOB", cellNull, nil, nil},
	{'i', "stepid", "STEPID", cellStepID, nil, nil},
	{'j', "stepname", "NAME", cellStepName, nil, nil},
	{'l', "timelimit", "TIME_LIMIT", cellStepLimit, nil, nil},
	{'u', "username", "USER", cellUser, []uint32{specUID, specUserName}, nil},
	{'A', "numtasks", "TASKS", cellStepTasks, nil, nil},
	{'M', "timeused", "TIME", cellStepUsed, nil, nil},
	{'N', "nodes", "NODELIST", cellStepNodes, nil, nil},
	{'P', "partition", "PARTITION", cellPartition, nil, nil},
	{'S', "starttime", "START_TIME", cellStepStart, nil, nil},
	{'U', "userid", "UID", cellUID, []uint32{specUID}, nil},
	{0, "arrayjobid", "ARRAY_JOB_ID", cellStepArrayID, nil, nil},
	{0, "arraytaskid", "ARRAY_TASK_ID", cellTaskID, nil, nil},
	{0, "cluster", "CLUSTER", cellCluster, nil, nil},
	{0, "container", "CONTAINER", cellNull, nil, nil},
	{0, "containerid", "CONTAINER_ID", cellNull, nil, nil},
	{0, "cpus-per-tres", "CPUS_PER_TRES", cellNull, nil, nil},
	{0, "cpufreq", "CPU_FREQ", cellStepFreq, nil, nil},
	{0, "jobid", "JOB_ID", cellOwnID, nil, nil},
	{0, "mem-per-tres", "MEM_PER_TRES", cellNull, nil, nil},
	{0, "network", "NETWORK", cellNull, nil, nil},
	{0, "numcpus", "NUM_CPUS", cellStepCPUs, nil, nil},
	{0, "resvport", "RESV_PORT", cellNull, nil, nil},
	{0, "stderr", "STDERR", cellStepStdErr, pathFields, nil},
	{0, "stdin", "STDIN", cellStepStdIn, pathFields, nil},
	{0, "stdout", "STDOUT", cellStepStdOut, pathFields, nil},
	{0, "stepstate", "STATE", cellStepState, nil, nil},
	{0, "tres-bind", "TRES_BIND", cellNull, nil, nil},
	{0, "tres-freq", "TRES_FREQ", cellNull, nil, nil},
	{0, "tres-per-job", "TRES_PER_STEP", cellNull, nil, nil},
	{0, "tres-per-socket", "TRES_PER_SOCKET", cellNull, nil, nil},
	{0, "tres-per-step", "TRES_PER_STEP", cellNull, nil, nil},
	{0, "tres-per-task", "TRES_PER_TASK", cellNull, nil, nil},
}

var stepColumns = lookup{
	letter: func(c byte) *field {
		for i := range stepFields {
			if stepFields[i].letter == c && c != 0 {
				return &stepFields[i]
			}
		}
		return nil
	},
	name: func(name string) *field {
		for i := range stepFields {
			if equalFold(stepFields[i].name, name) {
				return &stepFields[i]
			}
		}
		return nil
	},
	all:    "bijluAMNPSU",
	closed: true,
	what:   "job step",
}

func cellStepID(b []byte, r *Row) []byte {
	b = append(cellJobID(b, r), '.')
	return append(b, model.StepName(r.Step.Step)...)
}

func cellStepName(b []byte, r *Row) []byte { return append(b, r.Step.Name...) }

func cellStepLimit(b []byte, r *Row) []byte {
	if r.Step.TimeLimit == 0 {
		return append(b, "UNLIMITED"...)
	}
	return append(b, slurmtime.FormatLimit(r.Step.TimeLimit)...)
}

func cellStepTasks(b []byte, r *Row) []byte { return number(b, r.Step.NumTasks) }

func cellStepUsed(b []byte, r *Row) []byte {
	return append(b, slurmtime.FormatElapsed(int64(r.stepTime().Seconds()))...)
}

func cellStepNodes(b []byte, r *Row) []byte {
	names := make([]string, len(r.Step.Alloc))
	for i, a := range r.Step.Alloc {
		names[i] = a.Node
	}
	return append(b, hostlist.Compress(names)...)
}

func cellStepStart(b []byte, r *Row) []byte { return r.stamp(b, r.Step.Start, "N/A") }
func cellStepState(b []byte, r *Row) []byte {
	return append(b, model.BaseName(r.Step.State).Long...)
}

// cellStepCPUs counts what srun's steps hold; the batch script's step holds nothing of its own.
func cellStepCPUs(b []byte, r *Row) []byte {
	if r.batchStep() {
		return append(b, '0')
	}
	n := uint32(0)
	for _, a := range r.Step.Alloc {
		n += a.Cpus
	}
	return number(b, n)
}

func (r *Row) batchStep() bool { return r.Step.Step == int32(wire.StepNumber_STEP_BATCH) }

func cellStepArrayID(b []byte, r *Row) []byte { return number(b, r.State.ArrayJobId) }

// cellStepFreq: no frequency is ever asked for, which Slurm writes in two ways.
func cellStepFreq(b []byte, r *Row) []byte {
	if r.batchStep() {
		return append(b, "0-0:0"...)
	}
	return append(b, "Unknown-Unknown:Unknown"...)
}

func cellStepStdOut(b []byte, r *Row) []byte { return r.stepFile(b, r.Step.StdOut, cellStdOut) }
func cellStepStdErr(b []byte, r *Row) []byte { return r.stepFile(b, r.Step.StdErr, cellStdErr) }
func cellStepStdIn(b []byte, r *Row) []byte  { return r.stepFile(b, r.Step.StdIn, cellStdIn) }

// stepFile writes the name of a stream's file: of the batch script's step it is the job's.
func (r *Row) stepFile(b []byte, file string, ofJob func([]byte, *Row) []byte) []byte {
	if r.batchStep() {
		return ofJob(b, r)
	}
	return orNull(b, r.expand(file))
}
