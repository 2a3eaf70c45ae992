package conf

import (
	"strconv"
	"strings"

	"muster/internal/hostlist"
	"muster/internal/size"
)

// NodeConf is one node as slurm.conf describes it. Memory and disk are MiB.
type NodeConf struct {
	Pos            Pos // of its NodeName line
	Name           string
	Hostname       string // of the machine; the name where not given
	Addr           string // to reach it; the host name where not given
	BcastAddr      string
	Port           int
	CPUs           int
	Boards         int
	Sockets        int // of the whole node
	CoresPerSocket int
	ThreadsPerCore int
	RealMemory     uint64
	TmpDisk        uint64
	Weight         uint32
	Features       []string
	Gres           string // as written
	GresCounts     []GresCount
	State          string // UNKNOWN, DOWN, DRAIN, FAIL, FUTURE, CLOUD ...
	Reason         string
	CoreSpecCount  int
	MemSpecLimit   uint64
	CPUSpecList    string
	Parameters     string
	Topology       string
}

var nodeAttrs = []string{
	"NodeName", "NodeHostname", "NodeAddr", "BcastAddr", "Boards", "CoreSpecCount", "CoresPerSocket", "CpuBind", "CPUs",
	"CpuSpecList", "Features", "Feature", "Gres", "MemSpecLimit", "Parameters", "Port", "Procs", "RealMemory", "Reason",
	"RestrictedCoresPerGPU", "Sockets", "SocketsPerBoard", "SuspendTime", "State", "ThreadsPerCore", "TmpDisk", "Topology", "Weight",
}

// inertNodeAttrs are known without effect yet.
var inertNodeAttrs = []string{"CpuBind", "RestrictedCoresPerGPU", "SuspendTime", "Topology"}

// nodeStates are the values of State; IDLE is what nodes become anyway.
var nodeStates = []string{"UNKNOWN", "IDLE", "DOWN", "DRAIN", "FAIL", "FAILING", "FUTURE", "CLOUD", "EXTERNAL"}

// buildNodes expands the NodeName lines and applies the DownNodes lines.
func (c *Config) buildNodes(r *raw) {
	defaults := attrs{}
	seen := map[string]Pos{}
	for _, l := range r.nodes {
		a := collect(l.pairs, nodeAttrs, "node", r.report)
		if strings.EqualFold(l.name, "DEFAULT") {
			defaults = a.withDefaults(defaults)
			continue
		}
		c.addNodes(r, l, a.withDefaults(defaults), seen)
	}
	c.byName = make(map[string]int, len(c.Nodes))
	for i := range c.Nodes {
		c.byName[c.Nodes[i].Name] = i
	}
	c.buildNodeSets(r)
	c.applyDownNodes(r)
}

func (c *Config) addNodes(r *raw, l attrLine, a attrs, seen map[string]Pos) {
	names, err := hostlist.Expand(l.name)
	if err != nil {
		r.errorf(l.Pos, "NodeName: %v", err)
		return
	}
	n := c.readNode(r, l, a)
	hosts := perNode(r, a, "NodeHostname", names)
	addrs := perNode(r, a, "NodeAddr", names)
	ports := perNode(r, a, "Port", names)
	bcast := perNode(r, a, "BcastAddr", names)
	for i, name := range names {
		if strings.EqualFold(name, "DEFAULT") || strings.EqualFold(name, "ALL") {
			r.errorf(l.Pos, "NodeName %s is a reserved word", name)
			continue
		}
		if first, dup := seen[name]; dup {
			r.errorf(l.Pos, "node %s is defined twice (first at %s)", name, first)
			continue
		}
		seen[name] = l.Pos
		one := n
		one.Name = name
		one.Hostname = orDefault(hosts(i), name)
		one.Addr = orDefault(addrs(i), one.Hostname)
		one.BcastAddr = bcast(i)
		if p := ports(i); p != "" {
			one.Port, err = strconv.Atoi(p)
			if err != nil || one.Port < 1 || one.Port > 65535 {
				r.errorf(a["port"].Pos, "Port: %q is no port", p)
			}
		}
		c.Nodes = append(c.Nodes, one)
	}
}

// perNode gives the i-th element of a host list that stands beside the names: as
// many as names, or one for all.
func perNode(r *raw, a attrs, key string, names []string) func(int) string {
	p, ok := a[strings.ToLower(key)]
	if !ok {
		return func(int) string { return "" }
	}
	list, err := hostlist.Expand(p.value)
	switch {
	case err != nil:
		r.errorf(p.Pos, "%s: %v", key, err)
	case len(list) == 1:
		return func(int) string { return list[0] }
	case len(list) == len(names):
		return func(i int) string { return list[i] }
	default:
		r.errorf(p.Pos, "%s names %d, NodeName %d", key, len(list), len(names))
	}
	return func(int) string { return "" }
}

// readNode reads what all nodes of a line share.
func (c *Config) readNode(r *raw, l attrLine, a attrs) NodeConf {
	n := NodeConf{Pos: l.Pos, Port: c.SlurmdPort, RealMemory: 1, Weight: 1, State: "UNKNOWN"}
	v := valueReader{r.report, a}
	v.memory("RealMemory", &n.RealMemory)
	v.memory("TmpDisk", &n.TmpDisk)
	v.memory("MemSpecLimit", &n.MemSpecLimit)
	v.integer("CoreSpecCount", &n.CoreSpecCount)
	v.uint32("Weight", &n.Weight)
	v.text("CpuSpecList", &n.CPUSpecList)
	v.text("Reason", &n.Reason)
	v.text("Gres", &n.Gres)
	v.text("Parameters", &n.Parameters)
	v.text("Topology", &n.Topology)
	v.list("Feature", &n.Features)
	v.list("Features", &n.Features)
	v.word("State", nodeStates, &n.State)
	if n.State == "IDLE" {
		n.State = "UNKNOWN"
	}
	for _, k := range inertNodeAttrs {
		if p, ok := a[strings.ToLower(k)]; ok {
			r.noticef(p.Pos, "node attribute %s has no effect: %s", k, notYet)
		}
	}
	n.readLayout(v, l)
	if _, err := ParseIDs(n.CPUSpecList); err != nil {
		r.errorf(a["cpuspeclist"].Pos, "CpuSpecList: %v", err)
	}
	if n.CoreSpecCount > 0 && n.CPUSpecList != "" {
		r.errorf(l.Pos, "CoreSpecCount and CpuSpecList exclude each other")
	}
	if n.MemSpecLimit > n.RealMemory {
		r.errorf(a["memspeclimit"].Pos, "MemSpecLimit %d is more than RealMemory %d", n.MemSpecLimit, n.RealMemory)
	}
	n.GresCounts = c.parseNodeGres(r, a["gres"])
	return n
}

func (c *Config) parseNodeGres(r *raw, p pair) []GresCount {
	counts, err := ParseGresList(p.value)
	if err != nil {
		r.errorf(p.Pos, "Gres: %v", err)
	}
	for _, g := range counts {
		if !containsFold(c.GresTypes, g.Name) {
			r.errorf(p.Pos, "Gres: %s is not in GresTypes; add it there (GresTypes=%s)", g.Name, strings.Join(append(c.GresTypes[:len(c.GresTypes):len(c.GresTypes)], g.Name), ","))
		}
	}
	return counts
}

// readLayout completes boards, sockets, cores, threads and CPUs from each other.
func (n *NodeConf) readLayout(v valueReader, l attrLine) {
	perBoard := 0
	v.integer("Procs", &n.CPUs)
	v.integer("CPUs", &n.CPUs)
	v.integer("Boards", &n.Boards)
	v.integer("Sockets", &n.Sockets)
	v.integer("SocketsPerBoard", &perBoard)
	v.integer("CoresPerSocket", &n.CoresPerSocket)
	v.integer("ThreadsPerCore", &n.ThreadsPerCore)
	for _, k := range []string{"CPUs", "Procs", "Boards", "Sockets", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore"} {
		if p, ok := v.attrs[strings.ToLower(k)]; ok && p.value == "0" {
			v.errorf(p.Pos, "%s: at least 1", k)
		}
	}
	n.Boards = max(n.Boards, 1)
	n.CoresPerSocket = max(n.CoresPerSocket, 1)
	n.ThreadsPerCore = max(n.ThreadsPerCore, 1)
	if perBoard > 0 {
		if n.Sockets > 0 && n.Sockets != perBoard*n.Boards {
			v.errorf(l.Pos, "Sockets %d does not match SocketsPerBoard*Boards (%d)", n.Sockets, perBoard*n.Boards)
		}
		n.Sockets = perBoard * n.Boards
	}
	if n.Sockets == 0 {
		n.Sockets = max(n.CPUs/(n.CoresPerSocket*n.ThreadsPerCore), n.Boards)
	}
	cores := n.Sockets * n.CoresPerSocket
	threads := cores * n.ThreadsPerCore
	switch n.CPUs {
	case 0:
		n.CPUs = threads
	case n.Sockets, cores, threads:
	default:
		v.noticef(l.Pos, "NodeName=%s: CPUs=%d match no Sockets, Sockets*CoresPerSocket or Sockets*CoresPerSocket*ThreadsPerCore; %d is taken", l.name, n.CPUs, threads)
		n.CPUs = threads
	}
}

// applyDownNodes sets state and reason of nodes that DownNodes lines name.
func (c *Config) applyDownNodes(r *raw) {
	known := []string{"DownNodes", "Reason", "State"}
	defaults := attrs{}
	for _, l := range r.downNodes {
		a := collect(l.pairs, known, "DownNodes", r.report)
		if strings.EqualFold(l.name, "DEFAULT") {
			defaults = a.withDefaults(defaults)
			continue
		}
		a = a.withDefaults(defaults)
		v := valueReader{r.report, a}
		state, reason := "DOWN", ""
		v.word("State", []string{"DOWN", "DRAIN", "FAIL", "FAILING", "FUTURE", "UNKNOWN"}, &state)
		v.text("Reason", &reason)
		names, err := hostlist.Expand(l.name)
		if err != nil {
			r.errorf(l.Pos, "DownNodes: %v", err)
		}
		for _, name := range names {
			n, ok := c.Node(name)
			if !ok {
				r.errorf(l.Pos, "DownNodes: node %s is not defined%s", name, suggestNode(name, r.nodeIndex(c)))
				continue
			}
			n.State, n.Reason = state, reason
		}
	}
}

// suggestNode looks for a close node name, in clusters small enough for it.
func suggestNode(name string, seen map[string]Pos) string {
	const few = 2000
	if len(seen) > few {
		return ""
	}
	names := make([]string, 0, len(seen))
	for n := range seen {
		names = append(names, n)
	}
	hostlist.Sort(names)
	return suggest(name, names)
}

// valueReader reads attributes of one line into fields, leaving what is not given.
type valueReader struct {
	*report
	attrs attrs
}

func (v valueReader) get(key string) (pair, bool) {
	p, ok := v.attrs[strings.ToLower(key)]
	return p, ok && p.value != ""
}

func (v valueReader) text(key string, to *string) {
	if p, ok := v.get(key); ok {
		*to = p.value
	}
}

func (v valueReader) list(key string, to *[]string) {
	if p, ok := v.get(key); ok {
		*to = splitList(p.value)
	}
}

func (v valueReader) boolean(key string, to *bool) {
	if p, ok := v.get(key); ok {
		b, err := parseBool(p.value)
		if err != nil {
			v.errorf(p.Pos, "%s: %v", key, err)
			return
		}
		*to = b
	}
}

func (v valueReader) integer(key string, to *int) {
	if p, ok := v.get(key); ok {
		n, err := strconv.ParseInt(p.value, 10, 32)
		if err != nil || n < 0 {
			v.errorf(p.Pos, "%s: wanted a whole number, found %q", key, p.value)
			return
		}
		*to = int(n)
	}
}

func (v valueReader) uint32(key string, to *uint32) {
	if p, ok := v.get(key); ok {
		n, err := parseNumber(p.value)
		if err != nil {
			v.errorf(p.Pos, "%s: %v", key, err)
			return
		}
		*to = n
	}
}

func (v valueReader) memory(key string, to *uint64) {
	if p, ok := v.get(key); ok {
		n, err := size.ParseMemory(p.value)
		if err != nil {
			v.errorf(p.Pos, "%s: %v", key, err)
			return
		}
		*to = n
	}
}

// word reads one of several words, which are upper case.
func (v valueReader) word(key string, words []string, to *string) {
	if p, ok := v.get(key); ok {
		if !containsFold(words, p.value) {
			v.errorf(p.Pos, "%s: wanted one of %s, found %q", key, strings.Join(words, ", "), p.value)
			return
		}
		*to = strings.ToUpper(p.value)
	}
}
