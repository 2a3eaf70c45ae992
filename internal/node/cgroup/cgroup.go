// Package cgroup makes the control groups of jobs and steps: one a job, and
// one below it a step, in as few hierarchies as the configuration needs,
// because each costs time at every launch.
//
// It must not decide what a job may have: it enforces the numbers it is given.
package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/opencontainers/cgroups"
	_ "github.com/opencontainers/cgroups/devices" // without it device rules are passed over
	devices "github.com/opencontainers/cgroups/devices/config"
	fs1 "github.com/opencontainers/cgroups/fs"
	"github.com/opencontainers/cgroups/fs2"
	"golang.org/x/sys/unix"
)

const mountPoint = "/sys/fs/cgroup"

// Options say what is enforced.
type Options struct {
	Name   string // of the folder that holds the jobs
	Memory bool   // ConstrainRAMSpace
	Swap   bool   // ConstrainSwapSpace
	Cores  bool   // ConstrainCores
	// Devices fences off the devices that a job was not given (ConstrainDevices).
	Devices bool
}

// Manager makes job groups.
type Manager struct {
	opts        Options
	v2          bool
	controllers []string // v1: the hierarchies in use, the freezer first
}

// New looks at what the machine has. The error says why processes cannot be
// caught by cgroups here.
func New(opts Options) (*Manager, error) {
	m := &Manager{opts: opts, v2: cgroups.IsCgroup2UnifiedMode()}
	if m.v2 {
		return m, m.prepareV2()
	}
	m.controllers = []string{"freezer"}
	if opts.Memory {
		m.controllers = append(m.controllers, "memory")
	}
	if opts.Cores {
		m.controllers = append(m.controllers, "cpuset")
	}
	if opts.Devices {
		m.controllers = append(m.controllers, "devices")
	}
	for _, c := range m.controllers {
		if err := os.MkdirAll(m.v1(c, ""), 0o755); err != nil {
			return nil, fmt.Errorf("cgroup controller %s cannot be used: %w", c, err)
		}
		if _, err := os.Stat(filepath.Join(m.v1(c, ""), "cgroup.procs")); err != nil {
			return nil, fmt.Errorf("cgroup controller %s is not mounted below %s", c, mountPoint)
		}
	}
	return m, nil
}

func (m *Manager) v1(controller, name string) string {
	return filepath.Join(mountPoint, controller, m.opts.Name, name)
}

func (m *Manager) prepareV2() error {
	dir := filepath.Join(mountPoint, m.opts.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the jobs' cgroup: %w", err)
	}
	for _, d := range []string{mountPoint, dir} {
		for _, c := range []string{"+memory", "+cpuset", "+pids", "+cpu"} {
			// A controller that is not there is missed when a limit is set.
			_ = os.WriteFile(filepath.Join(d, "cgroup.subtree_control"), []byte(c), 0)
		}
	}
	return nil
}

// Limits are what a job may have here.
type Limits struct {
	Memory uint64   // bytes, 0 = no limit
	CPUs   []int    // empty = no limit
	Deny   []string // device files that the job must not open
}

// Job is a job's group.
type Job struct {
	m    *Manager
	name string
}

// Job names a job's group, which may exist already.
func (m *Manager) Job(name string) *Job { return &Job{m, name} }

// Create makes the group and sets its limits.
func (j *Job) Create(limits Limits) error {
	r := &cgroups.Resources{SkipDevices: true}
	if j.m.opts.Memory && limits.Memory > 0 {
		r.Memory = int64(limits.Memory)
		if j.m.opts.Swap {
			r.MemorySwap = int64(limits.Memory)
		}
	}
	if j.m.opts.Cores && len(limits.CPUs) > 0 {
		r.CpusetCpus = list(limits.CPUs)
	}
	if j.m.opts.Devices {
		rules, err := denials(limits.Deny)
		if err != nil {
			return err
		}
		r.SkipDevices, r.Devices = false, rules
	}
	return j.m.create(j.name, r)
}

// denials allow every device but those of the files.
func denials(files []string) ([]*devices.Rule, error) {
	rules := []*devices.Rule{{Type: devices.WildcardDevice, Major: devices.Wildcard, Minor: devices.Wildcard, Permissions: "rwm", Allow: true}}
	for _, file := range files {
		var stat unix.Stat_t
		if err := unix.Stat(file, &stat); err != nil {
			return nil, fmt.Errorf("fencing off device %s: %w", file, err)
		}
		kind := devices.CharDevice
		switch stat.Mode & unix.S_IFMT {
		case unix.S_IFCHR:
		case unix.S_IFBLK:
			kind = devices.BlockDevice
		default:
			continue // a plain file stands for a device in tests of configurations
		}
		rules = append(rules, &devices.Rule{
			Type: kind, Major: int64(unix.Major(uint64(stat.Rdev))), Minor: int64(unix.Minor(uint64(stat.Rdev))), Permissions: "rwm",
		})
	}
	return rules, nil
}

func list(cpus []int) string {
	words := make([]string, len(cpus))
	for i, c := range cpus {
		words[i] = strconv.Itoa(c)
	}
	return strings.Join(words, ",")
}

func (m *Manager) create(name string, r *cgroups.Resources) error {
	group := &cgroups.Cgroup{Path: filepath.Join("/", m.opts.Name, name), Resources: r}
	var manager cgroups.Manager
	var err error
	if m.v2 {
		dir := filepath.Join(mountPoint, m.opts.Name, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("making cgroup %s: %w", dir, err)
		}
		manager, err = fs2.NewManager(group, dir)
	} else {
		paths := make(map[string]string, len(m.controllers))
		for _, c := range m.controllers {
			paths[c] = m.v1(c, name)
		}
		var v1 *fs1.Manager
		if v1, err = fs1.NewManager(group, paths); err == nil {
			err = v1.Apply(-1)
		}
		manager = v1
	}
	if err == nil {
		err = manager.Set(r)
	}
	if err != nil {
		return fmt.Errorf("making cgroup %s: %w", group.Path, err)
	}
	return nil
}

// Step is a step's group as its shepherd needs to know it.
type Step struct {
	Dirs    []string
	V2      bool
	Freezer string
	Memory  string
}

// Step makes the group of a step below the job's.
func (j *Job) Step(step string) (*Step, error) {
	s := j.StepPaths(step)
	if j.m.v2 || j.m.opts.Cores { // a cpuset must be filled before it is entered
		return s, j.m.create(filepath.Join(j.name, step), &cgroups.Resources{SkipDevices: true})
	}
	for _, dir := range s.Dirs {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("making cgroup %s: %w", dir, err)
		}
	}
	return s, nil
}

// StepPaths names a step's group without making it.
func (j *Job) StepPaths(step string) *Step {
	name := filepath.Join(j.name, step)
	if j.m.v2 {
		dir := filepath.Join(mountPoint, j.m.opts.Name, name)
		return &Step{Dirs: []string{dir}, V2: true, Memory: dir}
	}
	s := &Step{Freezer: j.m.v1("freezer", name)}
	for _, c := range j.m.controllers {
		s.Dirs = append(s.Dirs, j.m.v1(c, name))
	}
	if j.m.opts.Memory {
		s.Memory = j.m.v1("memory", name)
	}
	return s
}

// Pids lists the processes in the group.
func (s *Step) Pids() []int {
	data, err := os.ReadFile(filepath.Join(s.Dirs[0], "cgroup.procs"))
	if err != nil {
		return nil // gone, and nobody with it
	}
	var pids []int
	for _, word := range bytes.Fields(data) {
		if pid, err := strconv.Atoi(string(word)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Kill thaws the group and sends SIGKILL to all of it, once.
func (s *Step) Kill() {
	if s.V2 {
		_ = os.WriteFile(filepath.Join(s.Dirs[0], "cgroup.kill"), []byte("1"), 0)
		return
	}
	if s.Freezer != "" {
		_ = os.WriteFile(filepath.Join(s.Freezer, "freezer.state"), []byte("THAWED"), 0)
	}
	for _, pid := range s.Pids() {
		_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
	}
}

// Remove removes the job's group with its steps'. All of their processes have
// ended; the kernel may need a moment to notice.
func (j *Job) Remove() error {
	dirs := []string{filepath.Join(mountPoint, j.m.opts.Name, j.name)}
	if !j.m.v2 {
		dirs = dirs[:0]
		for _, c := range j.m.controllers {
			dirs = append(dirs, j.m.v1(c, j.name))
		}
	}
	for _, dir := range dirs {
		if err := removeTree(dir); err != nil {
			return fmt.Errorf("removing cgroup: %w", err)
		}
	}
	return nil
}

func removeTree(dir string) error {
	for pause := time.Millisecond; ; pause *= 2 {
		err := removeOnce(dir)
		if err == nil || !errors.Is(err, unix.EBUSY) || pause > time.Second {
			return err
		}
		time.Sleep(pause) // there is nothing to wait on
	}
}

func removeOnce(dir string) error {
	err := os.Remove(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	entries, readErr := os.ReadDir(dir)
	if readErr != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeOnce(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Close removes the folder that holds the jobs, if none is left.
func (m *Manager) Close() {
	for _, c := range append([]string{""}, m.controllers...) {
		_ = os.Remove(m.v1(c, "")) // in use by a job, or never made
	}
}

// RemoveAll removes the folder that holds the jobs with all that is below it.
// Processes in it are an error.
func (m *Manager) RemoveAll() error {
	var errs []error
	for _, c := range append([]string{""}, m.controllers...) {
		errs = append(errs, removeTree(m.v1(c, "")))
	}
	return errors.Join(errs...)
}
