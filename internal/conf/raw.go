package conf

import (
	"strings"
	"time"

	"muster/internal/size"
)

// raw is slurm.conf as written: global parameters by lower-case name, lines with
// attributes in their order.
type raw struct {
	*report
	params     map[string][]pair // more than one only where several lines count
	nodes      []attrLine
	partitions []attrLine
	nodeSets   []attrLine
	downNodes  []attrLine
	index      map[string]Pos // of the nodes, once expanded
}

// attrLine is a line such as NodeName=... with its attributes.
type attrLine struct {
	Pos
	name  string
	pairs []pair // without the first
}

// readRaw sorts the lines of slurm.conf. With globalsOnly the lines about nodes and
// partitions are passed over unread.
func readRaw(lines []line, globalsOnly bool, rep *report) *raw {
	r := &raw{report: rep, params: make(map[string][]pair, 64)}
	for _, l := range lines {
		key, _ := cutWord(l.text)
		target := r.lineTarget(key)
		if target != nil && globalsOnly {
			continue
		}
		pairs, err := splitPairs(l)
		if err != nil {
			r.errorf(l.Pos, "%v", err)
			continue
		}
		if target != nil {
			*target = append(*target, attrLine{l.Pos, pairs[0].value, pairs[1:]})
			continue
		}
		r.addGlobals(key, pairs)
	}
	return r
}

func (r *raw) lineTarget(key string) *[]attrLine {
	switch strings.ToLower(key) {
	case "nodename":
		return &r.nodes
	case "partitionname":
		return &r.partitions
	case "nodeset":
		return &r.nodeSets
	case "downnodes":
		return &r.downNodes
	}
	return nil
}

func (r *raw) addGlobals(key string, pairs []pair) {
	switch strings.ToLower(key) {
	case "frontendname":
		r.noticef(pairs[0].Pos, "FrontendName has no effect: front-end mode is gone from Slurm since 25.05")
		return
	case "poweraction":
		r.noticef(pairs[0].Pos, "PowerAction has no effect: %s", powerNote)
		return
	}
	for _, p := range pairs {
		r.addGlobal(p)
	}
}

func (r *raw) addGlobal(p pair) {
	known, ok := Lookup(p.key)
	if !ok {
		r.errorf(p.Pos, "unknown parameter %q%s", p.key, suggest(p.key, paramNames()))
		return
	}
	name := strings.ToLower(known.Name)
	if p.value == "" {
		return // as not given
	}
	notice, err := known.check(p.value)
	switch {
	case err != nil && known.is(secret):
		r.errorf(p.Pos, "%s: bad value", known.Name)
		return
	case err != nil:
		r.errorf(p.Pos, "%s: %v", known.Name, err)
		return
	case notice != "":
		r.noticef(p.Pos, "%s", notice)
	}
	if !known.Acts() && !strings.EqualFold(p.value, known.Default) && !isNone(known, p.value) {
		r.noticef(p.Pos, "%s has no effect: %s", known.Name, known.Note)
	}
	if known.Acts() && known.Removed() {
		r.noticef(p.Pos, "%s still acts, but is %s", known.Name, known.Note)
	}
	if old := r.params[name]; len(old) > 0 && !known.is(multi) {
		r.noticef(p.Pos, "%s stands here again (first at %s); this one counts", known.Name, old[0].Pos)
		r.params[name] = nil
	}
	r.params[name] = append(r.params[name], p)
}

// isNone tells whether a value only says that a plugin is not wanted, which is what
// an empty default means.
func isNone(p *Param, value string) bool {
	v := strings.ToLower(value)
	switch {
	case p.Default == "" || strings.EqualFold(p.Default, "none"):
		return v == "none" || strings.HasSuffix(v, "/none") || v == "0" || v == "(null)"
	case p.Kind == KBool:
		a, _ := parseBool(value)
		b, _ := parseBool(p.Default)
		return a == b
	case p.Name == "TopologyPlugin":
		return v == "topology/none" || v == "topology/default" || v == "flat"
	case p.Name == "CredType":
		return v == "cred/munge" || v == "auth/slurm"
	case p.Name == "MpiDefault":
		return v == "mpi/none"
	case p.Kind == KOptions && p.Name == "PreemptMode":
		return v == "off"
	}
	return false
}

// given tells whether a parameter stands in the file.
func (r *raw) given(name string) bool { return len(r.params[strings.ToLower(name)]) > 0 }

// pos is where a parameter stands.
func (r *raw) pos(name string) Pos {
	if ps := r.params[strings.ToLower(name)]; len(ps) > 0 {
		return ps[len(ps)-1].Pos
	}
	return Pos{}
}

// str is the value given, else the default. Values were checked when they were
// added, so the typed readers below have no errors left to report.
func (r *raw) str(name string) string {
	if ps := r.params[strings.ToLower(name)]; len(ps) > 0 {
		return ps[len(ps)-1].value
	}
	if p, ok := Lookup(name); ok {
		return p.Default
	}
	panic("conf: no parameter " + name)
}

func (r *raw) all(name string) []string {
	var out []string
	for _, p := range r.params[strings.ToLower(name)] {
		out = append(out, p.value)
	}
	return out
}

func (r *raw) boolean(name string) bool {
	v, _ := parseBool(r.str(name))
	return v
}

func (r *raw) number(name string) uint32 {
	v, _ := parseNumber(r.str(name))
	return v
}

func (r *raw) seconds(name string) time.Duration {
	v, _ := parseSeconds(r.str(name))
	return v
}

func (r *raw) level(name string) string {
	v, _ := parseDebugLevel(r.str(name))
	return v
}

func (r *raw) mem(name string) uint64 {
	s := r.str(name)
	if s == "" || isInfinite(s) {
		return 0
	}
	v, _ := size.ParseMemory(s)
	return v
}

func (r *raw) options(name string) Options { return parseOptions(r.str(name)) }

func (r *raw) list(name string) []string { return splitList(r.str(name)) }
