package srun

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/command/environ"
	"muster/internal/command/option"
	"muster/internal/wire"
)

// newStep prepares a step that the controller has made.
func newStep(p *command.Program, o *option.Options, c *client.Client, program *programText, folder string, reply *wire.StepReply) (*step, error) {
	s := &step{
		p: p, o: o, id: stepID(reply), by: make(map[uint32]*node),
		begun: make(chan struct{}), ended: make(chan struct{}),
		end:         func() { endStep(p, c, reply) },
		waitSeconds: o.Step.WaitSeconds,
	}
	for _, n := range reply.Nodes {
		s.tasks += uint32(len(n.Ranks))
	}
	if o.Given("wait") == option.FromNowhere {
		n, _ := strconv.ParseUint(c.Conf.Get("WaitTime"), 10, 31)
		s.waitSeconds = uint32(n)
	}
	s.killOnBadExit = o.Step.KillOnBadExit > 0 || o.Step.KillOnBadExit < 0 && c.Conf.Get("KillOnBadExit") == "1"
	if err := wordsOf(program, s.tasks); err != nil {
		return nil, err
	}
	credential := &wire.Signed{}
	if err := proto.Unmarshal(reply.Credential, credential); err != nil {
		return nil, fmt.Errorf("the controller's step credential cannot be read: %w", err)
	}
	common, err := s.common(o, c.Conf, program, folder, credential)
	if err != nil {
		return nil, err
	}
	if err := s.streams(o, common, folder, reply); err != nil {
		return nil, err
	}
	s.exits = newExits(p.Error)
	for _, part := range reply.Nodes {
		launch := proto.Clone(common).(*wire.StepLaunch)
		launch.Node = part.Name
		n := &node{name: part.Name, addr: part.Addr, ranks: part.Ranks, launch: launch, auth: nodeAuth(c, part.Name), have: make(map[place]uint64)}
		s.nodes = append(s.nodes, n)
		for _, rank := range part.Ranks {
			s.by[rank] = n
		}
	}
	return s, nil
}

// common is the launch as far as it is the same for all nodes.
func (s *step) common(o *option.Options, conf *client.Conf, program *programText, folder string, credential *wire.Signed) (*wire.StepLaunch, error) {
	limits, err := command.Rlimits(o.Propagate, conf.Get("PropagateResourceLimits"), conf.Get("PropagateResourceLimitsExcept"))
	if err != nil {
		return nil, err
	}
	umask := command.Umask()
	if text := s.p.Getenv("SLURM_UMASK"); text != "" {
		if mask, err := strconv.ParseUint(text, 8, 32); err == nil {
			umask = uint32(mask)
		}
	}
	l := &wire.StepLaunch{
		Credential: credential, Argv: program.argv, WorkDir: folder, Umask: umask, Rlimits: limits,
		OpenMode: o.Spec.OpenMode, Unbuffered: o.Step.Unbuffered, Label: o.Step.Label,
		TaskProlog: o.Step.TaskProlog, TaskEpilog: o.Step.TaskEpilog,
		KillOnBadExit: s.killOnBadExit, Wait: s.waitSeconds,
		MultiProg: program.conf != nil, MultiProgConf: program.conf, Mpi: o.Step.MPI, CpuBind: o.Step.CPUBind,
		PreserveEnv: o.Step.PreserveEnv,
	}
	l.Environment = environment(o, umask)
	return l, nil
}

// environment is what the tasks get of this one; --export, or the setting that
// the job was submitted with, decides.
func environment(o *option.Options, umask uint32) []string {
	env, _ := environ.Export(os.Environ(), o.Export, o.Given("export") != option.FromNowhere, nil)
	env.Set(fmt.Sprintf("SLURM_UMASK=%04o", umask))
	env.Set("SRUN_DEBUG=" + strconv.Itoa(3+o.Level))
	distribution := o.Spec.DistributionText
	if distribution == "" {
		distribution = "cyclic"
		if o.Spec.MinNodes > 0 && o.Spec.NumTasks > o.Spec.MinNodes {
			distribution = "block"
		}
	}
	env.Set("SLURM_DISTRIBUTION=" + distribution)
	if o.Step.Label {
		env.Set("SLURM_LABELIO=1")
	}
	if o.Step.KillOnBadExit >= 0 {
		env.Set("SLURM_KILL_BAD_EXIT=" + strconv.Itoa(o.Step.KillOnBadExit))
	}
	return env.List()
}

// streams decides who opens what.
func (s *step) streams(o *option.Options, l *wire.StepLaunch, folder string, reply *wire.StepReply) error {
	stdin, stdout, stderr := readTarget(o.Spec.StdIn, s.tasks), readTarget(o.Spec.StdOut, s.tasks), readTarget(o.Spec.StdErr, s.tasks)
	s.out = newOutput(s.p.Through, s.p.Stderr, s.tasks)
	s.out.label, s.out.unbuffered = o.Step.Label, o.Step.Unbuffered
	appending := o.Spec.OpenMode == wire.OpenMode_OPEN_APPEND
	paths := []*string{nil, &l.StdOut, &l.StdErr}
	for stream, t := range []target{{}, stdout, stderr} {
		switch {
		case stream == streamStdin:
		case t.node:
			*paths[stream] = absolute(t.path, folder)
		case t.none:
			s.out.to[stream] = nil
		case stream == streamStderr && t.path != "" && t.path == stdout.path:
			s.out.to[stream] = s.out.to[streamStdout]
		case t.path != "":
			file, err := openOutput(expand(t.path, reply.Job, reply.Step), folder, appending)
			if err != nil {
				return fmt.Errorf("Could not open %s file: %s", []string{"", "stdout", "stderr"}[stream], systemText(err))
			}
			s.out.to[stream] = file
		case stream == streamStderr && o.Spec.StdErr == "" && o.Spec.StdOut != "" && stdout.only < 0:
			// Without -e, standard error goes where -o sends standard output. A
			// node does the same with a path of its own.
			s.out.to[stream] = s.out.to[streamStdout]
		}
		s.out.only[stream] = t.only
	}
	l.StderrRelayed = stdout.node && !stderr.node && o.Spec.StdErr != ""
	return s.standardInput(stdin, l, folder, reply)
}

func absolute(path, folder string) string {
	if filepath.IsAbs(path) || strings.Contains(path, `\`) {
		return path
	}
	return filepath.Join(folder, path)
}

// standardInput opens where the tasks' input comes from and starts to hand it on.
func (s *step) standardInput(t target, l *wire.StepLaunch, folder string, reply *wire.StepReply) error {
	var readers []uint32
	for _, n := range reply.Nodes {
		for _, rank := range n.Ranks {
			if t.only < 0 || uint32(t.only) == rank {
				readers = append(readers, rank)
			}
		}
	}
	s.in = newInput(readers, s.sendInput)
	switch {
	case t.none:
		l.StdinNone = true
		return nil
	case t.node:
		l.StdIn = absolute(t.path, folder)
		return nil
	case t.only >= 0:
		l.StdinOne, l.StdinTask = true, uint32(t.only)
	}
	var from io.Reader = s.p.Stdin
	if t.path != "" {
		file, err := os.Open(absolute(expand(t.path, reply.Job, reply.Step), folder))
		if err != nil {
			return fmt.Errorf("Could not open stdin file: %s", systemText(err))
		}
		from = file
	}
	go s.feed(from)
	return nil
}

// runHook runs --prolog and --epilog here; it returns the exit code.
func (s *step) runHook(program, what string) int {
	if program == "" || strings.EqualFold(program, "none") {
		return 0
	}
	cmd := exec.Command(program)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.Env = append(os.Environ(), "SLURM_SCRIPT_CONTEXT="+what+"_srun")
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	s.p.Error("running %s %s: %v", what, program, err)
	return command.ExitError
}
