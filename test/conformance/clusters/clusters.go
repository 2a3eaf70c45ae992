// Package clusters lists the cluster configurations that end-to-end cases can
// ask for. The same shape is brought up as real Slurm and as Muster, so it holds
// only what both understand. It starts nothing.
package clusters

import (
	"fmt"
	"sort"
	"strings"
)

// Shape is one cluster configuration.
type Shape struct {
	Nodes, CPUs, Threads, Memory, GPUs int
	GPUType                            string
	// LastNode holds further words of the last node's line.
	LastNode string
	// Conf holds the lines of slurm.conf beyond nodes, ports and folders.
	Conf string
}

// common are the lines of slurm.conf that all configurations share.
const common = `ClusterName=muster
FirstJobId=20001
ReturnToService=1
JobAcctGatherFrequency=1
AccountingStoreFlags=job_comment
KillWait=1
InactiveLimit=0
MinJobAge=300
SlurmdTimeout=60
`

// shapes: node1..node4 stand for one machine, so more is declared than is there
// (SlurmdParameters=config_overrides).
//
//	base     memory is asked for or 100 MB a CPU: many jobs share the nodes
//	threads  two threads a core, no default memory: a job without --mem takes
//	         the whole node's memory
//	amounts  defaults and bounds of memory of several kinds; the last node keeps
//	         a core and some memory for the system
//	policies who may use which partition, who sees what, and the small limits
var shapes = map[string]Shape{
	"base": {
		Nodes: 4, CPUs: 16, Threads: 1, Memory: 16000, GPUs: 8, GPUType: "tesla",
		Conf: common + `DefMemPerCPU=100
MaxArraySize=1001
PartitionName=debug Nodes=node[1-4] Default=YES MaxTime=INFINITE State=UP
PartitionName=short Nodes=node[1-2] MaxTime=30 DefaultTime=10 State=UP
PartitionName=other Nodes=node[3-4] MaxTime=INFINITE MaxNodes=1 State=UP
PartitionName=stopped Nodes=node4 MaxTime=INFINITE State=DOWN
`,
	},
	"threads": {
		Nodes: 2, CPUs: 8, Threads: 2, Memory: 4000,
		Conf: common + `PartitionName=debug Nodes=node[1-2] Default=YES MaxTime=INFINITE State=UP
`,
	},
	"amounts": {
		Nodes: 2, CPUs: 8, Threads: 2, Memory: 1000, GPUs: 2, GPUType: "tesla",
		LastNode: "CoreSpecCount=1 MemSpecLimit=200",
		Conf: common + `DefMemPerNode=400
DefMemPerGPU=60
PartitionName=debug Nodes=node[1-2] Default=YES MaxTime=INFINITE State=UP
PartitionName=first Nodes=node1 MaxTime=INFINITE State=UP
PartitionName=percpu Nodes=node1 DefMemPerCPU=20 MaxTime=INFINITE State=UP
PartitionName=pernode Nodes=node1 DefMemPerNode=300 MaxTime=INFINITE State=UP
PartitionName=pergpu Nodes=node1 DefMemPerGPU=70 MaxTime=INFINITE State=UP
PartitionName=most Nodes=node1 MaxMemPerCPU=100 MaxTime=INFINITE State=UP
`,
	},
	"policies": {
		Nodes: 2, CPUs: 16, Threads: 1, Memory: 16000,
		Conf: common + `DefMemPerCPU=100
PrivateData=jobs,users
MaxArraySize=11
RequeueExit=3,20-29
RequeueExitHold=4
PropagateResourceLimitsExcept=NOFILE
SchedulerParameters=max_script_size=4194304
PartitionName=debug Nodes=node[1-2] Default=YES MaxTime=INFINITE State=UP
PartitionName=alice Nodes=node1 AllowGroups=alice MaxTime=INFINITE State=UP
PartitionName=bob Nodes=node1 AllowGroups=bob MaxTime=INFINITE State=UP
PartitionName=both Nodes=node1 AllowGroups=bob,alice MaxTime=INFINITE State=UP
PartitionName=normal Nodes=node1 AllowQos=normal MaxTime=INFINITE State=UP
PartitionName=denied Nodes=node1 DenyQos=normal MaxTime=INFINITE State=UP
PartitionName=open Nodes=node1 MaxTime=INFINITE State=UP
`,
	},
}

// Named returns the configuration with that name.
func Named(name string) (Shape, error) {
	s, ok := shapes[name]
	if !ok {
		return Shape{}, fmt.Errorf("no cluster configuration %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return s, nil
}

// Names lists the configurations.
func Names() []string {
	var names []string
	for name := range shapes {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
