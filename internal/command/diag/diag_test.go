package diag

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"muster/internal/wire"
)

// The head is what sdiag printed for these figures.
func TestReport(t *testing.T) {
	r := &wire.StatsReply{
		Now: 1796074313, Since: 1796074126, ServerThreads: 3, JobsSubmitted: 25, JobsStarted: 5, JobsCanceled: 2,
		JobsStatesTs: 1796074306, JobsPending: 18, JobsRunning: 4, LastCycle: 149, MaxCycle: 332, Cycles: 185, TotalCycle: 18000,
		CycleDepth: 925, QueueLength: 7,
	}
	assert.Equal(t, `*******************************************************
sdiag output at Mon Nov 30 21:31:53 2026 (1796074313)
Data since      Mon Nov 30 21:28:46 2026 (1796074126)
*******************************************************
Server thread count:  3
Agent queue size:     0
Agent count:          0
Agent thread count:   0
DBD Agent queue size: 0

Jobs submitted: 25
Jobs started:   5
Jobs completed: 0
Jobs canceled:  2
Jobs failed:    0

Job states ts:  Mon Nov 30 21:31:46 2026 (1796074306)
Jobs pending:   18
Jobs running:   4

Main schedule statistics (microseconds):
	Last cycle:   149
	Max cycle:    332
	Total cycles: 185
	Mean cycle:   97
	Mean depth cycle:  5
	Cycles per minute: 61
	Last queue length: 7

`, string(Append(nil, r, time.UTC)))
}

func TestNothingCountedYet(t *testing.T) {
	assert.NotContains(t, string(Append(nil, &wire.StatsReply{Now: 5, Since: 5}, time.UTC)), "Mean")
}
