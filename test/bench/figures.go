package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// figure is one line of the table.
type figure struct {
	name, title, unit string
	more              bool // the larger the better
	long              bool // takes many minutes: measured when it is named only
	cluster           string
	// prepare is done once on each system, measure for each repetition, tidy
	// after it, outside of the measured time.
	prepare func(context.Context, *place) error
	measure func(context.Context, *place) (float64, error)
	tidy    func(context.Context, *place) error
}

// clusters of the figures. Those of one cluster are measured one after the
// other on the same one; each name is a fresh cluster.
var clusters = []struct {
	name  string
	shape shape
}{
	{"fresh", shape{Nodes: 4, CPUs: 64, Memory: 64_000}},
	{"wide", shape{Nodes: 4, CPUs: 64, Memory: 64_000}},
	{"narrow", shape{Nodes: 4, CPUs: 4, Memory: 4_000}},
	{"full", shape{Nodes: 4, CPUs: 64, Memory: 64_000}},
	{"killed", shape{Nodes: 4, CPUs: 64, Memory: 64_000}},
	{"huge", shape{Nodes: 4, CPUs: 64, Memory: 64_000}},
}

var figures = []figure{
	{name: "squeue-empty", title: "`squeue`, empty queue", unit: "ms", cluster: "fresh", measure: squeueEmpty},
	{name: "start", title: "`sbatch --version`", unit: "ms", cluster: "fresh", measure: starts("sbatch", "--version")},
	{name: "test-only", title: "`sbatch --test-only`", unit: "ms", cluster: "fresh", measure: testOnly},
	{name: "submit-1", title: "submissions, 1 loop", unit: "1/s", more: true, cluster: "fresh", measure: submissions(1), tidy: cancelAll},
	{name: "submit-4", title: "submissions, 4 loops", unit: "1/s", more: true, cluster: "fresh", measure: submissions(4), tidy: cancelAll},
	{name: "jobs", title: "jobs of `/bin/true`, 4 nodes of 64 CPUs", unit: "1/s", more: true, cluster: "wide", measure: jobs},
	{name: "array", title: "the same as one array", unit: "1/s", more: true, cluster: "wide", measure: array},
	{name: "sacct-full", title: "`sacct`, 10,000 jobs that have ended", unit: "ms", cluster: "wide", prepare: history, measure: listing("sacct", "-S", "now-2hours")},
	{name: "sacct-one", title: "`sacct -j` of one of them", unit: "ms", cluster: "wide", measure: sacctOne},
	{name: "jobs-narrow", title: "jobs of `/bin/true`, 4 nodes of 4 CPUs", unit: "1/s", more: true, cluster: "narrow", measure: jobsNarrow},
	{name: "squeue-full", title: "`squeue`, 10,000 pending jobs", unit: "ms", cluster: "full", prepare: fill, measure: listing("squeue")},
	{name: "json-full", title: "`squeue --json`, 10,000 pending jobs", unit: "ms", cluster: "full", measure: listing("squeue", "--json")},
	{name: "json-memory", title: "memory of it", unit: "MiB", cluster: "full", measure: memory("squeue", "--json")},
	{name: "lost", title: "acknowledged jobs lost when the controller is killed", unit: "%", cluster: "killed", measure: lost, tidy: cancelAll},
	{name: "squeue-huge", title: "`squeue`, 100,000 pending jobs", unit: "ms", cluster: "huge", long: true, prepare: fillHuge, measure: listing("squeue")},
	{name: "squeue-memory", title: "memory of it", unit: "MiB", cluster: "huge", long: true, measure: memory("squeue")},
}

func names() []string {
	var out []string
	for _, f := range figures {
		out = append(out, f.name)
	}
	return out
}

// needs are the figures that leave something for another.
var needs = map[string]string{
	"json-full": "squeue-full", "json-memory": "squeue-full", "sacct-full": "squeue-full", "sacct-one": "sacct-full",
	"squeue-memory": "squeue-huge",
}

// choose returns the figures that are named, with those that they need; without
// a name all that do not take long.
func choose(patterns []string) ([]figure, error) {
	if len(patterns) == 0 {
		return slices.DeleteFunc(slices.Clone(figures), func(f figure) bool { return f.long }), nil
	}
	var out []figure
	wanted := map[string]bool{}
	for _, p := range patterns {
		any := false
		for _, name := range names() {
			if match, err := filepath.Match(p, name); err != nil {
				return nil, fmt.Errorf("figure %q: %w", p, err)
			} else if match {
				wanted[name], any = true, true
			}
		}
		if !any {
			return nil, fmt.Errorf("no figure %q; there are %s", p, strings.Join(names(), " "))
		}
	}
	for name := range wanted {
		for needed, more := needs[name]; more; needed, more = needs[needed] {
			wanted[needed] = true
		}
	}
	for _, f := range figures {
		if wanted[f.name] {
			out = append(out, f)
		}
	}
	return out, nil
}

func cancelAll(ctx context.Context, p *place) error { return p.cancelAll(ctx) }
