package queue

import (
	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// stepFields are the columns of squeue --steps.
var stepFields = [...]field{
	{'b', "tres-per-node", "TRES_PER_JOB", cellNSlashA, nil, nil},
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
	{0, "stepstate", "STATE", cellStepState, nil, nil},
	{0, "arrayjobid", "ARRAY_JOB_ID", cellArrayID, nil, nil},
	{0, "arraytaskid", "ARRAY_TASK_ID", cellTaskID, nil, nil},
	{0, "jobid", "JOB_ID", cellOwnID, nil, nil},
	{0, "numcpus", "NUM_CPUS", cellStepCPUs, nil, nil},
	{0, "cluster", "CLUSTER", cellCluster, nil, nil},
	{0, "network", "NETWORK", cellNull, nil, nil},
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

// StepRows makes a row of each step that runs.
func StepRows(c *Context, jobs []*wire.JobInfo, want func(*wire.JobState, int32) bool) []*Row {
	var rows []*Row
	for _, j := range jobs {
		if j.State == nil {
			continue
		}
		for _, s := range RunningSteps(j) {
			r := NewRow(c, j)
			if want != nil && !want(r.State, s.Step) {
				continue
			}
			r.Step = s
			rows = append(rows, &r)
		}
	}
	return rows
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

func cellStepCPUs(b []byte, r *Row) []byte {
	n := uint32(0)
	for _, a := range r.Step.Alloc {
		n += a.Cpus
	}
	return number(b, n)
}
