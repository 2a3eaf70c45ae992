package sched_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"muster/internal/gres"
	"muster/internal/placement"
	"muster/internal/sched"
	"muster/internal/wire"
)

// TestScripts runs the worlds of testdata. Commands:
//
//	nodes COUNT [cores= threads= mem= gpus= type= features= weight= first=]
//	partition NAME [tier= maxnodes= minnodes= defmemcpu= exclusive state=]
//	options [cpus] [nomem] [defmemcpu= defmemnode= defmemgpu= maxmemcpu=]
//	node NAME down
//	submit NAME [nodes= maxnodes= tasks= cpt= mem= memcpu= memgpu= gpus= gpusnode= gpustask= …]
//	schedule            → starts and reasons; what started stays
//	end NAME
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return w.run(t, d)
		})
	})
}

type world struct {
	snap    sched.Snapshot
	names   map[int64]string
	running map[string]sched.Start
	next    int64
}

func newWorld() *world {
	w := &world{names: map[int64]string{}, running: map[string]sched.Start{}}
	w.snap.Opts.SelectCores, w.snap.Opts.SelectMemory = true, true
	return w
}

// args are the words `key=value` and flags of a command.
type args map[string]string

func (a args) num(key string) int {
	n, _ := strconv.Atoi(a[key])
	return n
}

func parse(d *datadriven.TestData) (first string, a args) {
	a = args{}
	for i, c := range d.CmdArgs {
		if i == 0 && len(c.Vals) == 0 {
			first = c.Key
			continue
		}
		a[c.Key] = strings.Join(c.Vals, ",")
	}
	return first, a
}

func (w *world) run(t *testing.T, d *datadriven.TestData) string {
	first, a := parse(d)
	switch d.Cmd {
	case "nodes":
		w.addNodes(first, a)
	case "options":
		w.options(first, a)
	case "partition":
		w.addPartition(first, a)
	case "node":
		for i := range w.snap.Nodes {
			if w.snap.Nodes[i].Name == first {
				w.snap.Nodes[i].Usable = false
			}
		}
	case "submit":
		w.submit(first, a)
	case "schedule":
		return w.schedule()
	case "end":
		w.end(first)
	default:
		t.Fatalf("unknown command %q", d.Cmd)
	}
	return "ok"
}

func (w *world) addNodes(first string, a args) {
	count, _ := strconv.Atoi(first)
	from := max(1, a.num("first"))
	for i := range count {
		n := sched.Node{
			Name: fmt.Sprintf("n%d", from+i), Usable: true, Weight: uint32(a.num("weight")),
			Sockets: 1, CoresPerSocket: max(1, a.num("cores")), ThreadsPerCore: max(1, a.num("threads")),
			Memory: uint64(a.num("mem")),
		}
		n.SpecCores = sched.NewCores(n.CoresPerSocket)
		for c := range a.num("spec") {
			n.SpecCores.Add(n.CoresPerSocket - 1 - c)
		}
		if f := a["features"]; f != "" {
			n.Features = strings.Split(f, ",")
		}
		if g := a.num("gpus"); g > 0 {
			set := gres.Set{Name: "gpu", Type: a["type"], Count: uint64(g), Held: make([]bool, g)}
			for i := range g {
				set.Index = append(set.Index, uint32(i))
			}
			n.Gres = []gres.Set{set}
		}
		w.snap.Nodes = append(w.snap.Nodes, n)
	}
}

func (w *world) options(first string, a args) {
	o := &w.snap.Opts
	_, o.SelectCores = a["threads"], first != "cpus"
	o.SelectMemory = first != "nomem"
	o.DefMemPerCPU, o.DefMemPerNode = uint64(a.num("defmemcpu")), uint64(a.num("defmemnode"))
	o.DefMemPerGPU, o.MaxMemPerCPU = uint64(a.num("defmemgpu")), uint64(a.num("maxmemcpu"))
}

func (w *world) addPartition(name string, a args) {
	p := sched.Partition{Name: name, Up: a["state"] == "", Why: a["state"], Tier: uint32(a.num("tier")),
		Info: &wire.PartitionInfo{Name: name, MaxNodes: placement.Infinite, MinNodes: uint32(a.num("minnodes"))}}
	if a["maxnodes"] != "" {
		p.Info.MaxNodes = uint32(a.num("maxnodes"))
	}
	if a["defmemcpu"] != "" {
		p.Info.DefMemKind, p.Info.DefMem = wire.MemKind_MEM_PER_CPU, uint64(a.num("defmemcpu"))
	}
	if _, ok := a["exclusive"]; ok {
		p.Info.Exclusive = "NODE"
	}
	for i := range w.snap.Nodes {
		p.Nodes = append(p.Nodes, i)
	}
	w.snap.Parts = append(w.snap.Parts, p)
}

func gpu(a args, key string) []*wire.GresRequest {
	if a[key] == "" {
		return nil
	}
	typ, count, typed := strings.Cut(a[key], ":")
	if !typed {
		typ, count = "", a[key]
	}
	n, _ := strconv.Atoi(count)
	return []*wire.GresRequest{{Name: "gpu", Type: typ, Count: uint64(n)}}
}

func (w *world) submit(name string, a args) {
	w.next++
	spec := &wire.JobSpec{
		Name: name, Uid: uint32(a.num("uid")), MinNodes: uint32(a.num("nodes")), MaxNodes: uint32(a.num("maxnodes")),
		NumTasks: uint32(a.num("tasks")), CpusPerTask: uint32(a.num("cpt")), NtasksPerNode: uint32(a.num("pernode")),
		NtasksPerCore: uint32(a.num("percore")), CpusPerGpu: uint32(a.num("cpusgpu")), NtasksPerGpu: uint32(a.num("taskspergpu")),
		Constraint: a["constraint"], Nodelist: a["nodelist"], Exclude: a["exclude"],
		GresPerJob: gpu(a, "gpus"), GresPerNode: gpu(a, "gpusnode"), GresPerTask: gpu(a, "gpustask"), Hint: a["hint"],
	}
	for key, kind := range map[string]wire.MemKind{
		"mem": wire.MemKind_MEM_PER_NODE, "memcpu": wire.MemKind_MEM_PER_CPU, "memgpu": wire.MemKind_MEM_PER_GPU} {
		if a[key] != "" {
			spec.MemKind, spec.Mem = kind, uint64(a.num(key))
		}
	}
	if _, ok := a["exclusive"]; ok {
		spec.Exclusive = wire.Exclusive_EXCL_NODE
	}
	for word, flag := range map[string]*bool{"contiguous": &spec.Contiguous, "spread": &spec.SpreadJob,
		"few": &spec.UseMinNodes, "overcommit": &spec.Overcommit} {
		_, *flag = a[word]
	}
	spec.ThreadsPerCore = uint32(a.num("threads"))
	j := sched.Job{Key: w.next, JobID: uint32(w.next), Spec: spec, Priority: uint32(a.num("prio")), Submit: w.next, Tasks: a.num("array")}
	for i, p := range w.snap.Parts {
		if a["part"] == "" && i == 0 || slices.Contains(strings.Split(a["part"], ","), p.Name) {
			j.Partitions = append(j.Partitions, i)
		}
	}
	w.names[j.Key] = name
	w.snap.Jobs = append(w.snap.Jobs, j)
}

func (w *world) schedule() string {
	plan := sched.Run(&w.snap)
	var b strings.Builder
	started := map[int64]int{}
	for _, s := range plan.Starts {
		fmt.Fprintf(&b, "%s starts in %s:", w.names[s.Key], s.Partition)
		for _, a := range s.Alloc {
			fmt.Fprintf(&b, " %s", describe(a))
			for i := range w.snap.Nodes {
				if w.snap.Nodes[i].Name == a.Node {
					w.snap.Nodes[i].Hold(a, 0, false)
				}
			}
		}
		b.WriteByte('\n')
		started[s.Key]++
		w.running[w.names[s.Key]] = s
	}
	w.snap.Jobs = slices.DeleteFunc(w.snap.Jobs, func(j sched.Job) bool {
		return started[j.Key] > 0 && started[j.Key] >= max(1, j.Tasks)
	})
	for _, j := range w.snap.Jobs {
		r := plan.Reasons[j.Key]
		fmt.Fprintf(&b, "%s waits: %s (%s)\n", w.names[j.Key], r.Code, r.Missing)
	}
	return b.String()
}

func describe(a *wire.NodeAlloc) string {
	text := fmt.Sprintf("%s tasks=%d cpus=%d cores=%v mem=%d", a.Node, a.Tasks, a.Cpus, a.Core, a.Mem)
	for _, g := range a.Gres {
		text += fmt.Sprintf(" %s:%s%v", g.Name, g.Type, g.Index)
	}
	return text + ";"
}

func (w *world) end(name string) {
	for _, a := range w.running[name].Alloc {
		for i := range w.snap.Nodes {
			n := &w.snap.Nodes[i]
			if n.Name != a.Node {
				continue
			}
			for _, c := range a.Core {
				n.Held.Remove(int(c))
			}
			n.HeldMem -= a.Mem
			n.Jobs--
			gres.Release(n.Gres, a.Gres)
		}
	}
	delete(w.running, name)
}
