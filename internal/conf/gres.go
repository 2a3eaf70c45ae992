package conf

import (
	"fmt"
	"strings"

	"muster/internal/hostlist"
	"muster/internal/size"
)

// GresCount is one element of a node's Gres: name[:type][:no_consume][:count].
type GresCount struct {
	Name, Type string
	Count      uint64
	NoConsume  bool
}

// ParseGresList reads the Gres of a node: "gpu:tesla:8,shard:16". An index list in
// parentheses, as scontrol prints it, is passed over.
func ParseGresList(s string) ([]GresCount, error) {
	var out []GresCount
	for _, f := range splitGres(s) {
		g := GresCount{Count: 1}
		text, _, _ := strings.Cut(f, "(")
		parts := strings.Split(text, ":")
		g.Name = parts[0]
		parts = parts[1:]
		if n := len(parts); n > 0 {
			if v, err := size.ParseCount(parts[n-1]); err == nil {
				g.Count, parts = v, parts[:n-1]
			}
		}
		if n := len(parts); n > 0 && strings.EqualFold(parts[n-1], "no_consume") {
			g.NoConsume, parts = true, parts[:n-1]
		}
		if len(parts) > 0 {
			g.Type, parts = parts[0], parts[1:]
		}
		if g.Name == "" || len(parts) > 0 || g.Type == "" && strings.Contains(text, "::") {
			return out, fmt.Errorf("wanted name[:type][:count], found %q", f)
		}
		out = append(out, g)
	}
	return out, nil
}

// splitGres splits at commas outside of parentheses.
func splitGres(s string) []string {
	var out []string
	depth, start := 0, 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || s[i] == ',' && depth == 0:
			if f := strings.TrimSpace(s[start:i]); f != "" && !strings.EqualFold(f, "(null)") {
				out = append(out, f)
			}
			start = i + 1
		case s[i] == '(':
			depth++
		case s[i] == ')' && depth > 0:
			depth--
		}
	}
	return out
}

// GresConf is one line of gres.conf.
type GresConf struct {
	Pos        Pos
	Nodes      []string // nil: every node
	Name       string
	Type       string
	Count      uint64
	Files      []string // one a device; empty: only counted
	Multiple   []string // MultipleFiles: all files belong to one device
	Cores      string
	Links      string
	Flags      []string
	AutoDetect string // off, nvml ...; empty: not given
}

var gresAttrs = []string{"AutoDetect", "Count", "Cores", "CPUs", "File", "Flags", "Links", "MultipleFiles", "Name", "NodeName", "Type", "Ignore"}

var autoDetects = []string{"FULL", "NRT", "NVIDIA", "NVML", "OFF", "ONEAPI", "RSMI"}

var gresFlags = []string{
	"CountOnly", "env_uuid", "explicit", "one_sharing", "all_sharing", "nvidia_gpu_env", "amd_gpu_env", "intel_gpu_env",
	"oneapi_gpu_env", "opencl_env", "no_gpu_env",
}

// GresFor gives the lines of gres.conf that hold for a node.
func (c *Config) GresFor(node string) []GresConf {
	var out []GresConf
	for _, g := range c.Gres {
		if g.Nodes == nil {
			out = append(out, g)
			continue
		}
		for _, n := range g.Nodes {
			if n == node {
				out = append(out, g)
				break
			}
		}
	}
	return out
}

func (c *Config) buildGres(lines []line, rep *report) {
	defaults := attrs{}
	for _, l := range lines {
		pairs, err := splitPairs(l)
		if err != nil {
			rep.errorf(l.Pos, "%v", err)
			continue
		}
		a := collect(pairs, gresAttrs, "gres", rep)
		if strings.EqualFold(a["name"].value, "DEFAULT") {
			defaults = a.withDefaults(defaults)
			continue
		}
		c.addGres(l.Pos, a.withDefaults(defaults), rep)
	}
}

func (c *Config) addGres(p Pos, a attrs, rep *report) {
	v := valueReader{rep, a}
	g := GresConf{Pos: p}
	v.text("Name", &g.Name)
	v.text("Type", &g.Type)
	v.text("CPUs", &g.Cores)
	v.text("Cores", &g.Cores)
	v.text("Links", &g.Links)
	v.list("Flags", &g.Flags)
	v.word("AutoDetect", autoDetects, &g.AutoDetect)
	g.AutoDetect = strings.ToLower(g.AutoDetect)
	for _, f := range g.Flags {
		if !containsFold(gresFlags, f) {
			rep.errorf(a["flags"].Pos, "unknown gres flag %q%s", f, suggest(f, gresFlags))
		}
	}
	if n, ok := v.get("NodeName"); ok {
		var err error
		if g.Nodes, err = hostlist.Expand(n.value); err != nil {
			rep.errorf(n.Pos, "NodeName: %v", err)
		}
		c.noticeStrangers(g.Nodes, n.Pos, rep)
	}
	if g.Name == "" {
		if g.AutoDetect == "" {
			rep.errorf(p, "a line of gres.conf needs Name or AutoDetect")
			return
		}
	} else if !containsFold(c.GresTypes, g.Name) {
		rep.noticef(p, "gres %s is passed over: it is not in GresTypes of slurm.conf", g.Name)
		return
	}
	if _, err := ParseIDs(g.Cores); err != nil {
		rep.errorf(p, "Cores: %v", err)
	}
	g.Files = v.files("File")
	g.Multiple = v.files("MultipleFiles")
	g.readCount(v)
	c.Gres = append(c.Gres, g)
}

// noticeStrangers tells of nodes that slurm.conf does not define: one gres.conf may
// serve several clusters, so that is no mistake.
func (c *Config) noticeStrangers(nodes []string, p Pos, rep *report) {
	known := c.raw.nodeIndex(c)
	var strangers []string
	for _, n := range nodes {
		if _, ok := known[n]; !ok {
			strangers = append(strangers, n)
		}
	}
	if len(strangers) > 0 {
		rep.noticef(p, "gres.conf names nodes that slurm.conf does not define: %s", hostlist.Compress(strangers))
	}
}

// readCount checks Count against the files; each file is a device, of which shards
// and mps hold several.
func (g *GresConf) readCount(v valueReader) {
	g.Count = max(uint64(len(g.Files)), 1)
	p, ok := v.get("Count")
	if !ok {
		return
	}
	n, err := size.ParseCount(p.value)
	switch {
	case err != nil:
		v.errorf(p.Pos, "Count: %v", err)
		return
	case len(g.Files) > 0 && n != uint64(len(g.Files)) && g.Name != "mps" && g.Name != "shard":
		v.errorf(p.Pos, "Count=%d does not match the %d files named by File", n, len(g.Files))
	case len(g.Files) > 0 && n%uint64(len(g.Files)) != 0:
		v.errorf(p.Pos, "Count=%d cannot be divided evenly among the %d files named by File", n, len(g.Files))
	}
	g.Count = n
}

// files expands a list of device files, with '/' and brackets.
func (v valueReader) files(key string) []string {
	p, ok := v.get(key)
	if !ok {
		return nil
	}
	list, err := hostlist.Expand(p.value)
	if err != nil {
		v.errorf(p.Pos, "%s: %v", key, err)
	}
	for _, f := range list {
		if !strings.HasPrefix(f, "/") {
			v.errorf(p.Pos, "%s: %q is no absolute path", key, f)
		}
	}
	return list
}
