package option

import (
	"path/filepath"
	"strings"

	"muster/internal/command/getopt"
	"muster/internal/hostlist"
)

// Finish checks what only all options together show, and completes them. It is
// called once, after all sources were applied.
func (o *Options) Finish() error {
	s := o.Spec
	if o.Given("core-spec") != FromNowhere && o.Given("thread-spec") == o.Given("core-spec") {
		if o.Given("core-spec") == FromEnvironment {
			return fatalf("Both --core-spec and --thread-spec set using environment variables. Those options are mutually exclusive.")
		}
		return fatalf("-S/--core-spec and --thread-spec are mutually exclusive.")
	}
	if o.Program == Srun {
		o.preferCommandLine()
	}
	if err := o.finishGres(); err != nil {
		return err
	}
	if strings.HasPrefix(s.DistributionText, "arbitrary") && s.Nodelist == "" {
		return errorf(codeError, "With Arbitrary distribution you need to specify a nodelist or hostfile with the -w option")
	}
	if o.Program != Srun {
		if !strings.HasPrefix(s.DistributionText, "arbitrary") {
			s.Nodelist = compressed(s.Nodelist)
		}
		s.Exclude = compressed(s.Exclude)
	}
	if o.Given("extra-node-info") != FromNowhere && s.NumTasks == 0 {
		s.NumTasks = max(s.SocketsPerNode, 1) * max(s.CoresPerSocket, 1) * max(s.ThreadsPerCore, 1)
	}
	if s.NumTasks > 0 && s.MinNodes > s.NumTasks && !s.Overcommit {
		o.say(Info, "Warning: can't run %d processes on %d nodes, setting nnodes to %d", s.NumTasks, s.MinNodes, s.NumTasks)
		s.MinNodes, s.MaxNodes = s.NumTasks, s.NumTasks
	}
	if o.Program == Srun {
		o.honourPerNode()
	}
	return nil
}

// compressed is a host list in its shortest form; one that is none is left to
// the controller to refuse.
func compressed(list string) string {
	if !strings.Contains(list, ",") {
		return list
	}
	names, err := hostlist.Expand(list)
	if err != nil {
		return list
	}
	return hostlist.CompressSorted(names)
}

// honourPerNode drops a number of tasks a node that contradicts the step's
// tasks and nodes.
func (o *Options) honourPerNode() {
	s := o.Spec
	if o.Given("ntasks-per-node") != FromCommandLine || s.NumTasks == 0 || s.MinNodes == 0 || s.NtasksPerNode*s.MinNodes == s.NumTasks {
		return
	}
	o.say(Info, "Warning: can't honor --ntasks-per-node set to %d which doesn't match the requested tasks %d with the number of requested nodes %d. Ignoring --ntasks-per-node.",
		s.NtasksPerNode, s.NumTasks, s.MinNodes)
	s.NtasksPerNode = 0
}

// preferCommandLine drops what srun took from the job's variables where the
// command line asks for something else in other words.
func (o *Options) preferCommandLine() {
	gpuOptions := []string{"gres", "gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "tres-per-task"}
	asked := false
	for _, long := range gpuOptions {
		asked = asked || o.Given(long) == FromCommandLine
	}
	for _, long := range gpuOptions {
		if asked && o.Given(long) == FromEnvironment {
			o.setGres(long, "", nil)
			delete(o.from, long)
		}
	}
	if o.Given("cpus-per-gpu") == FromEnvironment && o.Given("cpus-per-task") == FromCommandLine {
		o.Spec.CpusPerGpu = 0
	}
	if o.Given("ntasks-per-node") == FromEnvironment && o.Given("ntasks") == FromCommandLine {
		o.Spec.NtasksPerNode = 0
	}
}

// WorkDir returns the working folder: --chdir, else where the program runs.
func (o *Options) WorkDir(cwd string) string {
	switch {
	case o.Given("chdir") == FromNowhere:
		return cwd
	case filepath.IsAbs(o.Chdir):
		return o.Chdir
	}
	return cwd + "/" + o.Chdir // not cleaned: it is shown as it was given
}

// Usage writes the short reminder of --usage.
func Usage(program Program, operands string) string {
	var out strings.Builder
	line := "Usage: " + program.String()
	indent := strings.Repeat(" ", len(line))
	for _, e := range shown(program) {
		word := " [--" + e.Long
		if e.Meta != "" && e.Arg == getopt.Optional {
			word += "[=" + e.Meta + "]"
		} else if e.Meta != "" {
			word += "=" + e.Meta
		}
		word += "]"
		if len(line)+len(word) > 78 {
			out.WriteString(line + "\n")
			line = indent
		}
		line += word
	}
	out.WriteString(line + "\n" + indent + " " + operands + "\n")
	return out.String()
}

// Help writes the text of --help.
func Help(program Program, operands string) string {
	var out strings.Builder
	out.WriteString("Usage: " + program.String() + " [OPTIONS...] " + operands + "\n\nOptions:\n")
	for _, e := range shown(program) {
		left := "      --" + e.Long
		if e.Short != 0 && (e.Letter == 0 || e.Letter&program != 0) {
			left = "  -" + string(rune(e.Short)) + ", --" + e.Long
		}
		if e.Meta != "" && e.Arg == getopt.Optional {
			left += "[=" + e.Meta + "]"
		} else if e.Meta != "" {
			left += "=" + e.Meta
		}
		if len(left) > 36 {
			out.WriteString(left + "\n")
			left = ""
		}
		out.WriteString(left + strings.Repeat(" ", 38-len(left)) + e.Help)
		if e.Status == NotYet {
			out.WriteString(" (not supported yet)")
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// shown are the options that the help of a program names.
func shown(program Program) []Entry {
	var out []Entry
	for _, e := range Table() {
		if e.In&program != 0 && e.Help != "" {
			out = append(out, e)
		}
	}
	return out
}
