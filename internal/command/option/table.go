package option

import (
	"sync"

	"muster/internal/command/getopt"
	"muster/internal/wire"
)

// Table returns every option, by name: getopt lists what an abbreviation may
// mean in this order. It is made at the first use, once.
var Table = sync.OnceValue(func() []Entry {
	table := make([]Entry, 0, 200)
	for _, part := range [][]Entry{jobTable(), amountTable(), runTable(), stepTable(), laterTable()} {
		table = append(table, part...)
	}
	sortEntries(table)
	return table
})

func sortEntries(table []Entry) {
	for i := 1; i < len(table); i++ { // nearly sorted parts
		for j := i; j > 0 && table[j].Long < table[j-1].Long; j-- {
			table[j], table[j-1] = table[j-1], table[j]
		}
	}
}

// every returns the names of one variable for the three programs.
func every(name string) string { return "SBATCH_" + name + " SALLOC_" + name + " SLURM_" + name }

const (
	needed   = getopt.Required
	optional = getopt.Optional
)

type spec = wire.JobSpec

// jobTable: who the job is, where it goes, when it starts.
func jobTable() []Entry {
	return []Entry{
		{Long: "account", Short: 'A', Arg: needed, In: All, Env: every("ACCOUNT"), Meta: "name",
			Help: "charge this account", Set: text(func(s *spec) *string { return &s.Account })},
		{Long: "array", Short: 'a', Arg: needed, In: Sbatch, Env: "SBATCH_ARRAY_INX", Meta: "indexes",
			Help: "submit an array of jobs: 0-15, 1,3,7, 0-99:5, 1-1000%20", Set: array},
		{Long: "begin", Short: 'b', Letter: Sbatch | Srun, Arg: needed, In: All, Meta: "time",
			Help: "do not start before this time", Set: moment(func(s *spec) *int64 { return &s.Begin })},
		{Long: "clusters", Short: 'M', Arg: needed, In: All, Env: "SBATCH_CLUSTERS SALLOC_CLUSTERS SLURM_CLUSTERS*", Meta: "names",
			Help: "the cluster to use", Set: func(o *Options, _ *Entry, v string) error { o.Clusters = v; return nil }},
		{Long: "comment", Arg: needed, In: All, Meta: "text",
			Help: "a text to keep with the job", Set: comment},
		{Long: "deadline", Arg: needed, In: All, Meta: "time",
			Help: "remove the job if it cannot end before this time", Set: moment(func(s *spec) *int64 { return &s.Deadline })},
		{Long: "dependency", Short: 'd', Arg: needed, In: All, Env: "SLURM_DEPENDENCY", Meta: "type:id[:id]",
			Help: "wait for other jobs", Set: text(func(s *spec) *string { return &s.Dependency })},
		{Long: "extra", Arg: needed, In: All, Meta: "text",
			Help: "a further text to keep with the job", Set: text(func(s *spec) *string { return &s.Extra })},
		{Long: "hold", Short: 'H', In: All,
			Help: "submit the job held", Set: flag(func(s *spec) *bool { return &s.Hold })},
		{Long: "job-name", Short: 'J', Arg: needed, In: All, Env: every("JOB_NAME"), Meta: "name",
			Help: "name of the job or step", Set: text(func(s *spec) *string { return &s.Name })},
		{Long: "kill-on-invalid-dep", Arg: needed, In: Sbatch, Meta: "yes|no",
			Help: "end the job when its dependency can never be met", Set: killOnInvalidDep},
		{Long: "licenses", Short: 'L', Arg: needed, In: All, Meta: "name:count",
			Help: "licences to hold while running", Set: text(func(s *spec) *string { return &s.Licenses })},
		{Long: "mail-type", Arg: needed, In: All, Meta: "types",
			Help: "send mail at BEGIN, END, FAIL, REQUEUE, TIME_LIMIT, ALL and so on", Set: mailType},
		{Long: "mail-user", Arg: needed, In: All, Meta: "address",
			Help: "who gets the mail", Set: text(func(s *spec) *string { return &s.MailUser })},
		{Long: "mcs-label", Arg: needed, In: All, Meta: "label", Status: Accepted,
			Help: "security label (no MCS plugin is in use)", Set: text(func(s *spec) *string { return &s.McsLabel })},
		{Long: "nice", Arg: optional, In: All, Meta: "value",
			Help: "lower the priority by this much (100)", Set: nice},
		{Long: "partition", Short: 'p', Arg: needed, In: All, Env: every("PARTITION"), Meta: "names",
			Help: "partitions to use", Set: text(func(s *spec) *string { return &s.Partition })},
		{Long: "priority", Arg: needed, In: All, Meta: "value",
			Help: "set the priority (administrators)", Set: priority},
		{Long: "qos", Short: 'q', Arg: needed, In: All, Env: every("QOS"), Meta: "names",
			Help: "quality of service", Set: text(func(s *spec) *string { return &s.Qos })},
		{Long: "requeue", Arg: optionalIfLong, In: Sbatch, Env: "SBATCH_REQUEUE",
			Help: "put the job back into the queue when its node fails", Set: requeue(true)},
		{Long: "no-requeue", In: Sbatch, Env: "SBATCH_NO_REQUEUE",
			Help: "never put the job back into the queue", Set: requeue(false)},
		{Long: "reservation", Arg: needed, In: All, Env: every("RESERVATION"), Meta: "name",
			Help: "use this reservation", Set: text(func(s *spec) *string { return &s.Reservation })},
		{Long: "time", Short: 't', Arg: needed, In: All, Env: every("TIMELIMIT"), Meta: "limit",
			Help: "time limit: minutes, h:m:s, d-h:m:s", Set: minutes(func(s *spec) *uint32 { return &s.TimeLimit })},
		{Long: "time-min", Arg: needed, In: All, Meta: "limit",
			Help: "the least time limit that is of use", Set: minutes(func(s *spec) *uint32 { return &s.TimeMin })},
		{Long: "wckey", Arg: needed, In: All, Env: every("WCKEY"), Meta: "key",
			Help: "workload characterisation key", Set: text(func(s *spec) *string { return &s.Wckey })},
		{Long: "uid", Arg: needed, In: Sbatch, Meta: "user",
			Help: "submit for this user (root)", Set: func(o *Options, _ *Entry, v string) error { o.UID = v; return nil }},
		{Long: "gid", Arg: needed, In: Sbatch, Meta: "group",
			Help: "submit with this group (root)", Set: func(o *Options, _ *Entry, v string) error { o.GID = v; return nil }},
	}
}

// optionalIfLong: `--requeue=1` is refused by getopt, as in the releases before
// --requeue=expedite; that form is refused too for as long as it does nothing.
const optionalIfLong = getopt.None

// amountTable: how much of what.
func amountTable() []Entry {
	return []Entry{
		{Long: "batch", Arg: needed, In: Sbatch, Env: "SBATCH_BATCH", Meta: "features",
			Help: "features that the batch script's node must have", Status: NotYet},
		{Long: "constraint", Short: 'C', Arg: needed, In: All, Env: every("CONSTRAINT"), Meta: "features",
			Help: "features that nodes must have: a&b, a|b", Set: text(func(s *spec) *string { return &s.Constraint })},
		{Long: "contiguous", In: All, Help: "use neighbouring nodes only", Set: flag(func(s *spec) *bool { return &s.Contiguous })},
		{Long: "core-spec", Short: 'S', Arg: needed, In: All, Env: every("CORE_SPEC"), Meta: "cores",
			Help: "cores of each node to leave to the system", Set: specialized(false)},
		{Long: "thread-spec", Arg: needed, In: All, Env: every("THREAD_SPEC"), Meta: "threads",
			Help: "threads of each node to leave to the system", Set: specialized(true)},
		{Long: "cores-per-socket", Arg: needed, In: All, Meta: "n",
			Help: "nodes with at least this many cores a socket", Set: positive(func(s *spec) *uint32 { return &s.CoresPerSocket })},
		{Long: "sockets-per-node", Arg: needed, In: All, Meta: "n",
			Help: "nodes with at least this many sockets", Set: positive(func(s *spec) *uint32 { return &s.SocketsPerNode })},
		{Long: "threads-per-core", Arg: needed, In: All, Env: every("THREADS_PER_CORE"), Meta: "n",
			Help: "use this many threads of each core", Set: positive(func(s *spec) *uint32 { return &s.ThreadsPerCore })},
		{Long: "extra-node-info", Short: 'B', Arg: needed, In: All, Meta: "s[:c[:t]]",
			Help: "sockets, cores, threads in one", Set: nodeInfo},
		{Long: "cpus-per-gpu", Arg: needed, In: All, Env: every("CPUS_PER_GPU"), Meta: "n",
			Help: "CPUs for each GPU", Set: positive(func(s *spec) *uint32 { return &s.CpusPerGpu })},
		{Long: "cpus-per-task", Short: 'c', Arg: needed, In: All, Env: "SLURM_CPUS_PER_TASK SRUN_CPUS_PER_TASK", Meta: "n",
			Help: "CPUs for each task", Set: positive(func(s *spec) *uint32 { return &s.CpusPerTask })},
		{Long: "delay-boot", Arg: needed, In: All, Env: every("DELAY_BOOT"), Meta: "time", Status: Accepted,
			Help: "wait this long before nodes are booted for features", Set: delayBoot},
		{Long: "exclude", Short: 'x', Arg: needed, In: All, Meta: "nodes",
			Help: "nodes not to use", Set: nodeNames(func(s *spec) *string { return &s.Exclude })},
		{Long: "exclusive", Arg: optional, In: All, Env: every("EXCLUSIVE"), Meta: "user|mcs",
			Help: "whole nodes; srun: CPUs that no other step uses", Set: exclusive},
		{Long: "gpus", Short: 'G', Arg: needed, In: All, Env: every("GPUS"), Meta: "[type:]n",
			Help: "GPUs for the whole job", Set: gpus},
		{Long: "gpus-per-node", Arg: needed, In: All, Env: every("GPUS_PER_NODE"), Meta: "[type:]n",
			Help: "GPUs on each node", Set: gpus},
		{Long: "gpus-per-socket", Arg: needed, In: All, Meta: "[type:]n",
			Help: "GPUs on each socket", Set: gpus},
		{Long: "gpus-per-task", Arg: needed, In: All, Env: every("GPUS_PER_TASK"), Meta: "[type:]n",
			Help: "GPUs for each task", Set: gpus},
		{Long: "gres", Arg: needed, In: All, Env: "SBATCH_GRES SALLOC_GRES SLURM_GRES SLURM_STEP_GRES", Meta: "name[:type][:n]",
			Help: "generic resources on each node", Set: gres},
		{Long: "gres-flags", Arg: needed, In: All, Env: every("GRES_FLAGS"), Meta: "flags",
			Help: "how generic resources are bound", Set: gresFlags},
		{Long: "mem", Arg: needed, In: All, Env: every("MEM_PER_NODE"), Meta: "MB",
			Help: "memory of each node", Set: memory(wire.MemKind_MEM_PER_NODE)},
		{Long: "mem-per-cpu", Arg: needed, In: All, Env: every("MEM_PER_CPU"), Meta: "MB",
			Help: "memory for each CPU", Set: memory(wire.MemKind_MEM_PER_CPU)},
		{Long: "mem-per-gpu", Arg: needed, In: All, Env: every("MEM_PER_GPU"), Meta: "MB",
			Help: "memory for each GPU", Set: memory(wire.MemKind_MEM_PER_GPU)},
		{Long: "mincpus", Arg: needed, In: All, Meta: "n",
			Help: "least number of CPUs on each node", Set: positive(func(s *spec) *uint32 { return &s.MinCpus })},
		{Long: "nodefile", Short: 'F', Arg: needed, In: All, Meta: "file",
			Help: "read the nodes to use from a file", Set: nodefile},
		{Long: "nodelist", Short: 'w', Arg: needed, In: All, Meta: "nodes",
			Help: "nodes that must be among those used", Set: nodeNames(func(s *spec) *string { return &s.Nodelist })},
		{Long: "nodes", Short: 'N', Arg: needed, In: All, Env: "SLURM_JOB_NUM_NODES SLURM_NNODES", Meta: "min[-max]",
			Help: "number of nodes", Set: nodeCount},
		{Long: "ntasks", Short: 'n', Arg: needed, In: All, Env: "SLURM_NPROCS SLURM_NTASKS", Meta: "n",
			Help: "number of tasks", Set: positive(func(s *spec) *uint32 { return &s.NumTasks })},
		{Long: "ntasks-per-core", Arg: needed, In: All, Env: "SLURM_NTASKS_PER_CORE", Meta: "n",
			Help: "most tasks on each core", Set: positive(func(s *spec) *uint32 { return &s.NtasksPerCore })},
		{Long: "ntasks-per-gpu", Arg: needed, In: All, Env: "SLURM_NTASKS_PER_GPU", Meta: "n",
			Help: "tasks for each GPU", Set: positive(func(s *spec) *uint32 { return &s.NtasksPerGpu })},
		{Long: "ntasks-per-node", Arg: needed, In: All, Env: "SLURM_NTASKS_PER_NODE", Meta: "n",
			Help: "tasks on each node", Set: positive(func(s *spec) *uint32 { return &s.NtasksPerNode })},
		{Long: "ntasks-per-socket", Arg: needed, In: All, Env: "SLURM_NTASKS_PER_SOCKET", Meta: "n",
			Help: "most tasks on each socket", Set: positive(func(s *spec) *uint32 { return &s.NtasksPerSocket })},
		{Long: "ntasks-per-tres", Arg: needed, In: All, Set: positive(func(s *spec) *uint32 { return &s.NtasksPerGpu })},
		{Long: "tasks-per-node", Arg: needed, In: All, Set: positive(func(s *spec) *uint32 { return &s.NtasksPerNode })},
		{Long: "overcommit", Short: 'O', In: All, Env: every("OVERCOMMIT"),
			Help: "more than one task on a CPU", Set: flag(func(s *spec) *bool { return &s.Overcommit })},
		{Long: "oversubscribe", Short: 's', In: All,
			Help: "share the resources with other jobs", Set: oversubscribe},
		{Long: "share", In: All, Set: oversubscribe},
		{Long: "prefer", Arg: needed, In: All, Meta: "features", Help: "features that nodes should have", Status: NotYet},
		{Long: "spread-job", In: All, Env: every("SPREAD_JOB"), Help: "use as many nodes as possible", Set: flag(func(s *spec) *bool { return &s.SpreadJob })},
		{Long: "switches", Arg: needed, In: All, Env: every("REQ_SWITCH"), Meta: "n[@time]", Status: Accepted,
			Help: "most leaf switches (no topology is in use)", Set: switches},
		{Long: "tmp", Arg: needed, In: All, Meta: "MB", Help: "least temporary disk of each node", Set: tmpDisk},
		{Long: "tres-per-task", Arg: needed, In: All, Env: every("TRES_PER_TASK"), Meta: "list",
			Help: "CPUs and generic resources for each task", Set: tresPerTask},
		{Long: "use-min-nodes", In: All, Env: every("USE_MIN_NODES"), Help: "rather fewer nodes", Set: flag(func(s *spec) *bool { return &s.UseMinNodes })},
	}
}
