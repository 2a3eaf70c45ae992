package conf

import (
	"strconv"
	"strings"
)

// table is a file of plain parameters (all but slurm.conf and gres.conf).
type table struct {
	params []Param
	values map[string]pair
}

// readTable reads a file whose parameters are known by the table.
func readTable(lines []line, params []Param, file string, rep *report) *table {
	t := &table{params: params, values: map[string]pair{}}
	for _, l := range lines {
		pairs, err := splitPairs(l)
		if err != nil {
			rep.errorf(l.Pos, "%v", err)
			continue
		}
		for _, p := range pairs {
			t.add(p, file, rep)
		}
	}
	return t
}

func (t *table) add(p pair, file string, rep *report) {
	known := t.find(p.key)
	if known == nil {
		names := make([]string, len(t.params))
		for i := range t.params {
			names[i] = t.params[i].Name
		}
		rep.errorf(p.Pos, "unknown parameter %q in %s%s", p.key, file, suggest(p.key, names))
		return
	}
	if p.value == "" {
		return
	}
	notice, err := known.check(p.value)
	switch {
	case err != nil && known.is(secret):
		rep.errorf(p.Pos, "%s: bad value", known.Name)
		return
	case err != nil:
		rep.errorf(p.Pos, "%s: %v", known.Name, err)
		return
	case notice != "":
		rep.noticef(p.Pos, "%s", notice)
	}
	if !known.Acts() && !strings.EqualFold(p.value, known.Default) {
		rep.noticef(p.Pos, "%s has no effect: %s", known.Name, known.Note)
	}
	t.values[strings.ToLower(known.Name)] = p
}

func (t *table) find(name string) *Param {
	for i := range t.params {
		if strings.EqualFold(t.params[i].Name, name) {
			return &t.params[i]
		}
	}
	return nil
}

func (t *table) given(name string) bool { return t.values[strings.ToLower(name)].value != "" }

func (t *table) str(name string) string {
	if p, ok := t.values[strings.ToLower(name)]; ok {
		return p.value
	}
	if p := t.find(name); p != nil {
		return p.Default
	}
	panic("conf: no parameter " + name)
}

func (t *table) boolean(name string) bool {
	v, _ := parseBool(t.str(name))
	return v
}

func (t *table) integer(name string) int {
	v, _ := strconv.Atoi(t.str(name))
	return v
}

func (t *table) float(name string) float64 {
	v, _ := parseFloat(t.str(name))
	return v
}
