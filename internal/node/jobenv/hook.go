package jobenv

import (
	"strconv"

	"muster/internal/hostlist"
	"muster/internal/model"
	"muster/internal/wire"
)

// Hook is the environment of Prolog and Epilog on a node. context is Slurm's
// name of the place: prolog_slurmd, epilog_slurmd. Nothing of the user's
// environment is in it.
func Hook(order *wire.RunOrder, site *Site, context string) []string {
	l := newList(nil)
	spec := order.Spec
	names := make([]string, len(order.Alloc))
	cpus := make([]uint32, len(order.Alloc))
	for i, a := range order.Alloc {
		names[i], cpus[i] = a.Node, a.Cpus
	}
	l.set("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	l.setText("SLURM_CLUSTER_NAME", first(order.ClusterName, site.ClusterName))
	l.setText("SLURM_CONF", site.ConfFile)
	l.set("SLURMD_NODENAME", order.Node)
	l.set("SLURM_SCRIPT_CONTEXT", context)
	id := strconv.FormatUint(uint64(order.JobId), 10)
	l.set("SLURM_JOB_ID", id)
	l.set("SLURM_JOBID", id)
	l.set("SLURM_JOB_NAME", spec.Name)
	uid := strconv.FormatUint(uint64(spec.Uid), 10)
	l.set("SLURM_JOB_UID", uid)
	l.set("SLURM_UID", uid)
	l.setNumber("SLURM_JOB_GID", uint64(spec.Gid))
	l.set("SLURM_JOB_USER", userName(spec))
	l.setText("SLURM_JOB_ACCOUNT", first(order.Account, spec.Account))
	l.set("SLURM_JOB_PARTITION", order.Partition)
	l.setText("SLURM_JOB_QOS", first(order.Qos, spec.Qos))
	l.setText("SLURM_JOB_CONSTRAINTS", spec.Constraint)
	l.setText("SLURM_JOB_RESERVATION", spec.Reservation)
	l.setText("SLURM_JOB_COMMENT", spec.Comment)
	l.setText("SLURM_JOB_EXTRA", spec.Extra)
	l.setText("SLURM_JOB_LICENSES", order.Licenses)
	l.setText("SLURM_WCKEY", spec.Wckey)
	l.set("SLURM_JOB_WORK_DIR", spec.WorkDir)
	l.set("SLURM_JOB_STDIN", first(spec.StdIn, "/dev/null"))
	l.setText("SLURM_JOB_STDOUT", spec.StdOut)
	l.setText("SLURM_JOB_STDERR", first(spec.StdErr, spec.StdOut))
	l.set("SLURM_JOB_NODELIST", hostlist.Compress(names))
	l.setNumber("SLURM_NNODES", uint64(len(names)))
	l.setNumber("SLURM_JOB_NUM_NODES", uint64(len(names)))
	l.set("SLURM_JOB_CPUS_PER_NODE", model.Repeats(cpus))
	l.setNumber("SLURM_JOB_RESTART_COUNT", uint64(order.Restarts))
	l.setNumber("SLURM_JOB_START_TIME", uint64(order.Start))
	l.setNumber("SLURM_JOB_END_TIME", uint64(order.End))
	oversubscribe := "NO"
	switch {
	case spec.Exclusive == wire.Exclusive_EXCL_NODE:
		oversubscribe = "EXCLUSIVE"
	case spec.Oversubscribe:
		oversubscribe = "YES"
	}
	l.set("SLURM_JOB_OVERSUBSCRIBE", oversubscribe)
	setArray(l, order)
	here := Here(order)
	setGPUs(l, here, site)
	l.setText("SLURM_JOB_GPUS", gpuList(here))
	return l.done()
}
