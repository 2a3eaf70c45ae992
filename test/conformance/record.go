package conformance

import (
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// Recording: with CONFORMANCE_UPDATE set, a transcript that does not agree is
// written into the case's file, what must differ from run to run masked. The
// result is read and corrected by whoever adds the case.

// autoMasks are applied in order.
var autoMasks = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`Submitted batch job [0-9]+`), `Submitted batch job {{id}}`},
	{regexp.MustCompile(`Job [0-9]+ to start`), `Job {{id}} to start`},
	{regexp.MustCompile(`(SLURM_JOB_[UG]ID)=[0-9]+`), `$1={{int}}`},
	{regexp.MustCompile(`\b(alice|bob)\([0-9]+\)`), `$1({{int}})`},
	{regexp.MustCompile(`CANCELLED by [0-9]+`), `CANCELLED by {{int}}`},
	{regexp.MustCompile(`slurmstepd-node[1-4]`), `{{stepd}}`},
	{regexp.MustCompile(`(AllocNode:Sid)=\S+`), `$1={{word}}`},
	{regexp.MustCompile(`LastSchedEval=[^\n]+`), `LastSchedEval={{rest}}`},
	{regexp.MustCompile(`AccrueTime=\S+`), `AccrueTime={{word}}`},
	{regexp.MustCompile(`Priority=[1-9][0-9]*`), `Priority={{int}}`},
	{regexp.MustCompile(`\b[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} [0-9]{4}\b`), `{{date}}`},
	{regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}`), `{{time}}`},
	{regexp.MustCompile(`CPU_IDs=[0-9]\S*`), `CPU_IDs={{ids}}`},
	{regexp.MustCompile(`\(IDX:[0-9,-]+\)`), `(IDX:{{ids}})`},
	{regexp.MustCompile(`(SLURM_TASK_PID|SLURM_\w*PORT)=[0-9]+`), `$1={{int}}`},
	{regexp.MustCompile(`(SLURM_WORKING_CLUSTER|SLURM_SUBMIT_HOST|NodeHostName)=\S+`), `$1={{word}}`},
	{regexp.MustCompile(`job[0-9]{5,}/`), `job{{int}}/`},
}

// nodeMasks hide where a job has run.
var nodeMasks = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`node\[[0-9,-]+\]`), `{{nodes}}`},
	{regexp.MustCompile(`\bnode[1-4]\b`), `{{node}}`},
}

// runTime is masked only in records of jobs that have run.
var runTime = regexp.MustCompile(`RunTime=\S+`)

func autoMask(transcript string, vars map[string]string, exactNodes bool) string {
	names := make([]string, 0, len(vars))
	for name := range vars {
		names = append(names, name)
	}
	// Longest values first: one may be part of another.
	sort.Slice(names, func(i, j int) bool {
		a, b := vars[names[i]], vars[names[j]]
		return len(a) > len(b) || len(a) == len(b) && names[i] < names[j]
	})
	for _, name := range names {
		transcript = maskValue(transcript, name, vars[name])
	}
	lines := strings.SplitAfter(transcript, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "$ ") {
			continue
		}
		for _, m := range autoMasks {
			line = m.find.ReplaceAllString(line, m.put)
		}
		for _, m := range nodeMasks {
			if !exactNodes {
				line = m.find.ReplaceAllString(line, m.put)
			}
		}
		lines[i] = line
	}
	transcript = strings.Join(lines, "")
	entries := strings.SplitAfter(transcript, "\n\n")
	for i, e := range entries {
		if !strings.Contains(e, "JobState=PENDING") {
			entries[i] = runTime.ReplaceAllString(e, "RunTime={{dur}}")
		}
	}
	return strings.Join(entries, "")
}

// maskValue replaces a kept value by its variable, and keeps the column's width
// where the value stands padded.
func maskValue(text, name, value string) string {
	v := regexp.QuoteMeta(value)
	right := regexp.MustCompile(`(?m)^( {2,})` + v + `(_[0-9]+|_\[[^\]]*\]|\+)?( |$)`)
	text = right.ReplaceAllStringFunc(text, func(s string) string {
		m := right.FindStringSubmatch(s)
		return fmt.Sprintf("{{%s%s:%d}}%s", name, m[2], len(m[1])+len(value)+len(m[2]), m[3])
	})
	left := regexp.MustCompile(`(?m)^` + v + `((?:_[0-9]+|_\[[^\]]*\])?(?:\.[a-z0-9]+)?)( {2,})`)
	text = left.ReplaceAllStringFunc(text, func(s string) string {
		m := left.FindStringSubmatch(s)
		return fmt.Sprintf("{{%s%s:-%d}}", name, m[1], len(s))
	})
	plain := regexp.MustCompile(`(^|[^0-9A-Za-z{])` + v + `($|[^0-9A-Za-z}])`)
	// Twice: two values side by side share the character between them.
	for range 2 {
		text = plain.ReplaceAllString(text, "${1}{{"+name+"}}${2}")
	}
	return text
}

// updateCase writes an expectation into a case's file.
func updateCase(path, name, content string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("update a case: %w", err)
	}
	archive := txtar.Parse(data)
	found := false
	for i := range archive.Files {
		if archive.Files[i].Name == name {
			archive.Files[i].Data, found = []byte(content), true
		}
	}
	if !found {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(content)})
	}
	if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
		return fmt.Errorf("update a case: %w", err)
	}
	return nil
}
