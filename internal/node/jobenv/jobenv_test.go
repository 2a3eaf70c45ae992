package jobenv_test

import (
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"muster/internal/node/jobenv"
	"muster/internal/wire"
)

func TestBatchEnvironment(t *testing.T) {
	order := &wire.RunOrder{
		JobId: 220, Node: "node3", Partition: "debug", ClusterName: "muster", Qos: "normal", Restarts: 2,
		ArrayJobId: 219, IsArrayTask: true, ArrayTaskId: 3, ArrayTaskCount: 2, ArrayTaskMin: 3, ArrayTaskMax: 4, ArrayTaskStep: 1,
		Start: 1000, End: 2000, Environment: []byte("HOME=/home/alice\x00SLURM_SUBMIT_DIR=/sub\x00CUDA_VISIBLE_DEVICES=9\x00BASH_FUNC_f%%=() {  :\n}"),
		Spec: &wire.JobSpec{
			Name: "e.sh", Uid: 1001, Gid: 1001, UserName: "alice", WorkDir: "/w", SubmitHost: "login",
			NumTasks: 4, CpusPerTask: 2, MemKind: wire.MemKind_MEM_PER_NODE, Mem: 500, TresPerTask: "gres/gpu:1",
		},
		Alloc: []*wire.NodeAlloc{
			{Node: "node3", Cpus: 6, Tasks: 3, Gres: []*wire.GresAlloc{{Name: "gpu", Index: []uint32{1, 0}, Count: 2}}},
			{Node: "node4", Cpus: 2, Tasks: 1},
		},
	}
	env := jobenv.Batch(order, &jobenv.Site{ConfFile: "/etc/slurm/slurm.conf", Controller: "127.0.0.1:6817"})
	sort.Strings(env)
	assert.Equal(t, strings.Split(`BASH_FUNC_f%%=() {  :`+"\x01"+`}
CUDA_VISIBLE_DEVICES=0,1
ENVIRONMENT=BATCH
GPU_DEVICE_ORDINAL=0,1
HOME=/home/alice
HOSTNAME=node3
ROCR_VISIBLE_DEVICES=0,1
SLURMD_NODENAME=node3
SLURM_ARRAY_JOB_ID=219
SLURM_ARRAY_TASK_COUNT=2
SLURM_ARRAY_TASK_ID=3
SLURM_ARRAY_TASK_MAX=4
SLURM_ARRAY_TASK_MIN=3
SLURM_ARRAY_TASK_STEP=1
SLURM_CLUSTER_NAME=muster
SLURM_CONF=/etc/slurm/slurm.conf
SLURM_CPUS_ON_NODE=6
SLURM_CPUS_PER_TASK=2
SLURM_GPUS_ON_NODE=2
SLURM_GTIDS=0
SLURM_JOBID=220
SLURM_JOB_CPUS_PER_NODE=6,2
SLURM_JOB_END_TIME=2000
SLURM_JOB_GID=1001
SLURM_JOB_GPUS=0,1
SLURM_JOB_ID=220
SLURM_JOB_NAME=e.sh
SLURM_JOB_NODELIST=node[3-4]
SLURM_JOB_NUM_NODES=2
SLURM_JOB_PARTITION=debug
SLURM_JOB_QOS=normal
SLURM_JOB_START_TIME=1000
SLURM_JOB_UID=1001
SLURM_JOB_USER=alice
SLURM_LOCALID=0
SLURM_MEM_PER_NODE=500
SLURM_NNODES=2
SLURM_NODEID=0
SLURM_NODELIST=node[3-4]
SLURM_NODE_ALIASES=(null)
SLURM_NPROCS=4
SLURM_NTASKS=4
SLURM_PRIO_PROCESS=0
SLURM_PROCID=0
SLURM_RESTART_COUNT=2
SLURM_SUBMIT_DIR=/sub
SLURM_SUBMIT_HOST=login
SLURM_TASKS_PER_NODE=3,1
SLURM_TOPOLOGY_ADDR=node3
SLURM_TOPOLOGY_ADDR_PATTERN=node
SLURM_TRES_PER_TASK=cpu=2,gres/gpu:1
SLURM_WORKING_CLUSTER=muster:127.0.0.1:6817:11520:109
TMPDIR=/tmp
ZE_AFFINITY_MASK=0,1`, "\n"), strings.Split(strings.ReplaceAll(strings.Join(env, "\n"), "{  :\n}", "{  :\x01}"), "\n"))
}
