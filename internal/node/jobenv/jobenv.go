// Package jobenv makes the environment of a job's batch script, of the tasks
// of its steps and of the administrator's hooks, from what the controller
// ordered.
//
// It is pure: it reads no file, no clock and no environment of its own.
package jobenv

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/wire"
)

// Site is what the node knows beside the order.
type Site struct {
	ClusterName string
	ConfFile    string // SLURM_CONF
	Controller  string // host:port that the session is with
	TmpFS       string // TMPDIR, when the user has none
	Fenced      bool   // a job sees only its own devices, which programs number from 0
}

// protocolVersion stands in SLURM_WORKING_CLUSTER; the value is of 26.05.
const protocolVersion = 45 << 8

// list is an environment that is being made.
type list struct {
	names  map[string]int
	values []string
}

func newList(raw []byte) *list {
	l := &list{names: make(map[string]int)}
	for _, entry := range bytes.Split(raw, []byte{0}) {
		if name, value, ok := strings.Cut(string(entry), "="); ok && name != "" {
			l.set(name, value)
		}
	}
	return l
}

func (l *list) set(name, value string) {
	entry := name + "=" + value
	if i, ok := l.names[name]; ok {
		l.values[i] = entry
		return
	}
	l.names[name] = len(l.values)
	l.values = append(l.values, entry)
}

func (l *list) unset(name string) {
	if i, ok := l.names[name]; ok {
		l.values[i] = ""
		delete(l.names, name)
	}
}

func (l *list) setDefault(name, value string) {
	if _, ok := l.names[name]; !ok {
		l.set(name, value)
	}
}

func (l *list) setText(name, value string) {
	if value != "" {
		l.set(name, value)
	}
}

func (l *list) setNumber(name string, value uint64) {
	l.set(name, strconv.FormatUint(value, 10))
}

func (l *list) setCount(name string, value uint32) {
	if value != 0 {
		l.setNumber(name, uint64(value))
	}
}

func (l *list) done() []string {
	kept := l.values[:0]
	for _, entry := range l.values {
		if entry != "" {
			kept = append(kept, entry)
		}
	}
	return kept
}

// Batch is the environment of the batch script. What the user's own
// environment says of SLURM_GPUS and the like stays: sbatch put it there.
func Batch(order *wire.RunOrder, site *Site) []string {
	l := newList(order.Environment)
	spec := order.Spec
	setJob(l, order, site)
	l.set("ENVIRONMENT", "BATCH")
	l.set("HOSTNAME", order.Node)
	l.setDefault("SLURM_SUBMIT_DIR", spec.WorkDir)
	l.setDefault("SLURM_SUBMIT_HOST", spec.SubmitHost)
	l.setDefault("SLURM_PRIO_PROCESS", "0")
	l.setText("SLURM_EXPORT_ENV", spec.ExportEnv)
	if spec.GetUserEnv {
		l.set("SLURM_GET_USER_ENV", "1")
	}
	l.set("SLURM_NODEID", "0")
	l.set("SLURM_PROCID", "0")
	l.set("SLURM_LOCALID", "0")
	l.set("SLURM_GTIDS", "0")
	setNode(l, order, site)
	setAsked(l, order)
	return l.done()
}

// Step is the environment of a step's tasks here: what srun sent, and on it
// what the controller and this node know.
func Step(order *wire.RunOrder, cred *wire.StepCredential, here *wire.StepNode2, launch *wire.StepLaunch, site *Site) []string {
	l := newList([]byte(strings.Join(launch.Environment, "\x00")))
	kept := []string{"SLURM_NNODES", "SLURM_TASKS_PER_NODE", "SLURM_NTASKS", "SLURM_NPROCS"}
	had := make([]string, len(kept))
	for i, name := range kept {
		had[i] = valueOf(l, name)
	}
	setJob(l, order, site)
	setNode(l, order, site)
	setGPUs(l, here.Alloc, site)
	l.setText("SLURM_STEP_GPUS", gpuList(here.Alloc))
	l.setNumber("SLURM_CPUS_ON_NODE", uint64(here.Alloc.GetCpus()))
	step := strconv.Itoa(int(cred.Step))
	l.set("SLURM_STEP_ID", step)
	l.set("SLURM_STEPID", step)
	names, tasks := stepNodes(cred)
	l.set("SLURM_STEP_NODELIST", hostlist.Compress(names))
	l.setNumber("SLURM_STEP_NUM_NODES", uint64(len(names)))
	l.setNumber("SLURM_STEP_NUM_TASKS", uint64(cred.NumTasks))
	l.set("SLURM_STEP_TASKS_PER_NODE", model.Repeats(tasks))
	if launch.PreserveEnv {
		for i, name := range kept {
			l.setText(name, had[i])
		}
	} else {
		l.setNumber("SLURM_NNODES", uint64(len(names)))
		l.set("SLURM_TASKS_PER_NODE", model.Repeats(tasks))
		l.setNumber("SLURM_NTASKS", uint64(cred.NumTasks))
		l.setNumber("SLURM_NPROCS", uint64(cred.NumTasks))
	}
	l.setCount("SLURM_CPUS_PER_TASK", cred.CpusPerTask)
	l.setNumber("SLURM_NODEID", uint64(nodeIndex(cred, here.Node)))
	ranks := make([]string, len(here.Ranks))
	for i, rank := range here.Ranks {
		ranks[i] = strconv.FormatUint(uint64(rank), 10)
	}
	l.set("SLURM_GTIDS", strings.Join(ranks, ","))
	return l.done()
}

// Task is what differs between the tasks of a step on a node.
func Task(rank, local uint32) []string {
	return []string{fmt.Sprintf("SLURM_PROCID=%d", rank), fmt.Sprintf("SLURM_LOCALID=%d", local)}
}

func nodeIndex(cred *wire.StepCredential, node string) int {
	for i, n := range cred.Nodes {
		if n.Node == node {
			return i
		}
	}
	return 0
}

func stepNodes(cred *wire.StepCredential) (names []string, tasks []uint32) {
	for _, n := range cred.Nodes {
		names = append(names, n.Node)
		tasks = append(tasks, uint32(len(n.Ranks)))
	}
	return names, tasks
}

// setJob sets what all processes of the job see alike.
func setJob(l *list, order *wire.RunOrder, site *Site) {
	spec := order.Spec
	names := make([]string, len(order.Alloc))
	cpus := make([]uint32, len(order.Alloc))
	tasks := make([]uint32, len(order.Alloc))
	for i, a := range order.Alloc {
		names[i], cpus[i], tasks[i] = a.Node, a.Cpus, max(a.Tasks, 1)
		if spec.NumTasks+spec.NtasksPerNode+spec.NtasksPerGpu == 0 && len(spec.GresPerTask) == 0 {
			tasks[i] = max(a.Cpus/max(spec.CpusPerTask, 1), 1) // as many as there is room for
		}
	}
	nodes := hostlist.Compress(names)
	for _, name := range []string{"SLURM_JOB_ID", "SLURM_JOBID"} {
		l.setNumber(name, uint64(order.JobId))
	}
	l.set("SLURM_JOB_NAME", spec.Name)
	l.set("SLURM_JOB_USER", userName(spec))
	l.setNumber("SLURM_JOB_UID", uint64(spec.Uid))
	l.setNumber("SLURM_JOB_GID", uint64(spec.Gid))
	l.setText("SLURM_JOB_ACCOUNT", first(order.Account, spec.Account))
	l.setText("SLURM_JOB_QOS", first(order.Qos, spec.Qos))
	l.set("SLURM_JOB_PARTITION", order.Partition)
	l.setText("SLURM_JOB_RESERVATION", spec.Reservation)
	l.setText("SLURM_JOB_LICENSES", order.Licenses)
	l.set("SLURM_JOB_NODELIST", nodes)
	l.set("SLURM_NODELIST", nodes)
	l.setNumber("SLURM_JOB_NUM_NODES", uint64(len(names)))
	l.setNumber("SLURM_NNODES", uint64(len(names)))
	l.set("SLURM_JOB_CPUS_PER_NODE", model.Repeats(cpus))
	l.set("SLURM_TASKS_PER_NODE", model.Repeats(tasks))
	l.set("SLURM_NODE_ALIASES", "(null)")
	if order.Start != 0 {
		l.setNumber("SLURM_JOB_START_TIME", uint64(order.Start))
	}
	if order.End != 0 {
		l.setNumber("SLURM_JOB_END_TIME", uint64(order.End))
	}
	if order.Restarts > 0 {
		l.setNumber("SLURM_RESTART_COUNT", uint64(order.Restarts))
	} else {
		l.unset("SLURM_RESTART_COUNT")
	}
	setArray(l, order)
	cluster := first(order.ClusterName, site.ClusterName)
	l.setText("SLURM_CLUSTER_NAME", cluster)
	if site.Controller != "" {
		l.set("SLURM_WORKING_CLUSTER", fmt.Sprintf("%s:%s:%d:109", cluster, site.Controller, protocolVersion))
	}
	l.setText("SLURM_CONF", site.ConfFile)
	l.set("TMPDIR", first(valueOf(l, "TMPDIR"), site.TmpFS, "/tmp"))
}

func setArray(l *list, order *wire.RunOrder) {
	names := []string{"JOB_ID", "TASK_ID", "TASK_COUNT", "TASK_MAX", "TASK_MIN", "TASK_STEP"}
	values := []uint32{order.ArrayJobId, order.ArrayTaskId, order.ArrayTaskCount, order.ArrayTaskMax, order.ArrayTaskMin, order.ArrayTaskStep}
	for i, name := range names {
		if order.IsArrayTask {
			l.setNumber("SLURM_ARRAY_"+name, uint64(values[i]))
		} else {
			l.unset("SLURM_ARRAY_" + name)
		}
	}
}

// setNode sets what belongs to this node.
func setNode(l *list, order *wire.RunOrder, site *Site) {
	l.set("SLURMD_NODENAME", order.Node)
	l.set("SLURM_TOPOLOGY_ADDR", order.Node)
	l.set("SLURM_TOPOLOGY_ADDR_PATTERN", "node")
	here := Here(order)
	l.setNumber("SLURM_CPUS_ON_NODE", uint64(here.GetCpus()))
	setGPUs(l, here, site)
	l.setText("SLURM_JOB_GPUS", gpuList(here))
}

// Here is what the job holds on this node.
func Here(order *wire.RunOrder) *wire.NodeAlloc {
	for _, a := range order.Alloc {
		if a.Node == order.Node {
			return a
		}
	}
	return nil
}

var deviceNames = []string{"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"}

func setGPUs(l *list, alloc *wire.NodeAlloc, site *Site) {
	count := uint64(0)
	for _, g := range alloc.GetGres() {
		if g.Name == "gpu" {
			count += g.Count
		}
	}
	if count == 0 {
		for _, name := range append([]string{"SLURM_GPUS_ON_NODE", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS"}, deviceNames...) {
			l.unset(name)
		}
		return
	}
	l.setNumber("SLURM_GPUS_ON_NODE", count)
	visible := gpuList(alloc)
	if site.Fenced && visible != "" {
		numbers := make([]string, strings.Count(visible, ",")+1)
		for i := range numbers {
			numbers[i] = strconv.Itoa(i)
		}
		visible = strings.Join(numbers, ",")
	}
	for _, name := range deviceNames {
		l.setText(name, visible)
	}
}

// gpuList names the GPUs held, ascending: 0,1.
func gpuList(alloc *wire.NodeAlloc) string {
	var index []int
	for _, g := range alloc.GetGres() {
		if g.Name == "gpu" {
			for _, i := range g.Index {
				index = append(index, int(i))
			}
		}
	}
	sort.Ints(index)
	text := make([]string, len(index))
	for i, n := range index {
		text[i] = strconv.Itoa(n)
	}
	return strings.Join(text, ",")
}

// setAsked sets what stands in the environment only when it was asked for.
func setAsked(l *list, order *wire.RunOrder) {
	spec := order.Spec
	tasks := spec.NumTasks
	if tasks == 0 && spec.NtasksPerNode > 0 {
		tasks = spec.NtasksPerNode * uint32(len(order.Alloc))
	}
	l.setCount("SLURM_NTASKS", tasks)
	l.setCount("SLURM_NPROCS", tasks)
	l.setCount("SLURM_NTASKS_PER_NODE", spec.NtasksPerNode)
	l.setCount("SLURM_NTASKS_PER_SOCKET", spec.NtasksPerSocket)
	l.setCount("SLURM_NTASKS_PER_CORE", spec.NtasksPerCore)
	l.setCount("SLURM_NTASKS_PER_GPU", spec.NtasksPerGpu)
	l.setCount("SLURM_CPUS_PER_TASK", spec.CpusPerTask)
	l.setCount("SLURM_CPUS_PER_GPU", spec.CpusPerGpu)
	l.setCount("SLURM_THREADS_PER_CORE", spec.ThreadsPerCore)
	l.setCount("SLURM_CORE_SPEC", spec.CoreSpec)
	l.setText("SLURM_DISTRIBUTION", spec.DistributionText)
	if spec.Overcommit {
		l.set("SLURM_OVERCOMMIT", "1")
	}
	switch spec.MemKind {
	case wire.MemKind_MEM_PER_NODE:
		l.setNumber("SLURM_MEM_PER_NODE", spec.Mem)
	case wire.MemKind_MEM_PER_CPU:
		l.setNumber("SLURM_MEM_PER_CPU", spec.Mem)
	case wire.MemKind_MEM_PER_GPU:
		l.setNumber("SLURM_MEM_PER_GPU", spec.Mem)
	}
	l.setText("SLURM_TRES_PER_TASK", tresPerTask(spec))
}

// tresPerTask is --tres-per-task with --cpus-per-task as if it stood in it.
func tresPerTask(spec *wire.JobSpec) string {
	asked := spec.TresPerTask
	if spec.CpusPerTask == 0 || strings.HasPrefix(asked, "cpu") || strings.Contains(asked, ",cpu") {
		return asked
	}
	cpu := fmt.Sprintf("cpu=%d", spec.CpusPerTask)
	if asked == "" {
		return cpu
	}
	return cpu + "," + asked
}

func userName(spec *wire.JobSpec) string {
	if spec.UserName != "" {
		return spec.UserName
	}
	return strconv.FormatUint(uint64(spec.Uid), 10)
}

func valueOf(l *list, name string) string {
	if i, ok := l.names[name]; ok {
		return l.values[i][len(name)+1:]
	}
	return ""
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
