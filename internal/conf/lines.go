package conf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxIncludes bounds nested Include lines; a file that includes itself ends there.
const maxIncludes = 16

// line is a logical line: continuations joined, comments and blanks cut off.
type line struct {
	Pos
	text string
}

// readFile gives the logical lines of a file and of all that it includes.
func readFile(path string, r *report) ([]line, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	r.files = append(r.files, path)
	rd := lineReader{dir: filepath.Dir(path), report: r}
	rd.add(path, data, 0)
	return rd.lines, nil
}

type lineReader struct {
	dir     string // of the first file; Include is relative to it
	cluster string // ClusterName, as far as read, for %c
	report  *report
	lines   []line
}

func (rd *lineReader) add(path string, data []byte, depth int) {
	for _, l := range logicalLines(path, string(data)) {
		word, rest := cutWord(l.text)
		if strings.EqualFold(word, "include") {
			rd.include(l.Pos, strings.TrimSpace(strings.TrimPrefix(rest, "=")), depth)
			continue
		}
		if rd.cluster == "" {
			rd.noteCluster(l.text)
		}
		rd.lines = append(rd.lines, l)
	}
}

func (rd *lineReader) noteCluster(text string) {
	key, value, ok := strings.Cut(text, "=")
	if ok && strings.EqualFold(strings.TrimSpace(key), "ClusterName") {
		rd.cluster, _ = cutWord(strings.TrimSpace(value))
	}
}

func (rd *lineReader) include(p Pos, name string, depth int) {
	name = strings.Trim(name, `"`)
	switch {
	case name == "":
		rd.report.errorf(p, "Include without a file name")
		return
	case depth >= maxIncludes:
		rd.report.errorf(p, "Include %s: files are included more than %d deep", name, maxIncludes)
		return
	case strings.Contains(name, "%c") && rd.cluster == "":
		rd.report.errorf(p, "Include %s: %%c needs a ClusterName line before it", name)
		return
	}
	name = strings.ReplaceAll(name, "%c", rd.cluster)
	if !filepath.IsAbs(name) {
		name = filepath.Join(rd.dir, name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		rd.report.errorf(p, "Include: %v", err)
		return
	}
	rd.report.files = append(rd.report.files, name)
	rd.add(name, data, depth+1)
}

// logicalLines splits text. A '#' begins a comment unless a backslash stands
// before it; a backslash at the end of a line joins the next one. A comment ends
// with its line, whatever its last character.
func logicalLines(file, text string) []line {
	var out []line
	var open *line
	number := 0
	for len(text) > 0 {
		var raw string
		raw, text, _ = strings.Cut(text, "\n")
		number++
		body := stripComment(strings.TrimSuffix(raw, "\r"))
		joined := strings.TrimRight(body, " \t")
		more := strings.HasSuffix(joined, `\`)
		if more {
			body = strings.TrimSuffix(joined, `\`)
		}
		if open == nil {
			open = &line{Pos: Pos{file, number}}
		}
		open.text += body
		if more {
			continue
		}
		out = appendLine(out, open)
		open = nil
	}
	if open != nil {
		out = appendLine(out, open)
	}
	return out
}

func appendLine(out []line, l *line) []line {
	if l.text = strings.TrimSpace(l.text); l.text != "" {
		out = append(out, *l)
	}
	return out
}

func stripComment(s string) string {
	if strings.IndexByte(s, '#') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '#':
			b.WriteByte('#')
			i++
		case s[i] == '#':
			return b.String()
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// cutWord splits after the first run that holds neither blank nor '='.
func cutWord(s string) (word, rest string) {
	i := strings.IndexAny(s, " \t=")
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimLeft(s[i:], " \t")
}
