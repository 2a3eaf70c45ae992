package conformance

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// masks are the placeholders of expectations for what cannot be equal twice.
var masks = map[string]string{
	"id":    `[0-9]+`,
	"int":   `[0-9]+`,
	"num":   `-?[0-9]+(?:\.[0-9]+)?`,
	"time":  `[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}`,
	"date":  `[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4}`,
	"dur":   `(?:[0-9]+-)?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?`,
	"cpu":   `(?:[0-9]+-)?(?:[0-9]{2}:)?[0-9]{2}:[0-9]{2}(?:\.[0-9]{3})?`,
	"kib":   `[0-9]*(?:\.[0-9]+)?[KMG]?`,
	"path":  `/[^\s]*`,
	"node":  `node[1-4]`,
	"nodes": `(?:node[1-4]|node\[[0-9,-]+\])(?:,(?:node[1-4]|node\[[0-9,-]+\]))*`,
	"ids":   `[0-9]+(?:[,-][0-9]+)*`,
	// Several slurmd on one host name the node in their steps' messages.
	"stepd": `slurmstepd(?:-node[1-4])?`,
	"word":  `[^\s|]+`,
	"rest":  `[^\n]*`,
}

var (
	placeholder = regexp.MustCompile(`\{\{([^{}\n]+)\}\}`)
	variable    = regexp.MustCompile(`^([A-Z][A-Z0-9]*)(.*)$`)
	// nolint: widths are optional and may be negative (left-justified).
	widthSuffix = regexp.MustCompile(`^(.*):(-?[0-9]+)$`)
)

// expand replaces the kept values in a text; masks stay.
func expand(text string, vars map[string]string) (string, error) {
	var firstErr error
	out := placeholder.ReplaceAllStringFunc(text, func(p string) string {
		body := p[2 : len(p)-2]
		if _, ok := masks[maskName(body)]; ok {
			return p
		}
		value, err := expandVariable(body, vars)
		if err != nil && firstErr == nil {
			firstErr = err
		}
		return value
	})
	return out, firstErr
}

func maskName(body string) string {
	if m := widthSuffix.FindStringSubmatch(body); m != nil {
		return m[1]
	}
	return body
}

func expandVariable(body string, vars map[string]string) (string, error) {
	width := 0
	if m := widthSuffix.FindStringSubmatch(body); m != nil {
		body = m[1]
		width, _ = strconv.Atoi(m[2])
	}
	m := variable.FindStringSubmatch(body)
	if m == nil {
		return "", fmt.Errorf("{{%s}} is neither a mask nor a variable", body)
	}
	value, ok := vars[m[1]]
	if !ok {
		return "", fmt.Errorf("{{%s}}: no variable %s", body, m[1])
	}
	return fmt.Sprintf("%*s", width, value+m[2]), nil
}

// linePattern turns one line of an expectation, its variables already
// expanded, into an expression for the whole line.
func linePattern(line string) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString(`^(?s:`)
	at := 0
	for _, loc := range placeholder.FindAllStringSubmatchIndex(line, -1) {
		b.WriteString(regexp.QuoteMeta(line[at:loc[0]]))
		body := line[loc[2]:loc[3]]
		expr, ok := masks[maskName(body)]
		if !ok {
			return nil, fmt.Errorf("{{%s}} is not a mask", body)
		}
		b.WriteString(expr2width(expr, body))
		at = loc[1]
	}
	b.WriteString(regexp.QuoteMeta(line[at:]))
	b.WriteString(`)$`)
	return regexp.Compile(b.String())
}

// expr2width allows padding on the side that a width asks for. The width
// itself is checked by columns.
func expr2width(expr, body string) string {
	m := widthSuffix.FindStringSubmatch(body)
	switch {
	case m == nil:
		return `(?:` + expr + `)`
	case strings.HasPrefix(m[2], "-"):
		return `((?:` + expr + `) *)`
	default:
		return `( *(?:` + expr + `))`
	}
}

// columns lists the widths that a line's masks demand, in order.
func columns(line string) []int {
	var widths []int
	for _, p := range placeholder.FindAllStringSubmatch(line, -1) {
		if m := widthSuffix.FindStringSubmatch(p[1]); m != nil {
			w, _ := strconv.Atoi(m[2])
			widths = append(widths, max(w, -w))
		}
	}
	return widths
}

// matchLine says whether a line is what an expectation's line asks for.
func matchLine(want, got string) (bool, error) {
	if !strings.Contains(want, "{{") {
		return want == got, nil
	}
	re, err := linePattern(want)
	if err != nil {
		return false, err
	}
	m := re.FindStringSubmatch(got)
	if m == nil {
		return false, nil
	}
	for i, width := range columns(want) {
		if len(m[i+1]) != width {
			return false, nil
		}
	}
	return true, nil
}
