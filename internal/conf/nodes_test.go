package conf

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNodes(t *testing.T) {
	c := mustLoad(t, "slurm.conf", head+`SlurmdPort=7000
GresTypes=gpu,shard
NodeName=DEFAULT Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 RealMemory=64000
NodeName=DEFAULT Feature=old,cpu
NodeName=rack[0-1]n[01-02] NodeAddr=10.0.0.[1-4] Port=[7001-7004] State=UNKNOWN Weight=5
nodename=big NodeHostname=bighost CPUs=64 Features=fat,gpu Gres=gpu:a100:8,shard:16 RealMemory=512G State=down Reason="power supply"
DownNodes=rack1n02 State=DRAIN Reason=broken
`)
	require.Len(t, c.Nodes, 5)
	var names []string
	for _, n := range c.Nodes {
		names = append(names, n.Name)
	}
	assert.Equal(t, []string{"rack0n01", "rack0n02", "rack1n01", "rack1n02", "big"}, names)
	n := c.Nodes[3]
	assert.Equal(t, "10.0.0.4", n.Addr)
	assert.Equal(t, "rack1n02", n.Hostname)
	assert.Equal(t, 7004, n.Port)
	assert.Equal(t, 32, n.CPUs)
	assert.Equal(t, []string{"old", "cpu"}, n.Features)
	assert.Equal(t, "DRAIN", n.State)
	assert.Equal(t, "broken", n.Reason)
	assert.EqualValues(t, 5, n.Weight)
	big := c.Nodes[4]
	assert.Equal(t, "bighost", big.Addr)
	assert.Equal(t, 7000, big.Port)
	assert.EqualValues(t, 512*1024, big.RealMemory)
	assert.Equal(t, []string{"fat", "gpu"}, big.Features)
	assert.Equal(t, []GresCount{{Name: "gpu", Type: "a100", Count: 8}, {Name: "shard", Count: 16}}, big.GresCounts)
	assert.Equal(t, "power supply", big.Reason)
	assert.Equal(t, 32, big.CPUs, "64 CPUs match nothing, sockets, cores and threads count")
	assert.Contains(t, notices(c)[0], "NodeName=big: CPUs=64 match no Sockets")
}

func TestLayoutIsDerived(t *testing.T) {
	for _, tc := range []struct {
		attrs                                 string
		cpus, boards, sockets, cores, threads int
	}{
		{"", 1, 1, 1, 1, 1},
		{"CPUs=4", 4, 1, 4, 1, 1},
		{"Procs=4", 4, 1, 4, 1, 1},
		{"CPUs=16 CoresPerSocket=4", 16, 1, 4, 4, 1},
		{"CPUs=16 CoresPerSocket=4 ThreadsPerCore=2", 16, 1, 2, 4, 2},
		{"Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 16, 1, 2, 4, 2},
		{"CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 8, 1, 2, 4, 2},
		{"CPUs=2 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 2, 1, 2, 4, 2},
		{"CPUs=5 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 16, 1, 2, 4, 2},
		{"Boards=2 SocketsPerBoard=2 CoresPerSocket=4", 16, 2, 4, 4, 1},
		{"Boards=2 Sockets=4 CoresPerSocket=4", 16, 2, 4, 4, 1},
	} {
		n := mustLoad(t, "slurm.conf", head+"NodeName=n "+tc.attrs+"\n").Nodes[0]
		assert.Equal(t, []int{tc.cpus, tc.boards, tc.sockets, tc.cores, tc.threads},
			[]int{n.CPUs, n.Boards, n.Sockets, n.CoresPerSocket, n.ThreadsPerCore}, tc.attrs)
	}
}

func TestNodeMistakes(t *testing.T) {
	assert.ElementsMatch(t, []string{
		`slurm.conf:3: unknown node attribute "RealMemroy"; did you mean RealMemory?`,
		"slurm.conf:5: node n2 is defined twice (first at X:4)",
		"slurm.conf:6: NodeAddr names 2, NodeName 3",
		`slurm.conf:7: NodeName: invalid host list "b[1": position 1: '[' without ']'`,
		`slurm.conf:8: CPUs: wanted a whole number, found "many"`,
		`slurm.conf:8: State: wanted one of UNKNOWN, IDLE, DOWN, DRAIN, FAIL, FAILING, FUTURE, CLOUD, EXTERNAL, found "UPP"`,
		"slurm.conf:9: Gres: gpu is not in GresTypes; add it there (GresTypes=gpu)",
		"slurm.conf:10: DownNodes: node a9 is not defined; did you mean a1?",
		"slurm.conf:11: Sockets: at least 1",
		`slurm.conf:12: RealMemory: invalid memory size (wanted a whole number with K, M, G or T) "1.5G"`,
	}, replacePath(failures(t, "slurm.conf", head+`NodeName=n1 RealMemroy=5
NodeName=n2
NodeName=n2
NodeName=a[1-3] NodeAddr=x,y
NodeName=b[1
NodeName=d CPUs=many State=UPP
NodeName=e Gres=gpu:2
DownNodes=a9
NodeName=f Sockets=0
NodeName=g RealMemory=1.5G
`)))
}

func replacePath(in []string) []string {
	var out []string
	for _, s := range in {
		out = append(out, pathInText.ReplaceAllString(s, "X:$1"))
	}
	return out
}

func TestPartitions(t *testing.T) {
	c := mustLoad(t, "slurm.conf", head+`NodeName=n[1-4] Feature=a
NodeName=m[1-2] Feature=gpu
NodeSet=gpus Feature=gpu
NodeSet=mix Feature=gpu Nodes=n1
PartitionName=DEFAULT MaxTime=30 State=UP
PartitionName=all Nodes=ALL Default=YES
PartitionName=g Nodes=gpus,n[3-4] MaxTime=INFINITE DefaultTime=1:00:00 OverSubscribe=FORCE MaxNodes=2
PartitionName=x Nodes=mix State=drain Shared=YES:2 DefMemPerCPU=100 AllowGroups=a,b AllowAccounts=ALL Hidden=yes ExclusiveUser=yes
PartitionName=empty
`)
	assert.Equal(t, []string{"n1", "m1", "m2"}, c.NodeSets[1].Nodes)
	all, g, x := c.Partitions[0], c.Partitions[1], c.Partitions[2]
	assert.Len(t, all.NodeNames, 6)
	assert.True(t, all.Default)
	assert.EqualValues(t, 30, all.MaxTime)
	assert.Equal(t, Unlimited, all.MaxNodes)
	assert.Equal(t, []string{"m1", "m2", "n3", "n4"}, g.NodeNames)
	assert.Equal(t, Unlimited, g.MaxTime)
	assert.EqualValues(t, 60, g.DefaultTime)
	assert.Equal(t, "FORCE:4", g.OverSubscribe)
	assert.EqualValues(t, 2, g.MaxNodes)
	assert.Equal(t, "DRAIN", x.State)
	assert.Equal(t, "YES:2", x.OverSubscribe)
	assert.Equal(t, MemLimit{MemPerCPU, 100}, x.DefMem)
	assert.Equal(t, []string{"a", "b"}, x.AllowGroups)
	assert.Nil(t, x.AllowAccounts)
	assert.True(t, x.Hidden)
	assert.Equal(t, "USER", x.Exclusive)
	assert.Empty(t, c.Partitions[3].NodeNames)
}

func TestPartitionMistakes(t *testing.T) {
	assert.ElementsMatch(t, []string{
		"slurm.conf:4: partition a: node node11 is not defined; did you mean node1?",
		`slurm.conf:5: MaxTime: invalid time limit "1h" (wanted minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes, days-hours:minutes:seconds or UNLIMITED)`,
		"slurm.conf:6: partition a is defined twice (first at X:4)",
		`slurm.conf:7: unknown partition attribute "MaxNode"; did you mean MaxNodes?`,
		`slurm.conf:8: State: wanted one of UP, DOWN, DRAIN, INACTIVE, found "UPP"`,
		"slurm.conf:9: partition e: MinNodes 3 is more than MaxNodes 2",
		"slurm.conf:10: Alternate: partition nope is not defined",
		"slurm.conf:11: NodeSet s needs Feature or Nodes",
	}, replacePath(failures(t, "slurm.conf", head+`NodeName=node[1-3]
PartitionName=a Nodes=node[1,11]
PartitionName=b MaxTime=1h
PartitionName=a
PartitionName=c MaxNode=1
PartitionName=d State=UPP
PartitionName=e MinNodes=3 MaxNodes=2
PartitionName=f Alternate=nope
NodeSet=s
`)))
}
