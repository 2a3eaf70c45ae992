package queue

// field is a column that can be asked for by its letter, its name, or both.
type field struct {
	letter byte
	name   string // of -O, in lower case
	header string
	cell   func([]byte, *Row) []byte
	spec   []uint32 // what it needs of JobSpec: field numbers
	state  []uint32 // of JobState
}

// fields lists all columns of jobs. Only the static initialiser of an array runs
// at program start.
var fields = [...]field{
	{'a', "account", "ACCOUNT", cellAccount, []uint32{specAccount}, nil},
	{'A', "jobid", "JOBID", cellOwnID, nil, nil},
	{'b', "tres-per-node", "TRES_PER_NODE", cellTresPerNode, []uint32{specTresPerNode}, nil},
	{'B', "batchhost", "EXEC_HOST", cellBatchHost, []uint32{specBatch, specSubmitHost}, []uint32{stateBatchHost}},
	{'c', "mincpus", "MIN_CPUS", cellMinCPUs, []uint32{specMinCPUs, specCPUsPerTask, specNtasksPerNode}, nil},
	{'C', "numcpus", "CPUS", cellCPUs, nil, []uint32{stateNumCPUs}},
	{'d', "mintmpdisk", "MIN_TMP_DISK", cellTmp, []uint32{specTmpDisk}, nil},
	{'D', "numnodes", "NODES", cellNodes, nil, []uint32{stateNumNodes}},
	{'e', "endtime", "END_TIME", cellEnd, []uint32{specBegin}, []uint32{stateEnd, stateTimeLimit}},
	{'E', "dependency", "DEPENDENCY", cellDependency, nil, []uint32{stateDependency}},
	{'f', "feature", "FEATURES", cellFeatures, []uint32{specConstraint}, nil},
	{'F', "arrayjobid", "ARRAY_JOB_ID", cellArrayID, nil, nil},
	{'g', "groupname", "GROUP", cellGroup, []uint32{specGID, specGroupName}, nil},
	{'G', "groupid", "GROUP", cellGID, []uint32{specGID}, nil},
	{'h', "oversubscribe", "OVER_SUBSCRIBE", cellShare, []uint32{specExclusive, specOversubscribe}, nil},
	{'H', "sockets", "SOCKETS_PER_NODE", cellSockets, []uint32{specSocketsPerNode}, nil},
	{'i', "jobarrayid", "JOBID", cellJobID, nil, nil},
	{'I', "cores", "CORES_PER_SOCKET", cellCores, []uint32{specCoresPerSocket}, nil},
	{'j', "name", "NAME", cellName, []uint32{specName}, nil},
	{'J', "threads", "THREADS_PER_CORE", cellThreads, []uint32{specThreadsPerCore}, nil},
	{'k', "comment", "COMMENT", cellComment, []uint32{specComment, specCommentSet}, nil},
	{'K', "arraytaskid", "ARRAY_TASK_ID", cellTaskID, nil, nil},
	{'l', "timelimit", "TIME_LIMIT", cellLimit, nil, []uint32{stateTimeLimit}},
	{'L', "timeleft", "TIME_LEFT", cellLeft, nil, usedFieldsAndLimit},
	{'m', "minmemory", "MIN_MEMORY", cellMemory, []uint32{specMemKind, specMem}, nil},
	{'M', "timeused", "TIME", cellUsed, nil, usedFields},
	{'n', "reqnodes", "REQ_NODES", cellReqNodes, []uint32{specNodelist}, nil},
	{'N', "nodelist", "NODELIST", cellNodeList, nil, []uint32{stateAlloc}},
	{'o', "command", "COMMAND", cellCommand, []uint32{specCommand, specArgv}, nil},
	{'O', "contiguous", "CONTIGUOUS", cellContiguous, []uint32{specContiguous}, nil},
	{'p', "priority", "PRIORITY", cellPriorityShare, nil, nil},
	{'P', "partition", "PARTITION", cellPartition, nil, nil},
	{'q', "qos", "QOS", cellQOS, []uint32{specQOS}, nil},
	{'Q', "prioritylong", "PRIORITY", cellPriority, nil, nil},
	{'r', "reason", "REASON", cellReason, nil, reasonFields},
	{'R', "reasonlist", "NODELIST(REASON)", cellNodesOrReason, nil, []uint32{stateAlloc, stateReason, stateReasonText}},
	{'s', "sluid", "SLUID", cellSluid, nil, []uint32{stateSluid}},
	{'S', "starttime", "START_TIME", cellStart, []uint32{specBegin}, nil},
	{'t', "statecompact", "ST", cellStateShort, nil, nil},
	{'T', "state", "STATE", cellState, nil, nil},
	{'u', "username", "USER", cellUser, []uint32{specUID, specUserName}, nil},
	{'U', "userid", "UID", cellUID, []uint32{specUID}, nil},
	{'v', "reservation", "RESERVATION", cellReservation, []uint32{specReservation}, nil},
	{'V', "submittime", "SUBMIT_TIME", cellSubmit, nil, []uint32{stateSubmit}},
	{'w', "wckey", "WCKEY", cellWCKey, []uint32{specWCKey}, nil},
	{'W', "licenses", "LICENSES", cellLicenses, []uint32{specLicenses}, nil},
	{'x', "excnodes", "EXC_NODES", cellExcNodes, []uint32{specExclude}, nil},
	{'X', "corespec", "CORE_SPEC", cellCoreSpec, []uint32{specCoreSpec, specThreadSpec}, nil},
	{'y', "nice", "NICE", cellNice, []uint32{specNice}, nil},
	{'Y', "schednodes", "SCHEDNODES", cellSchedNodes, nil, nil},
	{'z', "sct", "S:C:T", cellSCT, []uint32{specSocketsPerNode, specCoresPerSocket, specThreadsPerCore}, nil},
	{'Z', "workdir", "WORK_DIR", cellWorkDir, []uint32{specWorkDir}, nil},

	{0, "accruetime", "ACCRUE_TIME", cellAccrue, []uint32{specBegin}, eligibleFields},
	{0, "admin_comment", "ADMIN_COMMENT", cellAdminComment, []uint32{specAdminComment}, nil},
	{0, "allocnodes", "ALLOC_NODES", cellSubmitHost, []uint32{specSubmitHost}, nil},
	{0, "allocsid", "ALLOC_SID", cellSID, []uint32{specAllocSID}, nil},
	{0, "associd", "ASSOC_ID", cellZero, nil, nil},
	{0, "batchflag", "BATCH_FLAG", cellBatchFlag, []uint32{specBatch}, nil},
	{0, "boardspernode", "BOARDS_PER_NODE", cellZero, nil, nil},
	{0, "burstbuffer", "BURST_BUFFER", cellNull, nil, nil},
	{0, "burstbufferstate", "BURST_BUFFER_STATE", cellNull, nil, nil},
	{0, "cluster", "CLUSTER", cellCluster, nil, nil},
	{0, "clusterfeature", "CLUSTER_FEATURES", cellNull, nil, nil},
	{0, "container", "CONTAINER", cellContainer, []uint32{specContainer}, nil},
	{0, "containerid", "CONTAINER_ID", cellNull, nil, nil},
	{0, "containertype", "CONTAINER_TYPE", cellNull, nil, nil},
	{0, "cpus-per-task", "CPUS_PER_TASK", cellCPUsPerTask, []uint32{specCPUsPerTask}, nil},
	{0, "cpus-per-tres", "CPUS_PER_TRES", cellCPUsPerTres, []uint32{specCPUsPerGPU}, nil},
	{0, "cronjob", "CRON_JOB", cellCron, nil, nil},
	{0, "deadline", "DEADLINE", cellDeadline, []uint32{specDeadline}, nil},
	{0, "delayboot", "DELAY_BOOT", cellDelayBoot, []uint32{specDelayBoot}, nil},
	{0, "derivedec", "DERIVED_EC", cellDerived, nil, []uint32{stateDerivedExit}},
	{0, "eligibletime", "ELIGIBLE_TIME", cellEligible, []uint32{specBegin}, eligibleFields},
	{0, "exclusive", "EXCLUSIVE", cellExclusive, []uint32{specExclusive}, nil},
	{0, "exit_code", "EXIT_CODE", cellExit, nil, []uint32{stateExitStatus}},
	{0, "hetjobid", "HET_JOB_ID", cellNSlashA, nil, nil},
	{0, "hetjobidset", "HET_JOB_ID_SET", cellNSlashA, nil, nil},
	{0, "hetjoboffset", "HET_JOB_OFFSET", cellNSlashA, nil, nil},
	{0, "lastschedeval", "LAST_SCHED_EVAL", cellLastSched, nil, []uint32{stateLastSchedEval}},
	{0, "licensesalloc", "LICENSES_ALLOC", cellLicensesAlloc, []uint32{specLicenses}, nil},
	{0, "maxcpus", "MAX_CPUS", cellMaxCPUs, nil, []uint32{stateNumCPUs}},
	{0, "maxnodes", "MAX_NODES", cellMaxNodes, []uint32{specMaxNodes}, []uint32{stateNumNodes}},
	{0, "mcslabel", "MCSLABEL", cellMCS, []uint32{specMCSLabel}, nil},
	{0, "mem-per-tres", "MEM_PER_TRES", cellMemPerTres, []uint32{specMemKind, specMem}, nil},
	{0, "mintime", "TIME_MIN", cellTimeMin, []uint32{specTimeMin}, nil},
	{0, "network", "NETWORK", cellNetwork, []uint32{specNetwork}, nil},
	{0, "ntperboard", "NTASKS_PER_BOARD", cellZero, nil, nil},
	{0, "ntpercore", "NTASKS_PER_CORE", cellPerCore, []uint32{specNtasksPerCore}, nil},
	{0, "ntpernode", "NTASKS_PER_NODE", cellPerNode, []uint32{specNtasksPerNode}, nil},
	{0, "ntpersocket", "NTASKS_PER_SOCKET", cellPerSocket, []uint32{specNtasksPerSocket}, nil},
	{0, "numtasks", "TASKS", cellTasks, []uint32{specNumTasks, specNtasksPerNode, specMinNodes}, nil},
	{0, "origin", "ORIGIN", cellNA, nil, nil},
	{0, "originraw", "ORIGIN_RAW", cellNA, nil, nil},
	{0, "pendingtime", "PENDING_TIME", cellPendingTime, nil, []uint32{stateSubmit}},
	{0, "preempttime", "PREEMPT_TIME", cellNSlashA, nil, nil},
	{0, "prefer", "PREFER", cellPrefer, []uint32{specPrefer}, nil},
	{0, "profile", "PROFILE", cellProfile, []uint32{specProfile}, nil},
	{0, "reboot", "REBOOT", cellReboot, []uint32{specReboot}, nil},
	{0, "reqswitch", "REQ_SWITCH", cellSwitches, []uint32{specSwitches}, nil},
	{0, "requeue", "REQUEUE", cellRequeue, []uint32{specRequeue, specRequeueSet}, nil},
	{0, "resizetime", "RESIZE_TIME", cellResize, nil, []uint32{stateLastResize}},
	{0, "restartcnt", "RESTART_COUNT", cellRestarts, nil, []uint32{stateRestarts}},
	{0, "runtime", "RUNTIME", cellNull, nil, nil},
	{0, "siblingsactive", "ACTIVE_SIBLINGS", cellNA, nil, nil},
	{0, "siblingsactiveraw", "ACTIVE_SIBLINGS_RAW", cellNA, nil, nil},
	{0, "siblingsviable", "VIABLE_SIBLINGS", cellNA, nil, nil},
	{0, "siblingsviableraw", "VIALBLE_SIBLINGS_RAW", cellNA, nil, nil}, // Slurm's spelling
	{0, "segmentsize", "SEGMENT_SIZE", cellZero, nil, nil},
	{0, "sperboard", "SOCKETS_PER_BOARD", cellZero, nil, nil},
	{0, "stderr", "STDERR", cellStdErr, pathFields, pathFieldsState},
	{0, "stdin", "STDIN", cellStdIn, pathFields, pathFieldsState},
	{0, "stdout", "STDOUT", cellStdOut, pathFields, pathFieldsState},
	{0, "system_comment", "SYSTEM_COMMENT", cellSystemComment, []uint32{specSystemComment}, nil},
	{0, "tres-alloc", "TRES_ALLOC", cellTres, nil, []uint32{stateTresAlloc, stateTresReq}},
	{0, "tres-bind", "TRES_BIND", cellTresBind, []uint32{specTresBind}, nil},
	{0, "tres-freq", "TRES_FREQ", cellNSlashA, nil, nil},
	{0, "tres-per-job", "TRES_PER_JOB", cellTresPerJob, []uint32{specTresPerJob}, nil},
	{0, "tres-per-socket", "TRES_PER_SOCKET", cellTresPerSocket, []uint32{specTresPerSocket}, nil},
	{0, "tres-per-task", "TRES_PER_TASK", cellTresPerTask, []uint32{specTresPerTask}, nil},
	{0, "wait4switch", "WAIT4SWITCH", cellWaitSwitch, []uint32{specSwitchesWait}, nil},
}

var (
	reasonFields       = []uint32{stateReason, stateReasonText}
	usedFields         = []uint32{stateEnd, stateSuspendedAt, stateSuspendedSecs}
	usedFieldsAndLimit = []uint32{stateEnd, stateSuspendedAt, stateSuspendedSecs, stateTimeLimit}
	eligibleFields     = []uint32{stateEligible, stateAccrue, stateReason, stateDependency, stateArrayTaskCount}
	stepFieldsSpec     = []uint32{specBatch}
	stepFieldsState    = []uint32{stateAlloc, stateBatchHost, stateBatchStart, stateBatchEnded}
	pathFields         = []uint32{specWorkDir, specStdIn, specStdOut, specStdErr, specName, specUserName}
	pathFieldsState    = []uint32{stateBatchHost, stateAlloc}
)

// Always needed: to name a job, to order jobs, and to say what state it is in.
var (
	baseSpec  = []uint32{specPartition}
	baseState = []uint32{
		stateJobID, stateArrayJobID, stateIsArrayTask, stateArrayTaskID, stateArrayPending, stateArrayThrottle,
		stateState, stateFlags, stateStart, statePriority, statePartition,
	}
)

func byLetter(c byte) *field {
	for i := range fields {
		if fields[i].letter == c && c != 0 {
			return &fields[i]
		}
	}
	return nil
}

func byName(name string) *field {
	for i := range fields {
		if equalFold(fields[i].name, name) {
			return &fields[i]
		}
	}
	return nil
}

// equalFold compares a lower-case name with a word in any case.
func equalFold(lower, word string) bool {
	if len(lower) != len(word) {
		return false
	}
	for i := range len(word) {
		c := word[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
