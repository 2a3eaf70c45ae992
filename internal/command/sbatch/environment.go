package sbatch

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"muster/internal/command"
	"muster/internal/command/environ"
	"muster/internal/command/option"
)

// addVariables enters what tells the job how it was submitted. What was not
// asked for keeps the value of an enclosing job, as in Slurm. The rest of the
// SLURM_ variables is known to the node only.
func addVariables(env *environ.Variables, o *option.Options, cwd string) {
	s := o.Spec
	set := func(name, value string) {
		if value != "" {
			env.Set(name + "=" + value)
		}
	}
	set("SLURM_SUBMIT_DIR", cwd)
	set("SLURM_SUBMIT_HOST", command.Hostname())
	if nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil {
		set("SLURM_PRIO_PROCESS", strconv.Itoa(20-nice)) // the system call counts from 40 down
	}
	for _, name := range []string{"gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task"} {
		set("SLURM_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_")), o.GPUText(name))
	}
	set("SLURM_GPU_BIND", s.GpuBind)
	set("SLURM_HINT", s.Hint)
	set("SLURM_NETWORK", s.Network)
	set("SLURM_PROFILE", s.Profile)
	if s.PlaneSize > 0 {
		set("SLURM_DIST_PLANESIZE", strconv.FormatUint(uint64(s.PlaneSize), 10))
	}
}

const maxEnvironmentFile = 16 << 20

// readExportFile reads the file of --export-file, or the open descriptor that
// its value numbers.
func readExportFile(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	var file *os.File
	if fd, err := strconv.ParseUint(name, 10, 31); err == nil {
		file = os.NewFile(uintptr(fd), "descriptor "+name)
	} else if file, err = os.Open(name); err != nil {
		return nil, fmt.Errorf("Could not open user environment file %s", name)
	}
	if file == nil {
		return nil, fmt.Errorf("Could not open user environment file %s", name)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxEnvironmentFile))
	if err != nil {
		return nil, fmt.Errorf("Could not read user environment file %s: %w", name, err)
	}
	if text == nil {
		text = []byte{} // an empty file is a file
	}
	return text, nil
}
