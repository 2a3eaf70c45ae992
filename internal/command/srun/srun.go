package srun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"muster/internal/auth"
	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/command/option"
	"muster/internal/multiprog"
	"muster/internal/wire"
)

const operands = "executable [args...]"

// Run is the command; it returns the exit code.
func Run(p *command.Program) int {
	line, err := option.Read(option.Srun, p.Args)
	if err != nil {
		return option.Refuse(p, err)
	}
	switch {
	case line.Has("help"):
		p.Print("%s", option.Help(option.Srun, operands))
		return 0
	case line.Has("usage"):
		p.Print("%s", option.Usage(option.Srun, operands))
		return 0
	case line.Has("version"):
		return p.PrintVersion()
	}
	o := option.New(option.Srun, time.Now())
	for _, step := range []func() error{
		func() error { return o.ApplyEnvironment(os.LookupEnv) },
		func() error { return o.Apply(line) },
		o.Finish,
	} {
		if err := step(); err != nil {
			option.Tell(p, o.Messages)
			return option.Refuse(p, err)
		}
	}
	p.Level = o.Level
	if o.Step.MPI == "list" {
		p.Print("MPI plugin types are...\n\tnone\n")
		return 0
	}
	c, err := client.New(p.Getenv)
	if err != nil {
		return p.Fatal("%v", err)
	}
	defer c.Close()
	bindings(p, o, c.Conf)
	option.Tell(p, o.Messages)
	if len(line.Rest) == 0 {
		return p.Fatal("No command given to execute.")
	}
	if err := supported(o); err != nil {
		return option.Refuse(p, err)
	}
	if has := allocated(p, o); has > 0 && o.Spec.MinNodes > has {
		return p.Failed("Only allocated %d nodes asked for %d", has, o.Spec.MinNodes)
	}
	return launch(p, o, c, line.Rest)
}

// supported refuses what cannot be done yet.
func supported(o *option.Options) error {
	switch {
	case o.Step.JobID == "":
		return option.NotSupported("srun outside of an allocation")
	case o.TestOnly:
		return option.NotSupported("--test-only within an allocation")
	case o.Step.HetGroup != "" && o.Step.HetGroup != "0":
		return option.NotSupported("--het-group=" + o.Step.HetGroup)
	}
	return nil
}

// allocated is the number of nodes of the job that srun runs in, 0 = it is not
// the one meant.
func allocated(p *command.Program, o *option.Options) uint32 {
	if p.Getenv("SLURM_JOB_ID") != o.Step.JobID {
		return 0
	}
	n, err := strconv.ParseUint(p.Getenv("SLURM_JOB_NUM_NODES"), 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

// bindings says of what kind of binding and MPI a script asks for how much is
// done.
func bindings(p *command.Program, o *option.Options, conf *client.Conf) {
	affinity := strings.Contains(strings.ToLower(conf.Get("TaskPlugin")), "affinity")
	if o.Given("cpu-bind") != option.FromNowhere {
		switch kind := strings.ToLower(o.Step.CPUBind); {
		case !affinity:
			p.Say("cluster configuration lacks support for cpu binding")
		case kind != "none" && kind != "no" && kind != "q" && kind != "quiet":
			p.Say("Warning: --cpu-bind=%s: tasks are confined to the step's CPUs and not bound within them yet", o.Step.CPUBind)
		}
	}
	if o.Step.MPI != "" && o.Step.MPI != "none" {
		p.Say("Warning: --mpi=%s: no PMI is offered yet; tasks find the SLURM_ variables only", o.Step.MPI)
	}
}

// launch has a step made and carries it.
func launch(p *command.Program, o *option.Options, c *client.Client, words []string) int {
	cwd, err := unix.Getwd()
	if err != nil {
		cwd = "/"
	}
	folder := o.WorkDir(cwd)
	program, err := readProgram(o, words, folder)
	if err != nil {
		return p.Failed("%v", err)
	}
	request := o.StepRequest()
	request.WorkDir, request.Host, request.Pid = folder, command.Hostname(), uint32(os.Getpid())
	request.SubmitLine = command.SubmitLine(p.Name, p.Args)
	request.NoWait = true
	if o.Step.External {
		request.Overlap = true
	}
	if request.Name == "" {
		request.Name = filepath.Base(words[0])
	}
	signals := newSignals(o)
	defer signals.stop()
	reply, code := create(p, o, c, request, signals)
	if reply == nil {
		return code
	}
	s, err := newStep(p, o, c, program, folder, reply)
	if err != nil {
		endStep(p, c, reply)
		var wrong *multiprog.Error
		if errors.As(err, &wrong) {
			for _, line := range wrong.Lines {
				p.Error("%s", line)
			}
			return p.ErrorCode()
		}
		return p.Failed("%v", err)
	}
	if code := s.runHook(o.Step.Prolog, "prolog"); code != 0 {
		p.Error("srun prolog failed rc = %d", code)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go signals.serve(ctx, s)
	code = s.run(ctx)
	s.runHook(o.Step.Epilog, "epilog")
	return code
}

// programText is what the tasks run.
type programText struct {
	argv []string
	conf []byte // of --multi-prog
	name string
}

// readProgram reads the file of --multi-prog, if asked for.
func readProgram(o *option.Options, words []string, folder string) (*programText, error) {
	if !o.Step.MultiProg {
		return &programText{argv: words}, nil
	}
	path := words[0]
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("Could not open multi_prog config file %s", words[0])
	}
	return &programText{argv: words, conf: text, name: words[0]}, nil
}

// create asks for the step until there is room for it.
func create(p *command.Program, o *option.Options, c *client.Client, request *wire.StepRequest, signals *signals) (*wire.StepReply, int) {
	begin, told := time.Now(), false
	pause := 30 * time.Millisecond
	for {
		request.RequestId = client.RequestID()
		var reply *wire.StepReply
		err := c.Do(context.Background(), func(ctx context.Context, ctld wire.DRPCCtldClient) (err error) {
			reply, err = ctld.CreateStep(ctx, request)
			return err
		})
		if err != nil {
			return nil, p.Failed("Unable to create step for job %s: %v", o.Step.JobID, err)
		}
		for _, text := range reply.Messages {
			if reply.GetRefusal().GetMessage() != "" {
				p.Error("%s", text)
			} else {
				p.Say("%s", text)
			}
		}
		if r := reply.GetRefusal(); r.GetMessage() != "" {
			return nil, refused(p, o.Step.JobID, r)
		}
		if !reply.Busy {
			if told {
				p.Say("Step created for StepId=%s", stepID(reply))
			}
			return reply, 0
		}
		if o.Step.Immediate {
			return nil, p.Failed("Unable to create step for job %s: Requested nodes are busy", o.Step.JobID)
		}
		if !told && time.Since(begin) > busySilence {
			told = true
			p.Say("Job step creation temporarily disabled, retrying (Requested nodes are busy)")
		}
		select {
		case sig := <-signals.caught:
			if number, ok := sig.(unix.Signal); ok && ends(number) {
				p.Say("Cancelled pending job step with signal %d", int(number))
				return nil, p.ErrorCode()
			}
		case <-time.After(pause):
		}
		pause = min(pause*3/2, time.Second)
	}
}

// busySilence is how long a step that is to follow another at once may wait
// without a word: the end of the other is still on its way to the controller.
const busySilence = 500 * time.Millisecond

const codeUnknown = 2017

func refused(p *command.Program, job string, r *wire.Refusal) int {
	if r.Code == codeUnknown {
		p.Error("Unable to confirm allocation for job %s: %s", job, r.Message)
		p.Say("Check SLURM_JOB_ID environment variable. Expired or invalid job %s", job)
		return p.ErrorCode()
	}
	return p.Failed("Unable to create step for job %s: %s", job, r.Message)
}

// endStep has the controller end a step, or what is left of it.
func endStep(p *command.Program, c *client.Client, reply *wire.StepReply) {
	request := &wire.StepEndRequest{RequestId: client.RequestID(), Key: reply.Key, Attempt: reply.Attempt, Step: reply.Step}
	var answer *wire.UpdateReply
	err := c.Do(context.Background(), func(ctx context.Context, ctld wire.DRPCCtldClient) (err error) {
		answer, err = ctld.EndStep(ctx, request)
		return err
	})
	if err == nil && answer.GetRefusal().GetMessage() != "" {
		err = errors.New(answer.Refusal.Message)
	}
	if err != nil {
		p.Error("Ending StepId=%s: %v", stepID(reply), err)
	}
}

// killWait is KillWait of the configuration, in seconds.
func killWait(p *command.Program) int {
	conf, err := client.ReadConf(p.Getenv)
	if err != nil {
		return 30
	}
	if n, err := strconv.Atoi(conf.Get("KillWait")); err == nil {
		return n
	}
	return 30
}

// nodeAuth is how a node is verified; without the controller's public key there
// is no way to.
func nodeAuth(c *client.Client, name string) func() (auth.ClientConfig, error) {
	return func() (auth.ClientConfig, error) {
		config, err := c.NodeAuth(name)
		if errors.Is(err, fs.ErrNotExist) {
			return config, fmt.Errorf("verifying node %s: %w", name, err)
		}
		return config, err
	}
}

// wordsOf checks a --multi-prog file against the step's tasks.
func wordsOf(program *programText, tasks uint32) error {
	if program.conf == nil {
		return nil
	}
	_, err := multiprog.Parse(program.name, program.conf, int(tasks), program.argv[1:])
	return err
}
