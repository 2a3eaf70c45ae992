package control

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"muster/internal/command/queue"
	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/wire"
)

// entity is what scontrol show can show.
type entity struct {
	name     string
	shortest int
	run      func(*session, context.Context, string)
	local    func(*session, string)
	dump     func(*session, context.Context, string) // --json, --yaml
}

func entities() []entity {
	return []entity{
		{name: "config", shortest: 1, run: (*session).showConfig},
		{name: "daemons", shortest: 1, run: (*session).showDaemons},
		{name: "hostnames", shortest: 5, local: (*session).showHostNames},
		{name: "hostlistsorted", shortest: 9, local: func(s *session, id string) { s.showHostList(id, true) }},
		{name: "hostlist", shortest: 5, local: func(s *session, id string) { s.showHostList(id, false) }},
		{name: "jobs", shortest: 1, run: (*session).showJob, dump: (*session).dumpJobs},
		{name: "jobid", shortest: 5, run: (*session).showJob, dump: (*session).dumpJobs},
		{name: "nodes", shortest: 1, run: (*session).showNode, dump: (*session).dumpNodes},
		{name: "partitions", shortest: 2, run: (*session).showPartition, dump: (*session).dumpPartitions},
		{name: "partitionname", shortest: 13, run: (*session).showPartition, dump: (*session).dumpPartitions},
		{name: "bbstat", shortest: 2, local: showNothing("", false)},
		{name: "burstbuffer", shortest: 2, local: showNothing("", false)},
		{name: "dwstat", shortest: 2, local: showNothing("", false)},
		{name: "federation", shortest: 1, local: showNothing("", false)},
		{name: "licenses", shortest: 2, local: showNothing("No licenses configured in Slurm.", false)},
		{name: "reservations", shortest: 1, local: (*session).showReservation},
		{name: "topology", shortest: 1, local: (*session).showTopology},
		{name: "steps", shortest: 1, run: (*session).showStep},
	}
}

// laterEntities exist in Slurm; they are refused by name.
var laterEntities = []string{"aliases", "assoc_mgr", "slurmd", "topoconf"}

func findEntity(word string) (entity, bool) {
	for _, e := range entities() {
		if matches(word, e.name, e.shortest) {
			return e, true
		}
	}
	return entity{}, false
}

// target cuts "job=12" and "job 12" alike.
func target(words []string) (name, id string) {
	name, id, glued := strings.Cut(words[0], "=")
	if !glued && len(words) > 1 {
		id = words[1]
	}
	return name, id
}

// showLocal shows what needs no controller and refuses what does not exist.
func (s *session) showLocal(words []string) bool {
	name, id := target(words)
	e, ok := findEntity(name)
	if !ok {
		for _, later := range laterEntities {
			if matches(name, later, 3) {
				s.p.Error("not supported yet: show %s", later)
				s.code = 1
				return true
			}
		}
		s.fail("invalid entity:%s for keyword:show ", name)
		return true
	}
	if s.dump.Wanted && e.dump == nil {
		s.p.Error("not supported yet: show %s as JSON or YAML", e.name)
		s.code = 1
		return true
	}
	if e.local == nil {
		return false
	}
	if len(words) > 1 && id == "" && e.name == "hostnames" {
		return true // an empty list has no names
	}
	e.local(s, id)
	return true
}

func (s *session) show(ctx context.Context, words []string) {
	name, id := target(words)
	switch e, ok := findEntity(name); {
	case !ok:
	case s.dump.Wanted:
		e.dump(s, ctx, id)
	default:
		e.run(s, ctx, id)
	}
}

// loadJobs asks for whole jobs and sets the clock.
func (s *session) loadJobs(ctx context.Context, req *wire.JobsRequest) ([]*wire.JobInfo, *wire.Refusal, error) {
	view := &queue.Context{Now: s.style.Now}
	jobs, refusal, err := queue.Load(ctx, s.c, req, view)
	s.style.Now = view.Now
	return jobs, refusal, err
}

// jobsRequest asks for one job or, without an id, for all.
func (s *session) jobsRequest(id string) (*wire.JobsRequest, bool) {
	sel := &wire.JobSelect{AllStates: true, AllPartitions: s.all || id != ""}
	if id != "" {
		ref, err := model.ParseJobRef(strings.SplitN(id, "+", 2)[0])
		if err != nil || ref.HasStep {
			s.fail("scontrol_print_job error: Invalid job id specified")
			return nil, false
		}
		sel.Jobs = []*wire.JobRef{ref}
	}
	return &wire.JobsRequest{Select: sel, One: id != ""}, true
}

func (s *session) showJob(ctx context.Context, id string) {
	req, ok := s.jobsRequest(id)
	if !ok {
		return
	}
	jobs, refusal, err := s.loadJobs(ctx, req)
	switch {
	case err != nil:
		s.fail("slurm_load_jobs error: %v", err)
		return
	case refusal.GetCode() != 0:
		s.fail("slurm_load_jobs error: %s", refusal.Message)
		return
	case len(jobs) == 0 && id != "":
		s.code = 1
		s.p.Print("Job %s not found\n", id)
		return
	case len(jobs) == 0:
		s.p.Print("No jobs in the system\n")
		return
	}
	if id != "" {
		arrangeArray(jobs)
	}
	var b []byte
	for _, j := range jobs {
		b = AppendJob(b[:0], &s.style, j)
		_, _ = s.p.Stdout.Write(b) // the error stays in the writer
	}
}

// arrangeArray puts what is left of an array before its tasks, the newest of
// which stands first.
func arrangeArray(jobs []*wire.JobInfo) {
	slices.SortStableFunc(jobs, func(a, b *wire.JobInfo) int {
		switch {
		case a.State.IsArrayTask != b.State.IsArrayTask:
			if a.State.IsArrayTask {
				return 1
			}
			return -1
		case a.State.JobId > b.State.JobId:
			return -1
		case a.State.JobId < b.State.JobId:
			return 1
		}
		return 0
	})
}

func (s *session) showStep(ctx context.Context, id string) {
	sel := &wire.JobSelect{AllStates: true, AllPartitions: s.all || id != ""}
	var ref *wire.JobRef
	if id != "" {
		var err error
		if ref, err = model.ParseJobRef(id); err != nil {
			s.fail("slurm_get_job_steps error: Invalid job id specified")
			return
		}
		sel.Jobs = []*wire.JobRef{{JobId: ref.JobId, Tasks: ref.Tasks}}
	}
	jobs, refusal, err := s.loadJobs(ctx, &wire.JobsRequest{Select: sel, One: id != "", WithSteps: true})
	switch {
	case err != nil:
		s.fail("slurm_get_job_steps error: %v", err)
		return
	case refusal.GetCode() != 0:
		s.fail("slurm_get_job_steps error: %s", refusal.Message)
		return
	}
	shown := false
	for _, j := range jobs {
		steps := queue.RunningSteps(j)
		slices.SortFunc(steps, func(a, b *wire.StepState) int { return int(a.Step) - int(b.Step) })
		for _, step := range steps {
			if ref != nil && ref.HasStep && ref.Step != step.Step {
				continue
			}
			shown = true
			_, _ = s.p.Stdout.Write(AppendStep(nil, &s.style, j, step))
		}
	}
	if !shown && id != "" {
		s.code = 1
		s.p.Print("Job step %s not found\n", id)
	} else if !shown {
		s.p.Print("No job steps in the system\n")
	}
}

// wantedNodes reads the host list id, nil for an empty one, and asks for all
// nodes. A false says that what is wrong was said.
func (s *session) wantedNodes(ctx context.Context, id string) (want []string, nodes []*wire.NodeInfo, ok bool) {
	if id != "" {
		var err error
		if want, err = hostlist.Expand(id); err != nil {
			s.fail("scontrol: error: %v", err)
			return nil, nil, false
		}
	}
	nodes, refusal, err := s.loadNodes(ctx, &wire.NodesRequest{All: true})
	switch {
	case err != nil:
		s.fail("slurm_load_node error: %v", err)
		return nil, nil, false
	case refusal.GetCode() != 0:
		s.fail("slurm_load_node error: %s", refusal.Message)
		return nil, nil, false
	}
	return want, nodes, true
}

func (s *session) showNode(ctx context.Context, id string) {
	want, nodes, ok := s.wantedNodes(ctx, id)
	if !ok {
		return
	}
	if !s.future {
		nodes = slices.DeleteFunc(nodes, func(n *wire.NodeInfo) bool { return n.State.Base == wire.NodeBase_NODE_FUTURE })
	}
	if len(nodes) == 0 {
		s.p.Print("No nodes in the system\n")
		return
	}
	name := func(uid uint32) string { return s.names.NameOf(ctx, uid) }
	if want == nil {
		for _, n := range nodes {
			_, _ = s.p.Stdout.Write(AppendNode(nil, &s.style, n, name))
		}
		return
	}
	byName := make(map[string]*wire.NodeInfo, len(nodes))
	for _, n := range nodes {
		byName[n.State.Name] = n
	}
	for _, w := range want {
		n := byName[w]
		if n == nil {
			s.p.Print("Node %s not found\n", w)
			s.code = 1
			continue
		}
		_, _ = s.p.Stdout.Write(AppendNode(nil, &s.style, n, name))
	}
}

// loadNodes asks for nodes and sets the clock.
func (s *session) loadNodes(ctx context.Context, req *wire.NodesRequest) ([]*wire.NodeInfo, *wire.Refusal, error) {
	nodes, err := s.c.LoadNodes(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	if nodes.Now != 0 {
		s.style.Now = time.Unix(nodes.Now, 0)
	}
	return nodes.List, nodes.Refusal, nil
}

// loadPartitions asks for one partition or, without a name, for all. An unknown
// one leaves the list empty.
func (s *session) loadPartitions(ctx context.Context, id string) ([]*wire.PartitionInfo, bool) {
	var reply *wire.PartitionsReply
	err := s.c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) (err error) {
		reply, err = ctld.Partitions(ctx, &wire.PartitionsRequest{Name: id, All: s.all})
		return err
	})
	switch {
	case err != nil:
		s.fail("slurm_load_partitions error: %v", err)
		return nil, false
	case id == "" && reply.Refusal.GetCode() != 0:
		s.fail("slurm_load_partitions error: %s", reply.Refusal.Message)
		return nil, false
	}
	return slices.DeleteFunc(reply.Partitions, func(p *wire.PartitionInfo) bool { return id != "" && p.Name != id }), true
}

func (s *session) showPartition(ctx context.Context, id string) {
	list, ok := s.loadPartitions(ctx, id)
	switch {
	case !ok:
		return
	case len(list) == 0 && id != "":
		s.code = 1
		s.p.Print("Partition %s not found\n", id)
	case len(list) == 0:
		s.p.Print("No partitions in the system\n")
	}
	for _, p := range list {
		_, _ = s.p.Stdout.Write(AppendPartition(nil, &s.style, p))
	}
}

func (s *session) showHostNames(id string) {
	text, ok := s.hostArgument(id)
	if !ok {
		return
	}
	names, err := hostlist.Expand(text)
	if err != nil {
		s.fail("scontrol: error: %v", err)
		return
	}
	for _, n := range names {
		s.p.Print("%s\n", n)
	}
}

// hostArgument is the list to work on: as given, or the job's.
func (s *session) hostArgument(id string) (string, bool) {
	for _, name := range []string{"SLURM_JOB_NODELIST", "SLURM_NODELIST"} {
		if id == "" {
			id = s.p.Getenv(name)
		}
	}
	if id == "" {
		s.p.Error("host list is empty") // and the exit code stays 0, as Slurm's
		return "", false
	}
	return id, true
}

func (s *session) showHostList(id string, sorted bool) {
	if id == "" {
		s.fail("invalid encode argument")
		help(s.p)
		return
	}
	if strings.HasPrefix(id, "/") {
		text, err := os.ReadFile(id)
		if err != nil {
			s.fail("Can not open host list file: %v", err)
			return
		}
		id = strings.Join(strings.Fields(strings.ReplaceAll(string(text), ",", " ")), ",")
	}
	names, err := hostlist.Expand(id)
	if err != nil {
		s.fail("Invalid hostlist: %s", id)
		return
	}
	if sorted {
		s.p.Print("%s\n", hostlist.CompressSorted(names))
		return
	}
	s.p.Print("%s\n", hostlist.Compress(names))
}
