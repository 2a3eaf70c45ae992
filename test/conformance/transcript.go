package conformance

import (
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// entry formats one command and what it said.
func entry(command string, stdout, stderr []byte, exit int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "$ %s\n", command)
	writeLines(&b, "", stdout)
	writeLines(&b, "! ", stderr)
	if exit != 0 {
		fmt.Fprintf(&b, "=> exit %d\n", exit)
	}
	return b.String()
}

func writeLines(b *strings.Builder, prefix string, text []byte) {
	for line := range strings.Lines(string(text)) {
		b.WriteString(prefix)
		b.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			b.WriteString("\n(no newline at the end)\n")
		}
	}
}

// compare returns a unified diff of expectation and transcript, empty when
// they agree. Lines that agree by a mask are shown as they came.
func compare(want, got string) (string, error) {
	wantLines, gotLines := splitLines(want), splitLines(got)
	shown := make([]string, len(wantLines))
	copy(shown, wantLines)
	equal := len(wantLines) == len(gotLines)
	next := 0
	for i, w := range wantLines {
		found := -1
		for j := next; j < len(gotLines); j++ {
			ok, err := matchLine(w, gotLines[j])
			if err != nil {
				return "", err
			}
			if ok {
				found = j
				break
			}
		}
		if found < 0 {
			equal = false
			continue
		}
		equal = equal && found == i
		shown[i] = gotLines[found]
		next = found + 1
	}
	if equal {
		return "", nil
	}
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: endLines(shown), B: endLines(gotLines), FromFile: "want", ToFile: "got", Context: 3,
	})
}

func splitLines(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func endLines(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l + "\n"
	}
	return out
}
