package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"muster/internal/auth/access"
	"muster/internal/model"
	"muster/internal/wire"
)

// collect reads a stream to its end.
func collect[T any](t *testing.T, recv func() (T, error)) (pages []T) {
	t.Helper()
	for {
		page, err := recv()
		if errors.Is(err, io.EOF) {
			return pages
		}
		require.NoError(t, err)
		pages = append(pages, page)
	}
}

func (w *world) jobs(uid uint32, r *wire.JobsRequest) (pages []*wire.JobsPage) {
	w.t.Helper()
	stream, err := w.as(uid).Jobs(w.ctx, r)
	require.NoError(w.t, err)
	return collect(w.t, stream.Recv)
}

// ids are the job ids of all pages.
func ids(pages []*wire.JobsPage) (out []uint32) {
	for _, p := range pages {
		for _, j := range p.Jobs {
			out = append(out, j.State.JobId)
		}
	}
	return out
}

func fewJobs() []model.JobPut {
	jobs := []model.JobPut{
		job(1, owner, wire.BaseState_PENDING), job(2, other, wire.BaseState_PENDING),
		job(3, owner, wire.BaseState_COMPLETED), job(4, owner, wire.BaseState_PENDING),
	}
	jobs[1].Spec.Account, jobs[1].Spec.Qos = "physics", "normal"
	jobs[3].Spec.Partition, jobs[3].State.Partition = "secret", "secret"
	return jobs
}

func TestJobSelection(t *testing.T) {
	w := newWorld(t, fewJobs(), nil)
	for name, test := range map[string]struct {
		sel  *wire.JobSelect
		want []uint32
	}{
		"active ones of open partitions": {nil, []uint32{1, 2}},
		"hidden partitions too":          {&wire.JobSelect{AllPartitions: true}, []uint32{1, 2, 4}},
		"all states":                     {&wire.JobSelect{AllStates: true}, []uint32{1, 2, 3}},
		"a state":                        {&wire.JobSelect{States: []string{"COMPLETED"}}, []uint32{3}},
		"a user":                         {&wire.JobSelect{Uids: []uint32{other}}, []uint32{2}},
		"all but a user":                 {&wire.JobSelect{Uids: []uint32{other}, NotUids: true}, []uint32{1}},
		"an account":                     {&wire.JobSelect{Accounts: []string{"physics"}}, []uint32{2}},
		"the QOS that all have":          {&wire.JobSelect{Qos: []string{"normal"}}, []uint32{1, 2}},
		"a name":                         {&wire.JobSelect{Names: []string{"job2", "x"}}, []uint32{2}},
		"ids, each once":                 {&wire.JobSelect{Jobs: []*wire.JobRef{{JobId: 2}, {JobId: 1}, {JobId: 2}}}, []uint32{2, 1}},
		"an id that is over":             {&wire.JobSelect{Jobs: []*wire.JobRef{{JobId: 3}}}, nil},
		"a node":                         {&wire.JobSelect{Nodes: []string{"n[1-2]"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			pages := w.jobs(owner, &wire.JobsRequest{Select: test.sel})
			require.NotEmpty(t, pages)
			assert.Nil(t, pages[0].Refusal)
			assert.Equal(t, begin, pages[0].Now)
			assert.Equal(t, test.want, ids(pages))
		})
	}
	pages := w.jobs(owner, &wire.JobsRequest{Select: &wire.JobSelect{Jobs: []*wire.JobRef{{JobId: 99}}}})
	assert.Equal(t, textInvalidJob, pages[0].Refusal.GetMessage())
	pages = w.jobs(owner, &wire.JobsRequest{Select: &wire.JobSelect{Nodes: []string{"n[1-"}}})
	assert.EqualValues(t, codeInvalidNode, pages[0].Refusal.GetCode())
}

func TestUnstartedTasksByName(t *testing.T) {
	array := job(10, owner, wire.BaseState_PENDING)
	array.State.ArrayJobId, array.State.ArrayPending = 10, "1-5"
	w := newWorld(t, []model.JobPut{array}, nil)
	pages := w.jobs(owner, &wire.JobsRequest{Select: &wire.JobSelect{Jobs: []*wire.JobRef{{JobId: 10, Tasks: "2,4,9"}}}})
	var tasks []uint32
	for _, j := range pages[0].Jobs {
		assert.True(t, j.State.IsArrayTask)
		tasks = append(tasks, j.State.ArrayTaskId)
	}
	assert.Equal(t, []uint32{2, 4}, tasks)

	folded := func(tasks ...string) []*wire.JobsPage {
		sel := &wire.JobSelect{}
		for _, t := range tasks {
			sel.Jobs = append(sel.Jobs, &wire.JobRef{JobId: 10, Tasks: t})
		}
		return w.jobs(owner, &wire.JobsRequest{Select: sel, FoldTasks: true})
	}
	one := folded("2", "4", "9")
	require.Len(t, one[0].Jobs, 1)
	assert.Equal(t, "2,4", one[0].Jobs[0].State.ArrayPending)
	one = folded("4")
	require.Len(t, one[0].Jobs, 1)
	assert.True(t, one[0].Jobs[0].State.IsArrayTask)
	assert.EqualValues(t, 4, one[0].Jobs[0].State.ArrayTaskId)
	none := folded("9")
	assert.Nil(t, none[0].Refusal, "a task that does not exist is no unknown job")
	assert.Empty(t, none[0].Jobs)
}

func TestMask(t *testing.T) {
	jobs := fewJobs()[:1]
	jobs[0].Spec.Comment = "long"
	w := newWorld(t, jobs, nil)
	field := func(m proto.Message, name string) uint32 {
		d := m.ProtoReflect().Descriptor().Fields()
		for i := range d.Len() {
			if string(d.Get(i).Name()) == name {
				return uint32(d.Get(i).Number())
			}
		}
		t.Fatalf("no field %s", name)
		return 0
	}
	got := w.jobs(owner, &wire.JobsRequest{
		Masked:      true,
		SpecFields:  []uint32{field(&wire.JobSpec{}, "name"), 1 << 20},
		StateFields: []uint32{field(&wire.JobState{}, "job_id")},
	})[0].Jobs[0]
	assert.True(t, proto.Equal(&wire.JobSpec{Name: "job1"}, got.Spec), got.Spec)
	assert.True(t, proto.Equal(&wire.JobState{JobId: 1}, got.State), got.State)
	whole := w.jobs(owner, &wire.JobsRequest{})[0].Jobs[0]
	assert.EqualValues(t, "long", whole.Spec.Comment)
}

func TestPaging(t *testing.T) {
	var jobs []model.JobPut
	for key := range int64(50) {
		j := job(key+1, owner, wire.BaseState_PENDING)
		j.Spec.Comment = strings.Repeat("x", pageBytes/10)
		jobs = append(jobs, j)
	}
	w := newWorld(t, jobs, nil)
	pages := w.jobs(owner, &wire.JobsRequest{})
	assert.Len(t, ids(pages), 50)
	assert.Greater(t, len(pages), 4)
	for _, p := range pages {
		assert.Less(t, proto.Size(p), 2*pageBytes)
		assert.NotEmpty(t, p.Jobs, "an empty page follows a full one")
	}
}

func TestEmptyListHasTheTime(t *testing.T) {
	pages := newWorld(t, nil, nil).jobs(owner, &wire.JobsRequest{})
	require.Len(t, pages, 1)
	assert.Equal(t, begin, pages[0].Now)
}

func TestPrivateData(t *testing.T) {
	w := newWorld(t, fewJobs(), func(o *Options) {
		o.Rules.Policy.Private = access.PrivateJobs | access.PrivateNodes | access.PrivatePartitions
	})
	assert.Equal(t, []uint32{1}, ids(w.jobs(owner, &wire.JobsRequest{})))
	assert.Equal(t, []uint32{1, 2, 4}, ids(w.jobs(root, &wire.JobsRequest{})), "hidden partitions hide nothing from root")
	nodes, err := w.as(owner).Nodes(w.ctx, &wire.NodesRequest{})
	require.NoError(t, err)
	assert.Equal(t, textAccessDenied, collect(t, nodes.Recv)[0].Refusal.GetMessage())
	parts, err := w.as(owner).Partitions(w.ctx, &wire.PartitionsRequest{})
	require.NoError(t, err)
	assert.Equal(t, textAccessDenied, parts.Refusal.GetMessage())
	w.store.runs = []*wire.RunRecord{
		{Spec: &wire.JobSpec{Uid: owner}, State: &wire.JobState{Key: 100, State: wire.BaseState_COMPLETED}},
		{Spec: &wire.JobSpec{Uid: other}, State: &wire.JobState{Key: 101, State: wire.BaseState_COMPLETED}},
	}
	assert.Equal(t, []string{"1.0 PENDING", "4.0 PENDING", "100.0 COMPLETED"}, w.history(owner, &wire.HistoryRequest{}))
}

func TestNodesAndPartitions(t *testing.T) {
	w := newWorld(t, nil, nil)
	c := w.as(owner)
	list := func(names string) *wire.NodesPage {
		stream, err := c.Nodes(w.ctx, &wire.NodesRequest{Names: names})
		require.NoError(t, err)
		return collect(t, stream.Recv)[0]
	}
	assert.Len(t, list("").Nodes, 2)
	assert.EqualValues(t, 4, list("n2").Nodes[0].Cpus)
	assert.Equal(t, "Node n3 not found", list("n[2-3]").Refusal.GetMessage())
	parts := func(r *wire.PartitionsRequest) *wire.PartitionsReply {
		reply, err := c.Partitions(w.ctx, r)
		require.NoError(t, err)
		return reply
	}
	assert.Len(t, parts(&wire.PartitionsRequest{}).Partitions, 1)
	assert.Len(t, parts(&wire.PartitionsRequest{All: true}).Partitions, 2)
	assert.Equal(t, "secret", parts(&wire.PartitionsRequest{Name: "secret"}).Partitions[0].Name)
	assert.Equal(t, "Partition x not found", parts(&wire.PartitionsRequest{Name: "x"}).Refusal.GetMessage())
}

func TestConfFilesOnlyWhenChanged(t *testing.T) {
	w := newWorld(t, nil, nil)
	for hash, files := range map[string]int{"": 1, "h0": 1, "h1": 0} {
		reply, err := w.as(owner).ConfFiles(w.ctx, &wire.ConfFilesRequest{Hash: hash})
		require.NoError(t, err)
		assert.Equal(t, "h1", reply.Hash)
		assert.Len(t, reply.Files, files, hash)
	}
}

// history is what sacct would show, as key, attempt and state.
func (w *world) history(uid uint32, r *wire.HistoryRequest) (out []string) {
	w.t.Helper()
	stream, err := w.as(uid).History(w.ctx, r)
	require.NoError(w.t, err)
	for _, p := range collect(w.t, stream.Recv) {
		assert.Equal(w.t, "c", p.Cluster)
		for _, run := range p.Runs {
			out = append(out, fmt.Sprintf("%d.%d %s", run.State.Key, run.State.Attempt, run.State.State))
		}
	}
	return out
}

func TestHistoryMergesEndedAndLiveRuns(t *testing.T) {
	w := newWorld(t, fewJobs(), nil) // 1, 2 and 4 wait, 3 has ended
	ended := func(key int64, attempt uint32, state wire.BaseState) *wire.RunRecord {
		return &wire.RunRecord{Spec: &wire.JobSpec{Uid: owner}, State: &wire.JobState{Key: key, Attempt: attempt, State: state}}
	}
	w.store.runs = []*wire.RunRecord{
		ended(0, 1, wire.BaseState_FAILED), ended(2, 0, wire.BaseState_NODE_FAIL), ended(3, 1, wire.BaseState_COMPLETED),
		ended(9, 1, wire.BaseState_TIMEOUT),
	}
	assert.Equal(t, []string{"0.1 FAILED", "1.0 PENDING", "2.0 PENDING", "3.1 COMPLETED", "4.0 PENDING", "9.1 TIMEOUT"},
		w.history(owner, &wire.HistoryRequest{}), "in the order of keys; an earlier attempt of a waiting job is not shown")
	assert.Equal(t, []string{"0.1 FAILED", "1.0 PENDING", "2.0 NODE_FAIL", "2.0 PENDING", "3.1 COMPLETED", "4.0 PENDING", "9.1 TIMEOUT"},
		w.history(owner, &wire.HistoryRequest{Duplicates: true}))
	// The store has been told of the filters; here are those for live jobs.
	w.store.runs = nil
	for name, test := range map[string]struct {
		r    *wire.HistoryRequest
		want []string
	}{
		"user":         {&wire.HistoryRequest{Uids: []uint32{other}}, []string{"2.0 PENDING"}},
		"account":      {&wire.HistoryRequest{Accounts: []string{"physics"}}, []string{"2.0 PENDING"}},
		"partition":    {&wire.HistoryRequest{Partitions: []string{"secret"}}, []string{"4.0 PENDING"}},
		"id":           {&wire.HistoryRequest{Jobs: []*wire.JobRef{{JobId: 2}, {JobId: 1}, {JobId: 2}}}, []string{"1.0 PENDING", "2.0 PENDING"}},
		"state":        {&wire.HistoryRequest{States: []string{"RUNNING"}}, nil},
		"before it":    {&wire.HistoryRequest{EndSet: true, End: begin - 2000}, nil},
		"within":       {&wire.HistoryRequest{EndSet: true, End: begin}, []string{"1.0 PENDING", "2.0 PENDING", "4.0 PENDING"}},
		"a node":       {&wire.HistoryRequest{Nodes: []string{"n1"}}, nil},
		"many CPUs":    {&wire.HistoryRequest{MinCpus: 5}, nil},
		"another name": {&wire.HistoryRequest{Names: []string{"job4"}}, []string{"4.0 PENDING"}},
	} {
		assert.Equal(t, test.want, w.history(owner, test.r), name)
	}
}

func TestHistoryFails(t *testing.T) {
	w := newWorld(t, fewJobs(), nil)
	w.store.fail = errors.New("the database is away")
	stream, err := w.as(owner).History(w.ctx, &wire.HistoryRequest{})
	require.NoError(t, err)
	for err == nil {
		_, err = stream.Recv()
	}
	assert.ErrorContains(t, err, "the database is away")
}

func TestSnapshotIsReadBack(t *testing.T) {
	jobs := fewJobs()
	jobs[0].Spec.Script = &wire.ContentRef{Hash: []byte("secret")}
	w := newWorld(t, jobs, nil)
	stream, err := w.as(owner).Snapshot(w.ctx, &wire.AdminRequest{})
	require.NoError(t, err)
	assert.Equal(t, textInvalidUser, collect(t, stream.Recv)[0].Refusal.GetMessage())

	stream, err = w.as(admin).Snapshot(w.ctx, &wire.AdminRequest{})
	require.NoError(t, err)
	var text bytes.Buffer
	for _, p := range collect(t, stream.Recv) {
		text.Write(p.Data)
	}
	lines := bufio.NewScanner(&text)
	var head snapshotLine
	require.True(t, lines.Scan())
	require.NoError(t, json.Unmarshal(lines.Bytes(), &head))
	assert.Equal(t, snapshotLine{Kind: "muster-snapshot", Version: SnapshotVersion, Now: begin, Cluster: "c"}, head)
	count := map[string]int{}
	for lines.Scan() {
		var line snapshotLine
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line))
		count[line.Kind]++
		if line.Kind != "job" {
			continue
		}
		var spec wire.JobSpec
		var state wire.JobState
		require.NoError(t, proto.Unmarshal(line.Spec, &spec))
		require.NoError(t, proto.Unmarshal(line.Data, &state))
		assert.Equal(t, state.JobId, line.ID)
		assert.Equal(t, state.State.String(), line.State)
		assert.Nil(t, spec.Script, "scripts stay out")
	}
	assert.Equal(t, map[string]int{"partition": 2, "node": 2, "job": 4}, count)
}

func TestStatesOfAWindow(t *testing.T) {
	ran := &wire.JobState{State: wire.BaseState_FAILED, Attempt: 1, Eligible: 100, Start: 200, End: 300}
	never := &wire.JobState{State: wire.BaseState_CANCELLED, Eligible: 100, End: 300}
	for _, c := range []struct {
		st       *wire.JobState
		state    string
		from, to int64
		want     bool
	}{
		{ran, "PENDING", 50, 99, false}, {ran, "PENDING", 50, 150, true}, {ran, "PENDING", 200, 250, true}, {ran, "PENDING", 201, 250, false},
		{ran, "RUNNING", 50, 199, false}, {ran, "RUNNING", 50, 200, true}, {ran, "RUNNING", 300, 400, true}, {ran, "RUNNING", 301, 400, false},
		{ran, "FAILED", 50, 299, false}, {ran, "FAILED", 300, 300, true}, {ran, "FAILED", 301, 400, false}, {ran, "COMPLETED", 0, 400, false},
		{never, "PENDING", 250, 260, true}, {never, "RUNNING", 0, 400, false}, {never, "CANCELLED", 0, 400, true},
	} {
		r := &wire.HistoryRequest{States: []string{c.state}, Start: c.from, End: c.to}
		assert.Equal(t, c.want, inStates(r, &wire.JobSpec{}, c.st), "%v %s from %d to %d", c.st.State, c.state, c.from, c.to)
	}
}
