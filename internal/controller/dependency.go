package controller

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// dependency is what a job waits for: all of its conditions, or any of them.
type dependency struct {
	any   bool
	conds []cond
	at    int64 // when a condition can next become true by time alone, 0 = never
}

type cond struct {
	kind   string // after afterany afterok afternotok aftercorr singleton
	job    uint32
	task   int64 // array task, -1 = none named
	delay  int64 // minutes, for after
	met    bool
	failed bool
}

var depKinds = []string{"afterok", "afternotok", "afterany", "after", "aftercorr", "afterburstbuffer"}

// parseDependency reads --dependency as typed, and as dependency.text writes it.
func parseDependency(text string) (*dependency, bool) {
	d := &dependency{}
	all, anyOf := strings.Contains(text, ","), strings.Contains(text, "?")
	if all && anyOf {
		return nil, false
	}
	d.any = anyOf
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '?' }) {
		if !d.word(strings.TrimSpace(word)) {
			return nil, false
		}
	}
	return d, len(d.conds) > 0
}

// word reads one part: kind:id[:id…], singleton, or a bare id.
func (d *dependency) word(word string) bool {
	kind, ids, has := strings.Cut(word, ":")
	kind = strings.ToLower(kind)
	if i := strings.IndexByte(kind, '('); i >= 0 {
		kind = kind[:i]
	}
	switch {
	case kind == "singleton" && !has:
		d.conds = append(d.conds, cond{kind: kind, task: -1})
		return true
	case !has && kind != "" && kind[0] >= '0' && kind[0] <= '9':
		kind, ids = "afterany", word
	case !has || !slices.Contains(depKinds, kind):
		return false
	}
	for id := range strings.SplitSeq(ids, ":") {
		c, ok := parseDepID(id)
		if !ok || c.delay != 0 && kind != "after" {
			return false
		}
		c.kind = kind
		d.conds = append(d.conds, c)
	}
	return true
}

// parseDepID reads 12, 12_3, 12_*, 12+5, each perhaps followed by (unfulfilled) or (failed).
func parseDepID(id string) (c cond, ok bool) {
	c.task = -1
	id, mark, _ := strings.Cut(id, "(")
	c.failed = mark == "failed)"
	id, delay, delayed := strings.Cut(id, "+")
	if delayed {
		n, err := strconv.ParseUint(delay, 10, 31)
		if err != nil {
			return c, false
		}
		c.delay = int64(n)
	}
	id, task, tasked := strings.Cut(id, "_")
	if tasked && task != "*" {
		n, err := strconv.ParseUint(task, 10, 32)
		if err != nil {
			return c, false
		}
		c.task = int64(n)
	}
	n, err := strconv.ParseUint(id, 10, 32)
	c.job = uint32(n)
	return c, err == nil && n > 0
}

// text is Dependency= of scontrol: what is not yet met, and how it stands.
func (d *dependency) text(isArray func(uint32) bool) string {
	sep := ","
	if d.any {
		sep = "?"
	}
	var out []string
	for i := range d.conds {
		c := &d.conds[i]
		if c.met {
			continue
		}
		mark := "(unfulfilled)"
		if c.failed {
			mark = "(failed)"
		}
		if c.kind == "singleton" {
			out = append(out, "singleton"+mark)
			continue
		}
		id := strconv.FormatUint(uint64(c.job), 10)
		switch {
		case c.task >= 0:
			id += fmt.Sprintf("_%d", c.task)
		case isArray(c.job):
			id += "_*"
		}
		if c.delay > 0 {
			id += fmt.Sprintf("+%d", c.delay)
		}
		out = append(out, c.kind+":"+id+mark)
	}
	return strings.Join(out, sep)
}

// verdict of a dependency: met, hopeless, or neither yet.
func (d *dependency) met() bool {
	for i := range d.conds {
		if d.conds[i].met == d.any {
			return d.any
		}
	}
	return !d.any
}

func (d *dependency) hopeless() bool {
	failed := 0
	for i := range d.conds {
		if d.conds[i].failed {
			failed++
		}
	}
	return failed > 0 && (!d.any || failed == len(d.conds))
}
