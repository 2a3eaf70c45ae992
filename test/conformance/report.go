package conformance

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

// writeReport writes what a run against real Slurm has shown.
func writeReport(path string, results []Result) error {
	sort.Slice(results, func(i, j int) bool { return results[i].Case.Name < results[j].Case.Name })
	count := map[string]int{}
	differ := 0
	for _, r := range results {
		count[r.Status]++
		if r.Case.Differs != "" {
			differ++
		}
	}
	var b strings.Builder
	b.WriteString("# Conformance\n\nWritten by `make conformance`: the end-to-end cases of `test/cases`, run against Debian's\n" +
		"real Slurm (`slurm-wlm` 22.05.8). A case compares stdout, stderr and exit status whole; `make test` runs the same\n" +
		"files against Muster.\n\n| | cases |\n|---|---|\n")
	fmt.Fprintf(&b, "| all | %d |\n| agree with real Slurm 22.05 | %d |\n| do not agree | %d |\n", len(results), count["pass"], count["fail"])
	fmt.Fprintf(&b, "| newer than 22.05, run on Muster only | %d |\n| where Muster differs on purpose | %d |\n", count["skip"], differ)
	b.WriteString("\n## Cases\n\n| case | shows | real Slurm |\n|---|---|---|\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Case.Name, cell(r.Case.Title), verdict(r))
	}
	section(&b, "Newer than 22.05", "Expectations from the manuals and release notes of later releases.", results,
		func(c Case) string { return c.Since })
	section(&b, "Different on purpose", "See also docs/compatibility.md.", results,
		func(c Case) string { return c.Differs })
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func verdict(r Result) string {
	switch {
	case r.Status == "pass" && r.Case.Since != "":
		return "agrees with its own 22.05 expectation"
	case r.Status == "pass":
		return "agrees"
	case r.Status == "skip":
		return "not run: newer"
	}
	return "**does not agree**"
}

func section(b *strings.Builder, title, text string, results []Result, of func(Case) string) {
	var lines []string
	for _, r := range results {
		if why := of(r.Case); why != "" {
			lines = append(lines, fmt.Sprintf("- `%s`: %s\n", r.Case.Name, why))
		}
	}
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n%s", title, text, strings.Join(lines, ""))
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
