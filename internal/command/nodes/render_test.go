package nodes

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// The cluster is a real one at the moment when its sinfo printed the tables below.

func node(name string, change func(*wire.NodeInfo)) *wire.NodeInfo {
	n := &wire.NodeInfo{
		State: &wire.NodeState{Name: name, Hostname: "vm", Addr: "127.0.0.1", Base: wire.NodeBase_NODE_IDLE, Weight: 1,
			Registered: true, Version: "22.05.8"},
		Cpus: 16, Sockets: 1, CoresPerSocket: 16, ThreadsPerCore: 1, RealMemory: 16000, Gres: "gpu:tesla:8",
		GresUsed: "gpu:tesla:0(IDX:N/A)", FreeMem: 23498, CpuLoad: 103,
	}
	change(n)
	return n
}

func planned(n *wire.NodeInfo) { n.State.Flags |= uint32(wire.NodeFlag_NF_PLANNED) }

func cluster() ([]*wire.PartitionInfo, []*wire.NodeInfo) {
	part := func(name string, nodes ...string) *wire.PartitionInfo {
		return &wire.PartitionInfo{Name: name, State: "UP", MaxTime: slurmtime.Unlimited, MaxNodes: slurmtime.Unlimited,
			PriorityTier: 1, PriorityJobFactor: 1, NodeNames: nodes}
	}
	debug, short := part("debug", "node1", "node2", "node3", "node4"), part("short", "node1", "node2")
	other, stopped := part("other", "node3", "node4"), part("stopped", "node4")
	debug.IsDefault, short.MaxTime, short.DefaultTime, other.MaxNodes, stopped.State = true, 30, 10, 1, "DOWN"
	nodes := []*wire.NodeInfo{
		node("node1", func(n *wire.NodeInfo) { n.AllocCpus, n.GresUsed = 6, "gpu:tesla:2(IDX:0-1)" }),
		node("node2", planned), node("node3", planned), node("node4", planned),
	}
	return []*wire.PartitionInfo{debug, short, other, stopped}, nodes
}

func show(table *Table, sort string, f *Filter, byNode bool) string {
	parts, nodes := cluster()
	view := &Context{Now: time.Unix(1796074313, 0).UTC(), UserName: func(uint32) string { return "root" }}
	rows := table.Rows(view, parts, nodes, f, byNode)
	Sort(rows, sort)
	return string(table.Append(nil, true, rows))
}

func TestTables(t *testing.T) {
	mix, bad := parseStates("mix")
	require.Empty(t, bad)
	idle, _ := parseStates("idle")
	for _, c := range []struct {
		name, format string
		filter       Filter
		byNode       bool
		want         string
	}{
		{"plain", PlainFormat, Filter{}, false, `PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
debug*       up   infinite      3   plnd node[2-4]
debug*       up   infinite      1    mix node1
short        up      30:00      1   plnd node2
short        up      30:00      1    mix node1
other        up   infinite      2   plnd node[3-4]
stopped    down   infinite      1   plnd node4
`},
		{"summary", SummaryFormat, Filter{}, false, `PARTITION AVAIL  TIMELIMIT   NODES(A/I/O/T) NODELIST
debug*       up   infinite          1/3/0/4 node[1-4]
short        up      30:00          1/1/0/2 node[1-2]
other        up   infinite          0/2/0/2 node[3-4]
stopped    down   infinite          0/1/0/1 node4
`},
		{"long nodes", NodeLongFormat, Filter{}, true, `NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON              
node1          1    debug*       mixed 16     1:16:1  16000        0      1   (null) none                
node1          1     short       mixed 16     1:16:1  16000        0      1   (null) none                
node2          1    debug*     planned 16     1:16:1  16000        0      1   (null) none                
node2          1     short     planned 16     1:16:1  16000        0      1   (null) none                
node3          1    debug*     planned 16     1:16:1  16000        0      1   (null) none                
node3          1     other     planned 16     1:16:1  16000        0      1   (null) none                
node4          1    debug*     planned 16     1:16:1  16000        0      1   (null) none                
node4          1     other     planned 16     1:16:1  16000        0      1   (null) none                
node4          1   stopped     planned 16     1:16:1  16000        0      1   (null) none                
`},
		{"nodes by state", NodeFormat, Filter{States: mix}, true, `NODELIST   NODES PARTITION STATE 
node1          1    debug* mix   
node1          1     short mix   
`},
		{"states", PlainFormat, Filter{States: mix}, false, `PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
debug*       up   infinite      1    mix node1
short        up      30:00      1    mix node1
other        up   infinite      0    n/a 
stopped    down   infinite      0    n/a 
`},
		{"planned is idle", PlainFormat, Filter{States: idle}, false, `PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
debug*       up   infinite      3   plnd node[2-4]
short        up      30:00      1   plnd node2
other        up   infinite      2   plnd node[3-4]
stopped    down   infinite      1   plnd node4
`},
		{"no node", PlainFormat, Filter{Names: map[string]bool{"nosuch": true}}, false, `PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
debug*       up   infinite      0    n/a 
short        up      30:00      0    n/a 
other        up   infinite      0    n/a 
stopped    down   infinite      0    n/a 
`},
		{"no reasons", ReasonFormat, Filter{Reasons: true}, false, "REASON               USER      TIMESTAMP           NODELIST\n"},
	} {
		sort := DefaultSort
		if c.byNode {
			sort = NodeSort
		}
		assert.Equal(t, c.want, show(ParseTable(c.format, false), sort, &c.filter, c.byNode), c.name)
	}
}

// Each is what sinfo -o '%N|%x' printed.
func TestGroupingFollowsTheFormat(t *testing.T) {
	for format, want := range map[string]string{
		"%N|%a": "NODELIST|AVAIL\nnode[1-4]|up\nnode4|down\n",
		"%N|%A": "NODELIST|NODES(A/I)\nnode[1-4]|1/3\n",
		"%N|%C": "NODELIST|CPUS(A/I/O/T)\nnode[1-4]|6/58/0/64\n",
		"%N|%D": "NODELIST|NODES\nnode[1-4]|4\n",
		"%N|%F": "NODELIST|NODES(A/I/O/T)\nnode[1-4]|1/3/0/4\n",
		"%N|%l": "NODELIST|TIMELIMIT\nnode[1-4]|infinite\nnode[1-2]|30:00\n",
		"%N|%s": "NODELIST|JOB_SIZE\nnode[1-4]|1-infinite\nnode[3-4]|1\n",
		"%N|%t": "NODELIST|STATE\nnode[2-4]|plnd\nnode1|mix\n",
		"%N|%P": "NODELIST|PARTITION\nnode[1-4]|debug*\nnode[1-2]|short\nnode[3-4]|other\nnode4|stopped\n",
		"%N|%B": "NODELIST|MAX_CPUS_PER_NODE\nnode[1-4]|UNLIMITED\n",
		"%N|%e": "NODELIST|FREE_MEM\nnode[1-4]|23498\n",
		"%N|%O": "NODELIST|CPU_LOAD\nnode[1-4]|1.03\n",
		"%N|%U": "NODELIST|USER\nnode[1-4]|Unknown\n",
		"%N|%z": "NODELIST|S:C:T\nnode[1-4]|1:16:1\n",
		"%Q":    "%Q\n%Q\n",
	} {
		assert.Equal(t, want, show(ParseTable(format, false), DefaultSort, &Filter{}, false), format)
	}
	assert.Equal(t, `HOSTNAMES           CPUS(A/I/O/T)       GRES                GRES_USED           
vm                  0/48/0/48           gpu:tesla:8         gpu:tesla:0(IDX:N/A)
vm                  6/10/0/16           gpu:tesla:8         gpu:tesla:2(IDX:0-1)
`, show(ParseNames("nodehost,cpusstate,gres,gresused", false), DefaultSort, &Filter{}, false))
}

func TestAll(t *testing.T) {
	lines := strings.Split(show(ParseTable("%all", false), DefaultSort, &Filter{}, false), "\n")
	assert.Equal(t, "AVAIL|ACTIVE_FEATURES|CPUS|TMP_DISK|FREE_MEM|AVAIL_FEATURES|GROUPS|OVERSUBSCRIBE|TIMELIMIT|MEMORY|HOSTNAMES|NODE_ADDR|PRIO_TIER|ROOT|JOB_SIZE|STATE|USER|VERSION|WEIGHT|S:C:T|NODES(A/I) |MAX_CPUS_PER_NODE |CPUS(A/I/O/T) |NODES |REASON |NODES(A/I/O/T) |GRES |TIMESTAMP |PRIO_JOB_FACTOR |DEFAULTTIME |PREEMPT_MODE |NODELIST |CPU_LOAD |PARTITION |PARTITION |ALLOCNODES |STATE |USER |CLUSTER |SOCKETS |CORES |THREADS ", lines[0])
	assert.Equal(t, "up|(null)|16|0|23498|(null)|all|NO|30:00|16000|vm|127.0.0.1|1|no|1-infinite|mix|Unknown|22.05.8|1|1:16:1|1/0 |UNLIMITED |6/10/0/16 |1 |none |1/0/0/1 |gpu:tesla:8 |Unknown |1 |10:00 |OFF |node1 |1.03 |short |short |all |mixed |Unknown |N/A |1 |16 |1 ", lines[4])
}

func TestUnequalNodesShareARowUnlessExact(t *testing.T) {
	parts := []*wire.PartitionInfo{{Name: "p", State: "UP", NodeNames: []string{"a", "b"}}}
	nodes := []*wire.NodeInfo{node("a", func(n *wire.NodeInfo) { n.Cpus, n.FreeMem = 8, 5 }), node("b", func(*wire.NodeInfo) {})}
	line := func(exact bool) string {
		table := ParseTable("%N|%c|%e|%D", exact)
		return string(table.Append(nil, false, table.Rows(&Context{}, parts, nodes, &Filter{}, false)))
	}
	assert.Equal(t, "a,b|8+|5-23498|2\n", line(false))
	assert.Equal(t, "a|8|5|1\nb|16|23498|1\n", line(true))
}

func TestUnknownStateIsNamed(t *testing.T) {
	_, bad := parseStates("idle,nosuch")
	assert.Equal(t, "nosuch", bad)
}
