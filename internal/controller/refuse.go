package controller

import "muster/internal/wire"

// Refusals in Slurm's words. The numbers are Slurm's where programs can see them.
var (
	errPartition      = refusal(2000, "Invalid partition name specified")
	errNoPartition    = refusal(2001, "No partition specified or system default partition")
	errDenied         = refusal(2002, "Access/permission denied")
	errUser           = refusal(2010, "Invalid user id")
	errHeld           = refusal(2074, "Job is in held state, pending scheduler release")
	errNotHere        = refusal(2059, "Requested operation not supported on this system")
	errGroup          = refusal(2003, "User's group not permitted to use this partition")
	errNotInPartition = refusal(2004, "Requested nodes not in this partition")
	errNodeCount      = refusal(2006, "Node count specification invalid")
	errNodeConfig     = refusal(2014, "Requested node configuration is not available")
	// The same for memory, which is said beside it.
	errMemory = refusal(2014, "Requested node configuration is not available")
	// The same for CPUs that the memory costs.
	errCPUs          = refusal(2014, "Requested node configuration is not available")
	errPartConfig    = refusal(2015, "Requested partition configuration not available now")
	errQOS           = refusal(2066, "Invalid qos specification")
	errNodesBusy     = refusal(2016, "Requested nodes are busy")
	errJobID         = refusal(2017, "Invalid job id specified")
	errNodeName      = refusal(2018, "Invalid node name specified")
	errTransition    = refusal(2020, "Job can not be altered now, try again later")
	errDone          = refusal(2021, "Job/step already completing or completed")
	errFinished      = refusal(2021, "Job has already finished")
	errNotRunning    = refusal(2023, "Job is not running")
	errPending       = refusal(2024, "Job is pending execution")
	errNodeState     = refusal(2028, "Invalid node state specified")
	errFeature       = refusal(2029, "Invalid feature specification")
	errPartitionAway = refusal(2035, "Required partition not available (inactive or drain)")
	errDisabled      = refusal(2036, "Requested operation is presently disabled")
	errDependency    = refusal(2037, "Job dependency problem")
	errAccount       = refusal(2045, "Invalid account or account/partition combination specified")
	errTimeLimit     = refusal(2051, "Requested time limit is invalid (missing or exceeds some limit)")
	errTimeMin       = refusal(2052, "Invalid time-min specification (exceeds job's time or other limits)")
	errNotPending    = refusal(2068, "Job is no longer pending execution")
	errGres          = refusal(2072, "Invalid generic resource (gres) specification")
	errArray         = refusal(2079, "Invalid job array specification")
	errAcctgFreq     = refusal(4003, "Invalid accounting frequency requested")
	errFull          = refusal(11, "Resource temporarily unavailable")
	errParameter     = refusal(2118, "Invalid parameter")
	errNotSuspended  = refusal(2096, "Job is not suspended")
	errReservation   = refusal(2047, "Requested reservation is invalid")
	errLicense       = refusal(2048, "Invalid license specification")
	errNice          = refusal(2127, "Invalid --nice value")
	errRequeueHere   = refusal(2036, "Requested operation is presently disabled")
)

func refusal(code uint32, text string) *wire.Refusal {
	return &wire.Refusal{Code: code, Message: text}
}
