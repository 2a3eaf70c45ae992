package api

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"muster/internal/auth"
	"muster/internal/controller"
	"muster/internal/wire"
)

func nodeIdentity(name string) auth.Identity {
	return auth.Identity{Node: name, Method: auth.MethodCertificate}
}

// node opens a session; the answer to its registration has not been read.
func (w *world) node(id auth.Identity, name string) wire.DRPCNodeSession_SessionClient {
	w.t.Helper()
	stream, err := wire.NewDRPCNodeSessionClient(w.connect(id)).Session(w.ctx)
	require.NoError(w.t, err)
	require.NoError(w.t, stream.Send(&wire.NodeReport{Report: &wire.NodeReport_Register{Register: &wire.Register{
		Protocol: 1, Node: name, BootId: "b", Addr: name + ":1", Version: "1",
		Inventory: &wire.Inventory{Cpus: 4, Boards: 1, Sockets: 1, CoresPerSocket: 4, ThreadsPerCore: 1, RealMemory: 4000},
	}}}))
	return stream
}

// registered reads the answer to a registration.
func registered(t *testing.T, stream wire.DRPCNodeSession_SessionClient) *wire.Registered {
	t.Helper()
	order, err := stream.Recv()
	require.NoError(t, err)
	require.NotNil(t, order.GetRegistered(), order)
	return order.GetRegistered()
}

// drain reads orders until the session ends, and answers pings.
func drain(stream wire.DRPCNodeSession_SessionClient) <-chan error {
	ended := make(chan error, 1)
	go func() {
		for {
			order, err := stream.Recv()
			if err == nil && order.GetPing() {
				err = stream.Send(&wire.NodeReport{Report: &wire.NodeReport_Load{Load: &wire.NodeLoad{CpuLoad: 50, FreeMem: 7}}})
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	return ended
}

func TestSession(t *testing.T) {
	w := newWorld(t, nil, nil)
	stream := w.node(nodeIdentity("n1"), "n1")
	reply := registered(t, stream)
	assert.Empty(t, reply.Error)
	assert.EqualValues(t, 7, reply.Term)
	assert.Equal(t, "id", reply.ClusterId)
	assert.Equal(t, "h1", reply.ConfHash)
	assert.Equal(t, "n1:1", w.srv.address("n1"))
	assert.Equal(t, "n2.example:6818", w.srv.address("n2"), "as configured, without a session")

	require.NoError(t, stream.Send(&wire.NodeReport{Report: &wire.NodeReport_Load{Load: &wire.NodeLoad{CpuLoad: 123, FreeMem: 99}}}))
	require.NoError(t, stream.Send(&wire.NodeReport{Report: &wire.NodeReport_Run{Run: &wire.RunFact{Key: 5, Attempt: 1}}}))
	assert.EqualValues(t, 5, event[*controller.NodeReport](w).Run.Key)
	load, heard, ok := w.srv.sessions.load("n1")
	require.True(t, ok)
	assert.EqualValues(t, 123, load.CpuLoad)
	assert.Equal(t, begin, heard)

	require.NoError(t, stream.Close())
	assert.Equal(t, "n1", event[*controller.NodeGone](w).Node)
	load, _, _ = w.srv.sessions.load("n1")
	assert.EqualValues(t, 123, load.CpuLoad, "the last figures stay")
}

func TestSessionRefusals(t *testing.T) {
	w := newWorld(t, nil, nil)
	for _, test := range []struct {
		id   auth.Identity
		node string
		want string
	}{
		{nodeIdentity("n2"), "n1", "may not serve node n1"},
		{nodeIdentity("n9"), "n9", "n9 is not in slurm.conf"},
		{auth.Identity{UID: root, Method: auth.MethodSlurm}, "n1", "may not serve node n1"},
		{auth.Identity{UID: owner, Method: auth.MethodPeer}, "n1", "may not serve node n1"},
		{auth.Identity{UID: root, Method: auth.MethodPeer}, "n1", ""},
	} {
		why := registered(t, w.node(test.id, test.node)).Error
		if test.want == "" {
			assert.Empty(t, why)
		} else {
			assert.Contains(t, why, test.want)
		}
	}
}

func TestSecondSessionIsRefusedWhileTheFirstLives(t *testing.T) {
	w := newWorld(t, nil, nil)
	first := w.node(nodeIdentity("n1"), "n1")
	registered(t, first)
	ended := drain(first)
	assert.Equal(t, errSecondSession.Error(), registered(t, w.node(nodeIdentity("n1"), "n1")).Error)
	select {
	case err := <-ended:
		t.Fatalf("the first session ended: %v", err)
	default:
	}
}

func TestDeadSessionIsReplaced(t *testing.T) {
	w := newWorld(t, nil, nil)
	first := w.node(nodeIdentity("n1"), "n1")
	registered(t, first) // and reads no more: its peer has vanished
	old := w.srv.sessions.of("n1").number
	second := w.node(nodeIdentity("n1"), "n1")
	assert.Empty(t, registered(t, second).Error)
	assert.Equal(t, old, event[*controller.NodeGone](w).Session, "the old one ends though nobody reads from it")
	assert.Greater(t, w.srv.sessions.of("n1").number, old)
}

func TestFullOutboxEndsTheSession(t *testing.T) {
	w := newWorld(t, nil, nil)
	registered(t, w.node(nodeIdentity("n1"), "n1"))
	number := w.srv.sessions.of("n1").number
	for range 2 * outboxSize { // a few are on their way
		w.srv.Send("n1", number, &wire.NodeOrder{Body: &wire.NodeOrder_Ping{Ping: true}})
	}
	assert.Equal(t, number, event[*controller.NodeGone](w).Session)
	assert.Contains(t, w.log.String(), "its outbox is full")
	w.srv.Send("n1", number, &wire.NodeOrder{}) // to nobody
	assert.Nil(t, w.srv.sessions.of("n1"))
}

func TestReducerEndsASession(t *testing.T) {
	w := newWorld(t, nil, nil)
	stream := w.node(nodeIdentity("n1"), "n1")
	registered(t, stream)
	number := w.srv.sessions.of("n1").number
	w.srv.CloseSession("n1", number+1, "another's")
	ended := drain(stream)
	w.srv.CloseSession("n1", number, "it is of another cluster")
	assert.Error(t, <-ended)
	event[*controller.NodeGone](w)
	assert.Contains(t, w.log.String(), "it is of another cluster")
}

func TestSilence(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.srv.conns.Go(func() { w.srv.Watch(w.ctx) })
	stream := w.node(nodeIdentity("n1"), "n1")
	registered(t, stream)
	w.clock.Add(61)
	silent := event[*controller.NodeSilent](w)
	assert.Equal(t, "n1", silent.Node)
	assert.Equal(t, begin, silent.Since)
	require.NoError(t, stream.Send(&wire.NodeReport{Report: &wire.NodeReport_Load{Load: &wire.NodeLoad{}}}))
	assert.Equal(t, silent.Session, event[*controller.NodeHeard](w).Session)
	assert.Empty(t, w.srv.sessions.silentSince(begin+61))
}

// order reads the next order to a node.
func nextOrder(t *testing.T, stream wire.DRPCNodeSession_SessionClient) *wire.NodeOrder {
	t.Helper()
	order, err := stream.Recv()
	require.NoError(t, err)
	return order
}

func TestLaunchIsCompleted(t *testing.T) {
	w := newWorld(t, nil, nil)
	stream := w.node(nodeIdentity("n1"), "n1")
	registered(t, stream)
	number := w.srv.sessions.of("n1").number
	launch := func(hash string, batchHost bool) {
		w.srv.Launch("n1", number, &wire.RunOrder{Key: 5, Attempt: 2, BatchHost: batchHost,
			Alloc: []*wire.NodeAlloc{{Node: "n1"}, {Node: "n2"}},
			Spec:  &wire.JobSpec{Uid: owner, Batch: true, Script: &wire.ContentRef{Hash: []byte(hash)}}})
	}
	read := func() *wire.RunOrder {
		signed := nextOrder(t, stream).GetLaunch()
		assert.Equal(t, "signed", string(signed.GetSignature()))
		var run wire.RunOrder
		require.NoError(t, proto.Unmarshal(signed.GetPayload(), &run))
		return &run
	}
	w.store.contents[fmt.Sprint(owner, "hash")] = []byte("#!/bin/sh")
	launch("hash", true)
	run := read()
	assert.Equal(t, "#!/bin/sh", string(run.Script))
	assert.Equal(t, "n1=n1:1,n2=n2.example:6818", run.NodeAddrs)
	assert.Equal(t, "id", run.ClusterId)
	launch("none", false)
	assert.Empty(t, read().Script, "other hosts get no script")

	launch("none", true)
	lost := event[*controller.LaunchLost](w)
	assert.Equal(t, controller.LaunchLost{Node: "n1", Key: 5, Attempt: 2, Why: lost.Why}, *lost)
	assert.Contains(t, lost.Why, "not in the store")

	// A store that is away is waited for.
	w.store.mu.Lock()
	w.store.fail = errors.New("away")
	w.store.contents[fmt.Sprint(owner, "late")] = []byte("late")
	w.store.mu.Unlock()
	launch("late", true)
	w.store.mu.Lock()
	w.store.fail = nil
	w.store.mu.Unlock()
	assert.Equal(t, "late", string(read().Script))
}

func TestShutdownReachesNodesFirst(t *testing.T) {
	w := newWorld(t, nil, nil)
	stream := w.node(nodeIdentity("n1"), "n1")
	registered(t, stream)
	_, err := w.as(root).Admin(w.ctx, &wire.AdminRequest{Verb: "reconfigure"})
	require.NoError(t, err)
	assert.True(t, nextOrder(t, stream).GetReconfigure())
	_, err = w.as(root).Admin(w.ctx, &wire.AdminRequest{Verb: "shutdown"})
	require.NoError(t, err)
	assert.True(t, nextOrder(t, stream).GetShutdown())
}

func TestCertificates(t *testing.T) {
	w := newWorld(t, nil, nil)
	token := func(uid uint32) auth.Identity { return auth.Identity{UID: uid, Method: auth.MethodMunge} }
	for _, test := range []struct {
		id   auth.Identity
		node string
		want string
	}{
		{token(root), "n1", ""}, {nodeIdentity("n1"), "n1", ""},
		{token(root), "n3", "n3 is not in slurm.conf"}, {token(owner), "n1", "may not serve node n1"},
		{nodeIdentity("n1"), "n2", "may not serve node n2"},
	} {
		reply, err := wire.NewDRPCNodeSessionClient(w.connect(test.id)).Certificate(w.ctx, &wire.CertRequest{Node: test.node})
		require.NoError(t, err)
		if test.want == "" {
			assert.Equal(t, "cert of "+test.node, string(reply.Certificate))
			continue
		}
		assert.Contains(t, reply.Error, test.want)
		assert.Empty(t, reply.Certificate)
	}
}

func TestPing(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.srv.SetDatabaseAway(true)
	reply, err := w.as(owner).Ping(w.ctx, &wire.PingRequest{})
	require.NoError(t, err)
	assert.True(t, reply.Leader)
	assert.True(t, reply.DatabaseAway)
	assert.Equal(t, "ctl", reply.Host)
}
