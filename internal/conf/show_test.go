package conf

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func shown(c *Config) map[string]string {
	out := map[string]string{}
	for _, kv := range ShowConfig(c, Runtime{
		BootTime: "T", NextJobID: 7, HashMatch: true, Version: "26.05.0",
		UserID: func(string) (int, bool) { return 42, true },
	}) {
		out[kv.Key] = kv.Value
	}
	return out
}

func TestShowConfig(t *testing.T) {
	c := mustLoad(t, "slurm.conf", head+`SlurmctldHost=b(10.0.0.2)
AccountingStoragePass=topsecret
JobCompPass=topsecret
SlurmUser=slurm
DefMemPerCPU=100
AccountingStorageTRES=gres/gpu
SelectTypeParameters=CR_Core_Memory
MessageTimeout=20
GresTypes=gpu
DefCpuPerGPU=2
Prolog=/a
Prolog=/b
NodeName=n[1-3]
`)
	got := shown(c)
	for k, want := range map[string]string{
		"KillWait": "30 sec", "MinJobAge": "300 sec", "MaxArraySize": "1001", "ClusterName": "c", "SLURM_VERSION": "26.05.0",
		"SlurmctldHost[0]": "ctl", "SlurmctldHost[1]": "b(10.0.0.2)", "SlurmUser": "slurm(42)", "DefMemPerCPU": "100",
		"MaxMemPerNode": "UNLIMITED", "AccountingStorageTRES": alwaysTRES + ",gres/gpu", "SelectTypeParameters": "CR_CORE_MEMORY",
		"JobDefaults": "DefCpuPerGPU=2", "MaxNodeCount": "3", "BOOT_TIME": "T", "NEXT_JOB_ID": "7", "HASH_VAL": "Match",
		"PriorityDecayHalfLife": "7-00:00:00", "PreemptExemptTime": "00:00:00", "JobRequeue": "1", "TrackWCKey": "No",
		"Epilog": "(null)", "Prolog[0]": "/a", "Prolog[1]": "/b", "SuspendTime": "INFINITE", "ResumeRate": "300 nodes/min",
		"VSizeFactor": "0 percent", "SwitchType": "(null)", "PrologEpilogTimeout": "65534", "SLURM_CONF": c.Path,
		"AccountingStorageEnforce": "none", "PriorityFlags": "", "MpiDefault": "none", "UnkillableStepTimeout": "100 sec",
	} {
		assert.Equal(t, want, got[k], k)
	}
	for k, v := range got {
		assert.NotContains(t, v, "topsecret", k)
		assert.NotContains(t, k, "Pass")
	}
	assert.Equal(t, "KillWait                = 30 sec", KV{"KillWait", "30 sec"}.String())
}

func TestHashIgnoresCommentsOnly(t *testing.T) {
	a := mustLoad(t, "slurm.conf", head+"KillWait=5\n")
	b := mustLoad(t, "slurm.conf", "# x\n"+head+"\n\nKillWait=5 # y\n")
	c := mustLoad(t, "slurm.conf", head+"KillWait=6\n")
	d := mustLoad(t, "slurm.conf", head+"KillWait=5\n", "cgroup.conf", "ConstrainCores=yes\n")
	assert.Equal(t, a.Hash, b.Hash)
	assert.NotEqual(t, a.Hash, c.Hash)
	assert.NotEqual(t, a.Hash, d.Hash)
}

func TestDiff(t *testing.T) {
	a := mustLoad(t, "slurm.conf", head+"KillWait=5\nSlurmctldPort=7000\nGresTypes=gpu\nAccountingStoragePass=old\nNodeName=n[1-3] CPUs=2\nPartitionName=p Nodes=n1\nPartitionName=q\n")
	b := mustLoad(t, "slurm.conf", "\n"+head+"KillWait=6\nSlurmctldPort=7001\ngrestypes=GPU\nAccountingStoragePass=new\nNodeName=n[2-3] CPUs=2\nNodeName=n4\nPartitionName=p Nodes=n2\nPartitionName=r\n")
	d := Diff(a, b)
	assert.Equal(t, []Change{
		{"AccountingStoragePass", "***", "***", false},
		{"KillWait", "5", "6", false},
		{"SlurmctldPort", "7000", "7001", true},
	}, d.Changes)
	assert.Equal(t, []string{"SlurmctldPort"}, d.NeedRestart())
	assert.Equal(t, []string{"n4"}, d.NodesAdded)
	assert.Equal(t, []string{"n1"}, d.NodesRemoved)
	assert.Empty(t, d.NodesChanged)
	assert.Equal(t, []string{"r"}, d.PartitionsAdded)
	assert.Equal(t, []string{"q"}, d.PartitionsRemoved)
	assert.Equal(t, []string{"p"}, d.PartitionsChanged)
	assert.True(t, Diff(a, a).Empty())
}
