package conf

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"muster/internal/slurmtime"
)

// KV is one line of `scontrol show config`.
type KV struct{ Key, Value string }

func (kv KV) String() string { return fmt.Sprintf("%-23s = %s", kv.Key, kv.Value) }

// Runtime holds what `scontrol show config` tells beside the files.
type Runtime struct {
	BootTime       string // of the controller, as a time stamp
	NextJobID      uint32
	HashMatch      bool // every node has the same files
	MultipleSlurmd bool
	Version        string
	// UserID gives the uid of a user name.
	UserID func(name string) (uid int, ok bool)
}

const nullText = "(null)"

// alwaysTRES are counted whatever AccountingStorageTRES says.
const alwaysTRES = "cpu,mem,energy,node,billing,fs/disk,vmem,pages"

// ShowConfig gives the lines of `scontrol show config`, in its order. Passwords are
// no part of it.
func ShowConfig(c *Config, rt Runtime) []KV {
	var out []KV
	add := func(k, v string) { out = append(out, KV{k, v}) }
	for _, table := range [][]Param{paramsAtoJ[:], paramsKtoZ[:]} {
		for i := range table {
			p := &table[i]
			if p.is(hidden) || p.is(secret) {
				continue
			}
			c.showBefore(p.Name, rt, add)
			c.showParam(p, rt, add)
		}
	}
	return out
}

// showBefore adds the lines that are no parameters, before the parameter named.
func (c *Config) showBefore(name string, rt Runtime, add func(k, v string)) {
	switch name {
	case "BurstBufferType":
		add("BOOT_TIME", orDefault(rt.BootTime, "N/A"))
	case "HealthCheckInterval":
		add("HASH_VAL", map[bool]string{true: "Match", false: "Different"}[rt.HashMatch])
	case "JobFileAppend":
		add("JobDefaults", c.showJobDefaults())
	case "NamespaceType":
		add("MULTIPLE_SLURMD", yesNo(rt.MultipleSlurmd))
	case "NodeFeaturesPlugins":
		add("NEXT_JOB_ID", strconv.FormatUint(uint64(rt.NextJobID), 10))
	case "SrunEpilog":
		add("SLURM_CONF", c.Path)
		add("SLURM_VERSION", rt.Version)
	}
}

func (c *Config) showJobDefaults() string {
	var out []string
	if c.DefCPUPerGPU > 0 {
		out = append(out, fmt.Sprintf("DefCpuPerGPU=%d", c.DefCPUPerGPU))
	}
	if c.DefMemPerGPU > 0 {
		out = append(out, fmt.Sprintf("DefMemPerGPU=%d", c.DefMemPerGPU))
	}
	return orDefault(strings.Join(out, ","), nullText)
}

func (c *Config) showParam(p *Param, rt Runtime, add func(k, v string)) {
	switch p.Name {
	case "AccountingStorageTRES":
		add(p.Name, strings.Join(append([]string{alwaysTRES}, c.AccountingStorageTRES...), ","))
	case "DefMemPerNode":
		add(showMem("DefMem", c.DefMem))
	case "MaxMemPerNode":
		add(showMem("MaxMem", c.MaxMem))
	case "PropagateResourceLimits":
		limits := c.showValue(p)
		if len(c.PropagateLimitsExcept) > 0 { // the one takes the place of the other
			limits = nullText
		}
		add(p.Name, limits)
	case "MaxNodeCount":
		add(p.Name, strconv.Itoa(len(c.Nodes)))
	case "SlurmUser":
		add(p.Name, showUser(c.SlurmUser, rt))
	case "SlurmdUser":
		add(p.Name, showUser(c.SlurmdUser, rt))
	case "UnkillableStepTimeout":
		add(p.Name, strconv.FormatInt(int64(c.UnkillableStepTimeout/time.Second), 10)+p.Unit)
	case "SlurmctldHost":
		for i, h := range c.SlurmctldHosts {
			text := h.Name
			if h.Addr != h.Name {
				text += "(" + h.Addr + ")"
			}
			add(fmt.Sprintf("SlurmctldHost[%d]", i), text)
		}
	default:
		if values := c.raw.all(p.Name); len(values) > 1 {
			for i, v := range values {
				add(fmt.Sprintf("%s[%d]", p.Name, i), v)
			}
			return
		}
		add(p.Name, c.showValue(p))
	}
}

func showMem(what string, m MemLimit) (key, value string) {
	switch m.Kind {
	case MemPerCPU:
		return what + "PerCPU", strconv.FormatUint(m.MiB, 10)
	case MemPerNode:
		return what + "PerNode", strconv.FormatUint(m.MiB, 10)
	default:
		return what + "PerNode", "UNLIMITED"
	}
}

func showUser(name string, rt Runtime) string {
	if rt.UserID != nil {
		if uid, ok := rt.UserID(name); ok {
			return fmt.Sprintf("%s(%d)", name, uid)
		}
	}
	return name
}

// showValue prints a parameter the way its kind is printed.
func (c *Config) showValue(p *Param) string {
	v := c.raw.str(p.Name)
	switch p.Kind {
	case KBool:
		on := c.raw.boolean(p.Name)
		if p.Default == "0" || p.Default == "1" {
			return map[bool]string{true: "1", false: "0"}[on]
		}
		return yesNo(on)
	case KSeconds:
		d := c.raw.seconds(p.Name)
		if d == Infinite {
			return "INFINITE"
		}
		return strconv.FormatInt(int64(d/time.Second), 10) + p.Unit
	case KInt:
		return c.showInt(p, v)
	case KSpan:
		d, _ := parseSpan(v)
		if d == Infinite {
			return "UNLIMITED"
		}
		return slurmtime.FormatClock(int64(d / time.Second))
	case KLevel:
		return orDefault(c.raw.level(p.Name), nullText)
	default:
		return showText(p, v)
	}
}

func (c *Config) showInt(p *Param, v string) string {
	if v == "" {
		return nullText
	}
	n := c.raw.number(p.Name)
	if n == Unlimited {
		return map[bool]string{true: "INFINITE", false: "UNLIMITED"}[p.Name == "SuspendTime"]
	}
	if p.Name == "SuspendTime" {
		return strconv.FormatUint(uint64(n), 10) + " sec"
	}
	return strconv.FormatUint(uint64(n), 10) + p.Unit
}

func showText(p *Param, v string) string {
	switch p.Name {
	case "PriorityFlags":
		return v
	case "CpuFreqDef":
		return orDefault(v, "Unknown")
	case "TaskPluginParam":
		return orDefault(v, "(null type)")
	case "SelectTypeParameters", "EnforcePartLimits":
		return strings.ToUpper(v)
	case "AccountingStorageEnforce", "PrivateData":
		return strings.ToLower(v)
	}
	if v == "" || strings.HasSuffix(v, "/none") {
		return nullText
	}
	return v
}

func yesNo(b bool) string {
	if b {
		return "Yes"
	}
	return "No"
}

// ShowCgroup gives the lines that follow under "Cgroup Support Configuration:".
func ShowCgroup(g CgroupConf) []KV {
	percent := func(v float64) string { return fmt.Sprintf("%.1f%%", v) }
	truth := func(b bool) string { return map[bool]string{true: "yes", false: "no"}[b] }
	swappiness := nullText
	if g.MemorySwappiness >= 0 {
		swappiness = strconv.Itoa(g.MemorySwappiness)
	}
	return []KV{
		{"AllowedRAMSpace", percent(g.AllowedRAMSpace)},
		{"AllowedSwapSpace", percent(g.AllowedSwapSpace)},
		{"CgroupMountpoint", g.Mountpoint},
		{"CgroupPlugin", g.Plugin},
		{"ConstrainCores", truth(g.ConstrainCores)},
		{"ConstrainDevices", truth(g.ConstrainDevices)},
		{"ConstrainRAMSpace", truth(g.ConstrainRAMSpace)},
		{"ConstrainSwapSpace", truth(g.ConstrainSwapSpace)},
		{"EnableControllers", truth(g.EnableControllers)},
		{"IgnoreSystemd", truth(g.IgnoreSystemd)},
		{"IgnoreSystemdOnFailure", truth(g.IgnoreSystemdOnFailure)},
		{"MaxRAMPercent", percent(g.MaxRAMPercent)},
		{"MaxSwapPercent", percent(g.MaxSwapPercent)},
		{"MemorySwappiness", swappiness},
		{"MinRAMSpace", strconv.Itoa(g.MinRAMSpace) + " MB"},
	}
}
