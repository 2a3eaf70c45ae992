package conf

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var pathInText = regexp.MustCompile(`/\S*/slurm.conf:(\d+)`)

const gpuHead = head + "GresTypes=gpu,shard,nic\nNodeName=n[1-2] Gres=gpu:8\n"

func TestParseGresList(t *testing.T) {
	for in, want := range map[string][]GresCount{
		"":                     nil,
		"gpu":                  {{Name: "gpu", Count: 1}},
		"gpu:2":                {{Name: "gpu", Count: 2}},
		"gpu:a100:2,shard:1K":  {{Name: "gpu", Type: "a100", Count: 2}, {Name: "shard", Count: 1024}},
		"gpu:a100":             {{Name: "gpu", Type: "a100", Count: 1}},
		"gpu:8(S:0-1)":         {{Name: "gpu", Count: 8}},
		"gpu:a:2(IDX:0,1),x:1": {{Name: "gpu", Type: "a", Count: 2}, {Name: "x", Count: 1}},
		"lustre:no_consume:4G": {{Name: "lustre", Count: 4 << 30, NoConsume: true}},
		"(null)":               nil,
	} {
		got, err := ParseGresList(in)
		require.NoError(t, err, in)
		assert.Equal(t, want, got, in)
	}
	for _, in := range []string{":2", "gpu:a:b:2", "gpu::2"} {
		_, err := ParseGresList(in)
		assert.Error(t, err, in)
	}
}

func TestGresConf(t *testing.T) {
	c := mustLoad(t, "slurm.conf", gpuHead, "gres.conf", `AutoDetect=off
NodeName=n1 Name=gpu Type=a100 File=/dev/nvidia[0-3] Cores=0-15 Links=-1,4,0,0
NodeName=n[1-2] Name=gpu Type=h100 File=/dev/nvidia4,/dev/nvidia5
Name=shard Count=8 File=/dev/nvidia[0-3]
Name=nic Count=2K Flags=CountOnly
Name=other File=/dev/other
NodeName=stranger Name=gpu Count=2
`)
	require.Len(t, c.Gres, 6)
	assert.Equal(t, "off", c.Gres[0].AutoDetect)
	assert.Equal(t, []string{"/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2", "/dev/nvidia3"}, c.Gres[1].Files)
	assert.EqualValues(t, 4, c.Gres[1].Count)
	assert.Equal(t, "0-15", c.Gres[1].Cores)
	assert.EqualValues(t, 2, c.Gres[2].Count)
	assert.EqualValues(t, 8, c.Gres[3].Count)
	assert.EqualValues(t, 2048, c.Gres[4].Count)
	assert.Equal(t, []string{
		"gres.conf:6: gres other is passed over: it is not in GresTypes of slurm.conf",
		"gres.conf:7: gres.conf names nodes that slurm.conf does not define: stranger",
	}, notices(c))
	assert.Len(t, c.GresFor("n1"), 5)
	assert.Len(t, c.GresFor("n2"), 4)
}

func TestGresMistakes(t *testing.T) {
	assert.Equal(t, []string{
		`gres.conf:1: unknown gres attribute "Fiel"; did you mean File?`,
		"gres.conf:2: Count=3 does not match the 2 files named by File",
		"gres.conf:3: Count=3 cannot be divided evenly among the 2 files named by File",
		`gres.conf:4: AutoDetect: wanted one of FULL, NRT, NVIDIA, NVML, OFF, ONEAPI, RSMI, found "yes"`,
		"gres.conf:4: a line of gres.conf needs Name or AutoDetect",
		`gres.conf:5: unknown gres flag "CountOnyl"; did you mean CountOnly?`,
		`gres.conf:6: File: "dev/x" is no absolute path`,
	}, failures(t, "slurm.conf", gpuHead, "gres.conf", `Name=gpu Fiel=/dev/x
Name=gpu Count=3 File=/dev/a[0-1]
Name=shard Count=3 File=/dev/a[0-1]
AutoDetect=yes
Name=gpu Flags=CountOnyl
Name=gpu File=dev/x
`))
}

func TestCgroupConf(t *testing.T) {
	c := mustLoad(t, "slurm.conf", head, "cgroup.conf", `ConstrainCores=yes
ConstrainRAMSpace=yes
AllowedRAMSpace=98.5
MemorySwappiness=10
CgroupAutomount=yes
`)
	assert.True(t, c.Cgroup.ConstrainCores)
	assert.Equal(t, 98.5, c.Cgroup.AllowedRAMSpace)
	assert.Equal(t, 10, c.Cgroup.MemorySwappiness)
	assert.Equal(t, []string{"cgroup.conf:5: CgroupAutomount has no effect: cgroups are mounted by the system"}, notices(c))
	assert.Equal(t, []string{`cgroup.conf:1: unknown parameter "ConstrainCore" in cgroup.conf; did you mean ConstrainCores?`},
		failures(t, "slurm.conf", head, "cgroup.conf", "ConstrainCore=yes\n"))
}
