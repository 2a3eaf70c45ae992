package diag

import (
	"muster/internal/command/dataparser"
	"muster/internal/wire"
)

// WriteStats writes the member "statistics". There is one scheduler here, whose
// figures are the main one's; a backfill scheduler and remote calls are not
// counted, and their members are zero or empty.
func WriteStats(w *dataparser.Writer, r *wire.StatsReply) {
	w.Object("statistics")
	w.Time("req_time", r.Now)
	w.Time("req_time_start", r.Since)
	w.Uint("server_thread_count", uint64(r.ServerThreads))
	w.Uint("agent_queue_size", uint64(r.AgentQueue))
	w.Uint("agent_count", uint64(r.AgentCount))
	w.Uint("agent_thread_count", uint64(r.AgentThreads))
	w.Uint("dbd_agent_queue_size", uint64(r.DbdQueue))
	w.Int("gettimeofday_latency", 0)
	writeCycles(w, r)
	w.Uint("jobs_submitted", r.JobsSubmitted)
	w.Uint("jobs_started", r.JobsStarted)
	w.Uint("jobs_completed", r.JobsCompleted)
	w.Uint("jobs_canceled", r.JobsCanceled)
	w.Uint("jobs_failed", r.JobsFailed)
	w.Uint("jobs_pending", r.JobsPending)
	w.Uint("jobs_running", r.JobsRunning)
	w.Time("job_states_ts", r.JobsStatesTs)
	writeBackfill(w)
	for _, key := range [...]string{"rpcs_by_message_type", "rpcs_by_user", "pending_rpcs", "pending_rpcs_by_hostlist"} {
		w.Strings(key, nil)
	}
	w.End()
}

func writeCycles(w *dataparser.Writer, r *wire.StatsReply) {
	cycles := max(r.Cycles, 1)
	minutes := uint64(max((r.Now-r.Since)/60, 1))
	w.Uint("schedule_cycle_max", r.MaxCycle)
	w.Uint("schedule_cycle_last", r.LastCycle)
	w.Uint("schedule_cycle_sum", r.TotalCycle)
	w.Uint("schedule_cycle_total", r.Cycles)
	w.Uint("schedule_cycle_mean", r.TotalCycle/cycles)
	w.Uint("schedule_cycle_mean_depth", r.CycleDepth/cycles)
	w.Uint("schedule_cycle_per_minute", r.Cycles/minutes)
	w.Uint("schedule_cycle_depth", r.CycleDepth)
	w.Object("schedule_exit")
	w.Uint("end_job_queue", r.Cycles)
	zeros(w, "default_queue_depth", "max_job_start", "max_rpc_cnt", "max_sched_time", "licenses")
	w.End()
	w.Uint("schedule_queue_length", r.QueueLength)
}

func zeros(w *dataparser.Writer, keys ...string) {
	for _, key := range keys {
		w.Int(key, 0)
	}
}

func writeBackfill(w *dataparser.Writer) {
	zeros(w, "bf_backfilled_jobs", "bf_last_backfilled_jobs", "bf_backfilled_het_jobs", "bf_cycle_counter", "bf_cycle_mean",
		"bf_depth_mean", "bf_depth_mean_try", "bf_cycle_sum", "bf_cycle_last", "bf_cycle_max")
	w.Object("bf_exit")
	zeros(w, "end_job_queue", "bf_max_job_start", "bf_max_job_test", "bf_max_time", "bf_node_space_size", "state_changed")
	w.End()
	zeros(w, "bf_last_depth", "bf_last_depth_try", "bf_depth_sum", "bf_depth_try_sum", "bf_queue_len", "bf_queue_len_mean",
		"bf_queue_len_sum", "bf_table_size", "bf_table_size_sum", "bf_table_size_mean")
	w.Time("bf_when_last_cycle", 0)
	w.Bool("bf_active", false)
}
