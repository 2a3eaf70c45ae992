package accounting

import (
	"strings"

	"muster/internal/model"
)

// field is a column of sacct.
type field struct {
	name  string // as the header and --helpformat spell it
	width int
	left  bool
	cell  func([]byte, *Row) []byte
}

// cellComment is kept when the job has ended.
func cellComment(b []byte, r *Row) []byte {
	if !model.Ended(r.State.State) {
		return b
	}
	return append(b, r.Spec.Comment...)
}

func cellQOSRaw(b []byte, _ *Row) []byte { return append(b, '1') } // that of normal

// fields lists all columns in the order of --helpformat.
func fields() []field {
	return []field{
		{"Account", 10, false, cellAccount},
		{"AdminComment", 15, false, ofJob(func(b []byte, r *Row) []byte { return append(b, r.Spec.AdminComment...) })},
		{"AllocCPUS", 10, false, cellAllocCPUs},
		{"AllocNodes", 10, false, cellAllocNodes},
		{"AllocTRES", 10, false, cellAllocTRES},
		{"AssocID", 7, false, cellZero},
		{"AveCPU", 10, false, cpuOf(aveCPU)},
		{"AveCPUFreq", 10, false, cellAveFreq},
		{"AveDiskRead", 14, false, diskOf(maxRead)},
		{"AveDiskWrite", 14, false, diskOf(maxWrite)},
		{"AvePages", 10, false, countOf(maxPages)},
		{"AveRSS", 10, false, bytesOf(aveRSS)},
		{"AveVMSize", 10, false, bytesOf(aveVM)},
		{"BlockID", 16, false, cellEmpty},
		{"Cluster", 10, false, cellCluster},
		{"Comment", 14, false, ofJob(cellComment)},
		{"Constraints", 19, false, ofJob(func(b []byte, r *Row) []byte { return append(b, r.Spec.Constraint...) })},
		{"ConsumedEnergy", 14, false, cellEnergy},
		{"ConsumedEnergyRaw", 17, false, cellEnergy},
		{"Container", 19, false, ofJob(func(b []byte, r *Row) []byte { return append(b, r.Spec.Container...) })},
		{"CPUTime", 10, false, cellCPUTime},
		{"CPUTimeRAW", 10, false, cellCPUTimeRaw},
		{"DBIndex", 10, true, cellDBIndex},
		{"DerivedExitCode", 15, false, ofJob(cellDerivedExit)},
		{"Elapsed", 10, false, cellElapsed},
		{"ElapsedRaw", 10, false, cellElapsedRaw},
		{"Eligible", 19, false, cellEligible},
		{"End", 19, false, cellEnd},
		{"Exclusive", 9, false, ofJob(cellExclusive)},
		{"ExitCode", 8, false, cellExitCode},
		{"Extra", 19, false, ofJob(func(b []byte, r *Row) []byte { return append(b, r.Spec.Extra...) })},
		{"FailedNode", 15, false, ofJob(func(b []byte, r *Row) []byte { return append(b, r.State.FailedNode...) })},
		{"Flags", 19, false, ofJob(cellFlags)},
		{"GID", 6, false, ofJob(cellGID)},
		{"Group", 9, false, ofJob(cellGroup)},
		{"JobID", 12, true, cellJobID},
		{"JobIDRaw", 12, true, cellJobIDRaw},
		{"JobName", 10, false, cellJobName},
		{"Layout", 9, false, cellLayout},
		{"Licenses", 20, false, ofJob(func(b []byte, r *Row) []byte { return append(b, r.Spec.Licenses...) })},
		{"MaxDiskRead", 12, false, diskOf(maxRead)},
		{"MaxDiskReadNode", 15, false, measured(maxNode)},
		{"MaxDiskReadTask", 15, false, measured(maxTask)},
		{"MaxDiskWrite", 12, false, diskOf(maxWrite)},
		{"MaxDiskWriteNode", 16, false, measured(maxNode)},
		{"MaxDiskWriteTask", 16, false, measured(maxTask)},
		{"MaxPages", 8, false, countOf(maxPages)},
		{"MaxPagesNode", 12, false, measured(maxNode)},
		{"MaxPagesTask", 14, false, measured(maxTask)},
		{"MaxRSS", 10, false, bytesOf(maxRSS)},
		{"MaxRSSNode", 10, false, measured(maxNode)},
		{"MaxRSSTask", 10, false, measured(maxTask)},
		{"MaxVMSize", 10, false, bytesOf(maxVM)},
		{"MaxVMSizeNode", 14, false, measured(maxNode)},
		{"MaxVMSizeTask", 14, false, measured(maxTask)},
		{"McsLabel", 12, false, ofJob(func(b []byte, r *Row) []byte { return append(b, r.Spec.McsLabel...) })},
		{"MinCPU", 10, false, cpuOf(minCPU)},
		{"MinCPUNode", 10, false, measured(minNode)},
		{"MinCPUTask", 10, false, measured(minTask)},
		{"NCPUS", 10, false, cellAllocCPUs},
		{"NNodes", 8, false, cellNNodes},
		{"NodeList", 15, false, cellNodeList},
		{"NTasks", 8, false, cellNTasks},
		{"OriginalSLUID", 20, false, ofJob(cellSluid)},
		{"OverSubscribe", 13, false, ofJob(cellOverSubscribe)},
		{"Partition", 10, false, ofJob(cellPartition)},
		{"Planned", 10, false, ofJob(cellPlanned)},
		{"PlannedCPU", 10, false, ofJob(cellPlannedCPU)},
		{"PlannedCPURAW", 13, false, ofJob(cellPlannedCPURaw)},
		{"Priority", 10, false, ofJob(cellPriority)},
		{"QOS", 10, false, ofSpec(qos)},
		{"QOSRAW", 6, false, ofJob(cellQOSRaw)},
		{"QOSREQ", 10, false, ofSpec(qos)},
		{"Reason", 22, false, ofJob(cellReason)},
		{"ReqCPUFreq", 10, false, cellFreq},
		{"ReqCPUFreqGov", 13, false, cellFreq},
		{"ReqCPUFreqMax", 13, false, cellFreq},
		{"ReqCPUFreqMin", 13, false, cellFreq},
		{"ReqCPUS", 8, false, reqTRES("cpu")},
		{"ReqMem", 10, false, reqMem},
		{"ReqNodes", 8, false, reqTRES("node")},
		{"ReqReservation", 20, false, ofSpec(reservation)},
		{"ReqTRES", 10, false, ofJob(cellReqTRES)},
		{"Reservation", 20, false, ofSpec(reservation)},
		{"ReservationId", 8, false, cellEmpty},
		{"Restarts", 8, false, ofJob(cellRestarts)},
		{"SegmentSize", 11, false, cellEmpty},
		{"SLUID", 20, false, ofJob(cellSluid)},
		{"Start", 19, false, cellStart},
		{"State", 10, false, cellState},
		{"StdErr", 20, false, ofJob(cellStdErr)},
		{"StdIn", 20, false, ofJob(cellStdIn)},
		{"StdOut", 20, false, ofJob(cellStdOut)},
		{"Submit", 19, false, cellSubmit},
		{"SubmitLine", 20, false, cellSubmitLine},
		{"Suspended", 10, false, cellSuspended},
		{"SystemComment", 15, false, ofJob(func(b []byte, r *Row) []byte { return append(b, r.Spec.SystemComment...) })},
		{"SystemCPU", 10, false, cpuCell(systemTime)},
		{"Timelimit", 10, false, ofJob(cellTimeLimit)},
		{"TimelimitRaw", 10, false, ofJob(cellTimeLimitRaw)},
		{"TotalCPU", 10, false, cpuCell(totalTime)},
		{"TRESUsageInAve", 14, false, usageIn(aveCPU, aveRSS, aveVM, maxPages, maxRead)},
		{"TRESUsageInMax", 14, false, usageIn(aveCPU, maxRSS, maxVM, maxPages, maxRead)},
		{"TRESUsageInMaxNode", 18, false, usageNodes(true)},
		{"TRESUsageInMaxTask", 18, false, usageTasks(true)},
		{"TRESUsageInMin", 14, false, usageIn(minCPU, aveRSS, aveVM, maxPages, maxRead)},
		{"TRESUsageInMinNode", 18, false, usageNodes(true)},
		{"TRESUsageInMinTask", 18, false, usageTasks(true)},
		{"TRESUsageInTot", 14, false, usageIn(totCPU, totRSS, totVM, maxPages, maxRead)},
		{"TRESUsageOutAve", 15, false, usageOut(maxWrite)},
		{"TRESUsageOutMax", 15, false, usageOut(maxWrite)},
		{"TRESUsageOutMaxNode", 19, false, usageNodes(false)},
		{"TRESUsageOutMaxTask", 19, false, usageTasks(false)},
		{"TRESUsageOutMin", 15, false, usageOut(maxWrite)},
		{"TRESUsageOutMinNode", 19, false, usageNodes(false)},
		{"TRESUsageOutMinTask", 19, false, usageTasks(false)},
		{"TRESUsageOutTot", 15, false, usageOut(maxWrite)},
		{"UID", 6, false, ofJob(cellUID)},
		{"User", 9, false, ofJob(cellUser)},
		{"UserCPU", 10, false, cpuCell(userTime)},
		{"WCKey", 10, false, ofJob(func(b []byte, r *Row) []byte { return append(b, r.Spec.Wckey...) })},
		{"WCKeyID", 10, false, ofJob(cellZero)},
		{"WorkDir", 20, false, ofJob(func(b []byte, r *Row) []byte { return append(b, r.Spec.WorkDir...) })},
	}
}

// Lists that options stand for.
const (
	defaultList = "jobid,jobname,partition,account,alloccpus,state,exitcode"
	briefList   = "jobid,state,exitcode"
	longList    = "jobid,jobidraw,jobname,partition,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode," +
		"maxrsstask,averss,maxpages,maxpagesnode,maxpagestask,avepages,mincpu,mincpunode,mincputask,avecpu,ntasks,alloccpus," +
		"elapsed,state,exitcode,avecpufreq,reqcpufreqmin,reqcpufreqmax,reqcpufreqgov,reqmem,consumedenergy,maxdiskread," +
		"maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,maxdiskwritenode,maxdiskwritetask,avediskwrite,reqtres," +
		"alloctres,tresusageinave,tresusageinmax,tresusageinmaxnode,tresusageinmaxtask,tresusageinmin,tresusageinminnode," +
		"tresusageinmintask,tresusageintot,tresusageoutmax,tresusageoutmaxnode,tresusageoutmaxtask,tresusageoutave,tresusageouttot"
)

// find returns the first field that a word names or abbreviates, in any case.
func find(known []field, word string) *field {
	for i := range known {
		name := known[i].name
		if len(word) <= len(name) && strings.EqualFold(word, name[:len(word)]) {
			return &known[i]
		}
	}
	return nil
}
