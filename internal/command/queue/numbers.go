package queue

// Field numbers of the messages, for the masks of a request; a test compares
// them with the messages themselves.

const (
	specName            = 1
	specUID             = 2
	specGID             = 3
	specUserName        = 4
	specGroupName       = 5
	specAccount         = 7
	specPartition       = 8
	specQOS             = 9
	specWCKey           = 10
	specReservation     = 11
	specComment         = 12
	specAdminComment    = 13
	specSystemComment   = 14
	specSubmitHost      = 17
	specAllocSID        = 18
	specBatch           = 19
	specMinNodes        = 20
	specMaxNodes        = 21
	specNumTasks        = 22
	specCPUsPerTask     = 23
	specNtasksPerNode   = 24
	specNtasksPerSocket = 25
	specNtasksPerCore   = 26
	specSocketsPerNode  = 28
	specCoresPerSocket  = 29
	specThreadsPerCore  = 30
	specMinCPUs         = 31
	specMemKind         = 32
	specMem             = 33
	specTmpDisk         = 34
	specCPUsPerGPU      = 39
	specExclusive       = 40
	specOversubscribe   = 41
	specCoreSpec        = 43
	specConstraint      = 44
	specPrefer          = 45
	specNodelist        = 46
	specExclude         = 47
	specContiguous      = 48
	specLicenses        = 51
	specTimeMin         = 53
	specBegin           = 55
	specDeadline        = 56
	specNice            = 61
	specRequeue         = 64
	specReboot          = 65
	specWorkDir         = 68
	specStdIn           = 69
	specStdOut          = 70
	specStdErr          = 71
	specCommand         = 74
	specArgv            = 75
	specNetwork         = 91
	specProfile         = 95
	specSwitches        = 96
	specSwitchesWait    = 97
	specDelayBoot       = 98
	specTresBind        = 102
	specMCSLabel        = 105
	specContainer       = 107
	specTresPerJob      = 109
	specTresPerNode     = 110
	specTresPerTask     = 111
	specTresPerSocket   = 112
	specThreadSpec      = 117
)

const (
	stateJobID         = 2
	stateArrayJobID    = 3
	stateIsArrayTask   = 4
	stateArrayTaskID   = 5
	stateArrayPending  = 6
	stateArrayThrottle = 7
	stateState         = 12
	stateFlags         = 13
	stateRestarts      = 15
	stateSubmit        = 16
	stateEligible      = 17
	stateAccrue        = 18
	stateStart         = 19
	stateEnd           = 20
	stateSuspendedAt   = 21
	stateSuspendedSecs = 22
	stateTimeLimit     = 23
	statePriority      = 24
	stateReason        = 27
	stateReasonText    = 28
	stateExitStatus    = 29
	stateDerivedExit   = 30
	statePartition     = 33
	stateAlloc         = 34
	stateBatchHost     = 35
	stateDependency    = 36
	stateLastResize    = 40
	stateSluid         = 48
	stateNumCPUs       = 49
	stateNumNodes      = 50
	stateTresReq       = 51
	stateTresAlloc     = 52
	stateLastSchedEval = 59
)
