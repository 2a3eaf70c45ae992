// Package diag is sdiag: what the controller counts of itself.
//
// Rendering is a pure function of the controller's answer; Run asks for it.
package diag

import (
	"context"
	"fmt"
	"time"

	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/command/dataparser"
	"muster/internal/command/flags"
	"muster/internal/command/getopt"
	"muster/internal/wire"
)

const (
	keyAll = iota
	keyClusters
	keyHelp
	keyJSON
	keyYAML
	keyLater
)

var options = append([]flags.Flag{
	{Long: "all", Short: 'a', Key: keyAll, Help: "show all that is counted"},
	{Long: "cluster", Short: 'M', Arg: getopt.Required, Key: keyClusters, Meta: "name", Help: "the cluster to ask"},
	{Long: "clusters", Arg: getopt.Required, Key: keyClusters},
	{Short: 'h', Key: keyHelp, Help: "show this text and exit"},
	{Long: "json", Arg: getopt.Optional, Key: keyJSON, Meta: "data_parser", Help: "all that is counted, as JSON"},
	{Long: "no-trunc", Key: keyLater + 1, Later: true},
	{Long: "reset", Short: 'r', Key: keyLater + 2, Later: true},
	{Long: "sort-by-id", Short: 'i', Key: keyLater + 3, Later: true},
	{Long: "sort-by-time", Short: 't', Key: keyLater + 4, Later: true},
	{Long: "sort-by-time2", Short: 'T', Key: keyLater + 5, Later: true},
	{Long: "yaml", Arg: getopt.Optional, Key: keyYAML, Meta: "data_parser", Help: "all that is counted, as YAML"},
}, flags.Common...)

// Run is the whole of sdiag.
func Run(ctx context.Context, p *command.Program) int {
	given, _, code, stop := flags.Read(p, options, p.Args, getopt.Permute)
	if stop {
		return code
	}
	cluster := p.Getenv("SLURM_CLUSTERS")
	var choice dataparser.Choice
	for _, v := range given {
		switch v.Key {
		case keyClusters:
			cluster = v.Text
		case keyJSON, keyYAML:
			if code, stop := choice.Take(p, v.Key == keyYAML, v.Text); stop {
				return code
			}
		case keyHelp:
			p.Print("%s", flags.Brief(p.Name, options))
			return 0
		}
	}
	c, err := client.New(p.Getenv)
	if err != nil {
		return p.Fatal("%v", err)
	}
	defer c.Close()
	if cluster != "" && cluster != "all" && cluster != c.Conf.Cluster {
		p.Error("No cluster '%s' known by database.", cluster)
		return command.ExitError
	}
	var reply *wire.StatsReply
	err = c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) (err error) {
		reply, err = ctld.Stats(ctx, &wire.StatsRequest{})
		return err
	})
	switch {
	case err != nil:
		p.Raw("slurm_get_statistics: %v", err)
		return command.ExitError
	case reply.Refusal.GetCode() != 0:
		p.Raw("slurm_get_statistics: %s", reply.Refusal.Message)
		return command.ExitError
	}
	if choice.Wanted {
		w := choice.Begin(p)
		WriteStats(w, reply)
		return dataparser.Finish(ctx, p, w, c.Meta(nil))
	}
	if _, err := p.Stdout.Write(Append(nil, reply, time.Local)); err != nil {
		return command.ExitError
	}
	return 0
}

const stars = "*******************************************************\n"

// Append appends the report.
func Append(b []byte, r *wire.StatsReply, zone *time.Location) []byte {
	stamp := func(t int64) string {
		return fmt.Sprintf("%s (%d)", time.Unix(t, 0).In(zone).Format(time.ANSIC), t)
	}
	b = append(b, stars...)
	b = fmt.Appendf(b, "sdiag output at %s\nData since      %s\n", stamp(r.Now), stamp(r.Since))
	b = append(b, stars...)
	b = fmt.Appendf(b, "Server thread count:  %d\nAgent queue size:     %d\nAgent count:          %d\nAgent thread count:   %d\n"+
		"DBD Agent queue size: %d\n\n", r.ServerThreads, r.AgentQueue, r.AgentCount, r.AgentThreads, r.DbdQueue)
	b = fmt.Appendf(b, "Jobs submitted: %d\nJobs started:   %d\nJobs completed: %d\nJobs canceled:  %d\nJobs failed:    %d\n\n",
		r.JobsSubmitted, r.JobsStarted, r.JobsCompleted, r.JobsCanceled, r.JobsFailed)
	b = fmt.Appendf(b, "Job states ts:  %s\nJobs pending:   %d\nJobs running:   %d\n\n", stamp(r.JobsStatesTs), r.JobsPending, r.JobsRunning)
	b = fmt.Appendf(b, "Main schedule statistics (microseconds):\n\tLast cycle:   %d\n\tMax cycle:    %d\n\tTotal cycles: %d\n",
		r.LastCycle, r.MaxCycle, r.Cycles)
	if r.Cycles > 0 {
		b = fmt.Appendf(b, "\tMean cycle:   %d\n\tMean depth cycle:  %d\n", r.TotalCycle/r.Cycles, r.CycleDepth/r.Cycles)
	}
	if minutes := (r.Now - r.Since) / 60; minutes > 0 {
		b = fmt.Appendf(b, "\tCycles per minute: %d\n", r.Cycles/uint64(minutes))
	}
	b = fmt.Appendf(b, "\tLast queue length: %d\n", r.QueueLength)
	if r.Commits > 0 && r.CommitUsec > 0 {
		b = fmt.Appendf(b, "\nDatabase statistics (microseconds):\n\tTotal commits: %d\n\tMean commit:   %d\n\tMean rows a commit: %d\n",
			r.Commits, r.CommitUsec/r.Commits, r.Rows/r.Commits)
	}
	return append(b, '\n')
}
