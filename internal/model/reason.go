package model

// Reasons are the codes with which this program explains a pending or ended
// job. Limits of accounts and QOS have more, which are named where they are decided.
const (
	ReasonNone                = "None"
	ReasonPriority            = "Priority"
	ReasonResources           = "Resources"
	ReasonDependency          = "Dependency"
	ReasonDependencyNever     = "DependencyNeverSatisfied"
	ReasonBeginTime           = "BeginTime"
	ReasonHeldUser            = "JobHeldUser"
	ReasonHeldAdmin           = "JobHeldAdmin"
	ReasonReqNodeNotAvail     = "ReqNodeNotAvail"
	ReasonReservation         = "Reservation"
	ReasonLicenses            = "Licenses"
	ReasonArrayTaskLimit      = "JobArrayTaskLimit"
	ReasonPartitionTimeLimit  = "PartitionTimeLimit"
	ReasonPartitionNodeLimit  = "PartitionNodeLimit"
	ReasonPartitionDown       = "PartitionDown"
	ReasonPartitionInactive   = "PartitionInactive"
	ReasonPartitionConfig     = "PartitionConfig"
	ReasonBadConstraints      = "BadConstraints"
	ReasonNodeDown            = "NodeDown"
	ReasonNonZeroExitCode     = "NonZeroExitCode"
	ReasonHoldMaxRequeue      = "JobHoldMaxRequeue"
	ReasonProlog              = "Prolog"
	ReasonTimeLimit           = "TimeLimit"
	ReasonLaunchFailure       = "JobLaunchFailure"
	ReasonOutOfMemory         = "OutOfMemory"
	ReasonSystemFailure       = "SystemFailure"
	ReasonDeadLine            = "DeadLine"
	ReasonCleaning            = "Cleaning"
	ReasonInactiveLimit       = "InactiveLimit"
	ReasonInvalidAccount      = "InvalidAccount"
	ReasonInvalidQOS          = "InvalidQOS"
	ReasonLaunchFailedRequeue = "launch failed requeued held"
	ReasonRequeuedHeld        = "job requeued in held state"
	ReasonSchedDefer          = "SchedDefer"

	// ReasonNodesUnavailable is the one reason that Slurm writes as a sentence:
	// nodes enough exist, but not in a state to be used.
	ReasonNodesUnavailable = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
)
