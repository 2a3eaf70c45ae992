package access

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/auth"
)

const (
	slurmUser = 64030
	owner     = 1000
	stranger  = 1001
)

func caller(uid uint32, level Level, accounts ...string) Caller {
	return Caller{ID: auth.Identity{UID: uid, Method: auth.MethodSlurm}, Level: level,
		Coordinates: func(account string) bool {
			for _, a := range accounts {
				if a == account {
					return true
				}
			}
			return false
		}}
}

var callers = map[string]Caller{
	"root":          caller(0, LevelNone),
	"SlurmUser":     caller(slurmUser, LevelNone),
	"administrator": caller(2000, LevelAdministrator),
	"operator":      caller(2001, LevelOperator),
	"coordinator":   caller(2002, LevelNone, "physics"),
	"owner":         caller(owner, LevelNone),
	"stranger":      caller(stranger, LevelNone, "biology"),
	"nobody proven": {},
}

func TestRights(t *testing.T) {
	all := Private(0xffff)
	open, closed := Policy{SlurmUser: slurmUser}, Policy{SlurmUser: slurmUser, Private: all}
	everyone := []string{"root", "SlurmUser", "administrator", "operator", "coordinator", "owner", "stranger", "nobody proven"}
	operators := everyone[:4]
	tests := []struct {
		name string
		may  func(Caller) bool
		who  []string
	}{
		{"is super", open.IsSuper, everyone[:2]},
		{"admin", open.MayAdmin, everyone[:3]},
		{"operate", open.MayOperate, operators},
		{"submit as owner", func(c Caller) bool { return open.MaySubmitAs(c, owner) }, []string{"root", "SlurmUser", "owner"}},
		{"change job", func(c Caller) bool { return open.MayChangeJob(c, owner, "physics") }, everyone[:6]},
		{"change job without account", func(c Caller) bool { return open.MayChangeJob(c, owner, "") }, append(operators[:4:4], "owner")},
		{"change root's job", func(c Caller) bool { return open.MayChangeJob(c, 0, "") }, operators},
		{"read script", func(c Caller) bool { return open.MayReadScript(c, owner) }, append(operators[:4:4], "owner")},
		{"use step", func(c Caller) bool { return open.MayUseStep(c, owner) }, []string{"root", "SlurmUser", "owner"}},
		{"see job", func(c Caller) bool { return open.MaySeeJob(c, owner, "physics") }, everyone},
		{"see private job", func(c Caller) bool { return closed.MaySeeJob(c, owner, "physics") }, everyone[:6]},
		{"see nodes", open.MaySeeNodes, everyone},
		{"see private nodes", closed.MaySeeNodes, operators},
		{"see private partitions", closed.MaySeePartitions, operators},
		{"see private events", closed.MaySeeEvents, operators},
		{"see reservation", func(c Caller) bool { return open.MaySeeReservation(c, false) }, everyone},
		{"see private reservation", func(c Caller) bool { return closed.MaySeeReservation(c, false) }, operators},
		{"see usable private reservation", func(c Caller) bool { return closed.MaySeeReservation(c, true) }, everyone[:7]},
		{"see private usage", func(c Caller) bool { return closed.MaySeeUsage(c, owner, "physics") }, everyone[:6]},
		{"see private user", func(c Caller) bool { return closed.MaySeeUser(c, owner, "chemistry", "physics") }, everyone[:6]},
		{"see private account", func(c Caller) bool { return closed.MaySeeAccount(c, "physics") }, everyone[:5]},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, name := range everyone {
				if test.may(callers[name]) {
					got = append(got, name)
				}
			}
			assert.Equal(t, test.who, got)
		})
	}
}

func TestNodeRights(t *testing.T) {
	p := Policy{SlurmUser: slurmUser, SlurmdUser: 0}
	cert := func(uid uint32, node string) Caller {
		return Caller{ID: auth.Identity{UID: uid, Node: node, Method: auth.MethodCertificate}}
	}
	local := func(uid uint32) Caller { return Caller{ID: auth.Identity{UID: uid, Method: auth.MethodPeer}} }
	token := caller(0, LevelNone)

	assert.True(t, p.MayServeNode(cert(0, "n1"), "n1"))
	assert.False(t, p.MayServeNode(cert(0, "n1"), "n2"))
	assert.False(t, p.MayServeNode(cert(0, "n1"), ""))
	assert.False(t, p.MayServeNode(token, "n1"), "over the network only under the node's certificate")
	assert.True(t, p.MayServeNode(local(0), "n1"))
	assert.True(t, p.MayServeNode(local(slurmUser), "n1"))
	assert.False(t, p.MayServeNode(local(owner), "n1"))
	assert.False(t, p.MayServeNode(cert(owner, "n1"), "n1"))

	assert.True(t, p.MayEnrolNode(token, "n1"))
	assert.True(t, p.MayEnrolNode(cert(0, "n1"), "n1"))
	assert.False(t, p.MayEnrolNode(cert(0, "n1"), "n2"))
	assert.False(t, p.MayEnrolNode(caller(owner, LevelAdministrator), "n1"))
	assert.False(t, p.MayEnrolNode(Caller{}, "n1"), "the zero identity is not root")
}

func TestParsePrivate(t *testing.T) {
	for value, want := range map[string]string{
		"":                   "none",
		"none":               "none",
		"jobs":               "jobs",
		"Usage, JOBS,nodes,": "jobs,nodes,usage",
		"accounts,events,jobs,nodes,partitions,reservations,usage,users": "accounts,events,jobs,nodes,partitions,reservations,usage,users",
	} {
		set, err := ParsePrivate(value)
		require.NoError(t, err)
		assert.Equal(t, want, set.String())
	}
	_, err := ParsePrivate("jobs,cloud")
	assert.ErrorContains(t, err, `PrivateData: "cloud" is none of`)
}
