package node

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"muster/internal/node/cgroup"
	"muster/internal/wire"
)

func withLimits(t testing.TB, o cgroup.Options, settings func(*Settings)) option {
	return func(c *Config) {
		if os.Getuid() != 0 {
			t.Skip("cgroups need root")
		}
		o.Name = "muster_test_" + filepath.Base(t.TempDir()) + filepath.Base(c.SpoolDir)
		m, err := cgroup.New(o)
		if err != nil {
			t.Skip("no cgroups here: ", err)
		}
		t.Cleanup(m.Close)
		c.Cgroups, c.CoreCPUs = m, [][]int{{0}, {1}}
		if settings != nil {
			settings(&c.Settings)
		}
	}
}

func TestOutOfMemory(t *testing.T) {
	n := startNode(t, openDir(t), withLimits(t, cgroup.Options{Memory: true}, nil))
	fact := n.runJob(1, "#!/bin/sh\nhead -c 200m /dev/zero | tail\necho survived\n", func(o *wire.RunOrder) { o.Alloc[0].Mem = 30 })
	assert.True(t, fact.Oom)
	assert.EqualValues(t, 125, fact.BatchExitStatus)
}

func TestConstrainCores(t *testing.T) {
	n := startNode(t, openDir(t), withLimits(t, cgroup.Options{Cores: true}, nil))
	fact := n.runJob(1, "#!/bin/sh\ngrep Cpus_allowed_list /proc/self/status\n", func(o *wire.RunOrder) { o.Alloc[0].Core = []uint32{1} })
	assert.Zero(t, fact.BatchExitStatus)
	assert.Equal(t, "Cpus_allowed_list:\t1\n", n.output("out-1"))
}

func TestConstrainDevices(t *testing.T) {
	n := startNode(t, openDir(t), withLimits(t, cgroup.Options{Devices: true}, nil), func(c *Config) {
		// Two devices that every machine has stand for GPUs.
		c.Inventory = &wire.Inventory{Gres: []*wire.GresDevice{{Name: "gpu", File: "/dev/zero"}, {Name: "gpu", Index: 1, File: "/dev/full"}}}
	})
	fact := n.runJob(1, "#!/bin/sh\nhead -c1 /dev/full | wc -c; head -c1 /dev/zero 2>&1\n", func(o *wire.RunOrder) {
		o.Alloc[0].Gres = []*wire.GresAlloc{{Name: "gpu", Index: []uint32{1}, Count: 1}}
	})
	assert.NotZero(t, fact.BatchExitStatus)
	assert.Equal(t, "1\nhead: cannot open '/dev/zero' for reading: Operation not permitted\n", n.output("out-1"))
}

// TestUnkillable freezes a job's cgroup from outside, where no kill reaches.
func TestUnkillable(t *testing.T) {
	mark := filepath.Join(openDir(t), "mark")
	program := hook(t, "unkillable", "echo $SLURM_JOB_ID $SLURM_STEP_ID > "+mark)
	n := startNode(t, openDir(t), withLimits(t, cgroup.Options{}, func(s *Settings) {
		s.UnkillableTimeout, s.UnkillableProgram = time.Second, program
	}))
	n.send(n.order(1, "#!/bin/sh\ntouch started; sleep 1000\n"))
	n.waitStage(t, 1, wire.RunStage_STAGE_RUNNING)
	awaitFile(t, filepath.Join(n.work, "started"))
	step := n.cfg.Cgroups.Job("job_1.1").StepPaths("step_batch")
	if step.V2 {
		t.Skip("cgroup v2 kills what is frozen")
	}
	state := filepath.Join(filepath.Dir(step.Freezer), "freezer.state")
	require.NoError(t, os.WriteFile(state, []byte("FROZEN"), 0))
	n.Order(&wire.NodeOrder{Body: &wire.NodeOrder_Terminate{Terminate: &wire.Terminate{Key: 1, Attempt: 1, Now: true}}})
	fact := n.waitRun(t, 1, 1, "kill failed", func(f *wire.RunFact) bool { return f.KillFailed })
	assert.NotEqual(t, wire.RunStage_STAGE_GONE, fact.Stage)
	await(t, "the program", func() bool { data, _ := os.ReadFile(mark); return string(data) == "1 -5\n" })
	require.NoError(t, os.WriteFile(state, []byte("THAWED"), 0))
	fact = n.waitStage(t, 1, wire.RunStage_STAGE_GONE)
	assert.EqualValues(t, 9, fact.BatchExitStatus)
	assert.True(t, fact.KillFailed)
}

// TestSpoolFull fills a small spool under a running job.
func TestSpoolFull(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	spool := openDir(t)
	if err := unix.Mount("tmpfs", spool, "tmpfs", 0, "size=256k,mode=755"); err != nil {
		t.Skip("no mounts here: ", err)
	}
	defer unix.Unmount(spool, unix.MNT_DETACH)
	n := startNode(t, spool)
	n.send(n.order(1, "#!/bin/sh\ntouch started; while [ ! -e go ]; do sleep 0.02; done; exit 6\n"))
	awaitFile(t, filepath.Join(n.work, "started"))
	filler := filepath.Join(spool, "filler")
	_ = os.WriteFile(filler, make([]byte, 1<<20), 0o600) // until it is full
	n.send(n.order(2, "#!/bin/sh\ntouch ran\n"+string(make([]byte, 64<<10))))
	refused := n.waitStage(t, 2, wire.RunStage_STAGE_GONE)
	assert.Contains(t, refused.Failure, "full")
	assert.NotEmpty(t, n.problems)
	require.NoError(t, os.WriteFile(filepath.Join(n.work, "go"), nil, 0o644))
	assert.EqualValues(t, 6<<8, n.waitStage(t, 1, wire.RunStage_STAGE_GONE).BatchExitStatus)
	require.NoError(t, os.Remove(filler))
	assert.Zero(t, n.runJob(3, "#!/bin/sh\nexit 0\n").BatchExitStatus)
	assert.NoFileExists(t, filepath.Join(n.work, "ran"))
}
