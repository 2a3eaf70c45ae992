package conf

import "strings"

// CgroupConf is cgroup.conf. Percentages are of the memory that a job was given.
type CgroupConf struct {
	Mountpoint             string
	Plugin                 string // autodetect, cgroup/v1, cgroup/v2, disabled
	Slice                  string
	ConstrainCores         bool
	ConstrainDevices       bool
	ConstrainRAMSpace      bool
	ConstrainSwapSpace     bool
	AllowedRAMSpace        float64
	AllowedSwapSpace       float64
	MaxRAMPercent          float64
	MaxSwapPercent         float64
	MinRAMSpace            int // MiB
	MemorySwappiness       int // -1: not given
	IgnoreSystemd          bool
	EnableControllers      bool
	SignalChildrenProcess  bool
	JobIDPaths             bool
	IgnoreSystemdOnFailure bool
}

var cgroupParams = [...]Param{
	{"CgroupMountpoint", KPath, "/sys/fs/cgroup", acts, "", "", ""},
	{"CgroupPlugin", KEnum, "autodetect", acts, "autodetect|cgroup/v1|cgroup/v2|disabled", "", ""},
	{"CgroupSlice", KString, "", acts, "", "", ""},
	{"CgroupJobIdPaths", KBool, "no", acts, "", "", ""},
	{"SystemdTimeout", KInt, "1000", 0, "", "", "systemd is asked with a limit of its own"},
	{"IgnoreSystemd", KBool, "no", acts, "", "", ""},
	{"IgnoreSystemdOnFailure", KBool, "no", acts, "", "", ""},
	{"EnableControllers", KBool, "no", acts, "", "", ""},
	{"EnableExtraControllers", KOptions, "", 0, "", "", notYet},
	{"AllowedRAMSpace", KFloat, "100", acts, "", "", ""},
	{"AllowedSwapSpace", KFloat, "0", acts, "", "", ""},
	{"ConstrainCores", KBool, "no", acts, "", "", ""},
	{"ConstrainDevices", KBool, "no", acts, "", "", ""},
	{"ConstrainRAMSpace", KBool, "no", acts, "", "", ""},
	{"ConstrainSwapSpace", KBool, "no", acts, "", "", ""},
	{"MaxRAMPercent", KFloat, "100", acts, "", "", ""},
	{"MaxSwapPercent", KFloat, "100", acts, "", "", ""},
	{"MemorySwappiness", KInt, "", acts, "", "", ""},
	{"MinRAMSpace", KInt, "30", acts, "", "", ""},
	{"SignalChildrenProcesses", KBool, "no", acts, "", "", ""},

	{"AllowedDevicesFile", KPath, "", removed, "", "", "device lists are gone from Slurm; devices come from gres.conf"},
	{"AllowedKmemSpace", KInt, "", removed, "", "", "kernel memory counts as memory"},
	{"CgroupAutomount", KBool, "no", removed, "", "", "cgroups are mounted by the system"},
	{"CgroupReleaseAgentDir", KPath, "", removed, "", "", "gone from Slurm without replacement"},
	{"ConstrainKmemSpace", KBool, "no", removed, "", "", "kernel memory counts as memory"},
	{"MaxKmemPercent", KInt, "", removed, "", "", "kernel memory counts as memory"},
	{"MinKmemSpace", KInt, "", removed, "", "", "kernel memory counts as memory"},
	{"TaskAffinity", KBool, "no", removed, "", "", "replaced by TaskPlugin=task/affinity in slurm.conf"},
}

func buildCgroup(lines []line, rep *report) CgroupConf {
	r := readTable(lines, cgroupParams[:], "cgroup.conf", rep)
	g := CgroupConf{
		Mountpoint:             r.str("CgroupMountpoint"),
		Plugin:                 strings.ToLower(r.str("CgroupPlugin")),
		Slice:                  r.str("CgroupSlice"),
		ConstrainCores:         r.boolean("ConstrainCores"),
		ConstrainDevices:       r.boolean("ConstrainDevices"),
		ConstrainRAMSpace:      r.boolean("ConstrainRAMSpace"),
		ConstrainSwapSpace:     r.boolean("ConstrainSwapSpace"),
		AllowedRAMSpace:        r.float("AllowedRAMSpace"),
		AllowedSwapSpace:       r.float("AllowedSwapSpace"),
		MaxRAMPercent:          r.float("MaxRAMPercent"),
		MaxSwapPercent:         r.float("MaxSwapPercent"),
		MinRAMSpace:            r.integer("MinRAMSpace"),
		MemorySwappiness:       -1,
		IgnoreSystemd:          r.boolean("IgnoreSystemd"),
		EnableControllers:      r.boolean("EnableControllers"),
		SignalChildrenProcess:  r.boolean("SignalChildrenProcesses"),
		JobIDPaths:             r.boolean("CgroupJobIdPaths"),
		IgnoreSystemdOnFailure: r.boolean("IgnoreSystemdOnFailure"),
	}
	if r.str("MemorySwappiness") != "" {
		g.MemorySwappiness = r.integer("MemorySwappiness")
	}
	return g
}
