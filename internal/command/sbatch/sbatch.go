package sbatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"muster/internal/batchscript"
	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/command/environ"
	"muster/internal/command/option"
	"muster/internal/wire"
)

const operands = "script [args...]"

// Run is the command; it returns the exit code.
func Run(p *command.Program) int {
	line, err := option.Read(option.Sbatch, p.Args)
	if err != nil {
		return option.Refuse(p, err)
	}
	switch {
	case line.Has("help"):
		p.Print("%s", option.Help(option.Sbatch, operands))
		return 0
	case line.Has("usage"):
		p.Print("%s", option.Usage(option.Sbatch, operands))
		return 0
	case line.Has("version"):
		return p.PrintVersion()
	}
	script, o, err := gather(p, line)
	if o != nil {
		p.Level = o.Level
		option.Tell(p, o.Messages)
	}
	if err != nil {
		return refuseScript(p, err)
	}
	c, err := client.New(p.Getenv)
	if err != nil {
		return p.Fatal("%v", err)
	}
	defer c.Close()
	request, err := build(p, o, script, c.Conf)
	if err != nil {
		return option.Refuse(p, err)
	}
	if code := chooseCluster(p, o, c.Conf); code != 0 {
		return code
	}
	ctx := context.Background()
	reply, err := submit(ctx, p, c, request)
	if err != nil {
		return p.Failed("Batch job submission failed: %v", err)
	}
	return answer(ctx, p, c, o, reply)
}

// gather reads the script and all that it, the environment and the command line
// say, the weakest first.
func gather(p *command.Program, line *option.Line) (*source, *option.Options, error) {
	wrap, wrapped := line.Value("wrap")
	script, err := find(p, wrap, wrapped, line.Rest)
	if err != nil {
		return nil, nil, err
	}
	if err := batchscript.Check(script.body); err != nil {
		return nil, nil, err
	}
	o := option.New(option.Sbatch, time.Now())
	if !wrapped {
		if err := o.ApplyScript(script.name, script.body); err != nil {
			return nil, o, err
		}
		_, inEnvironment := os.LookupEnv("SBATCH_IGNORE_PBS")
		if !o.IgnorePBS && !inEnvironment && !line.Has("ignore-pbs") {
			if err := o.ApplyForeign(script.name, script.body); err != nil {
				return nil, o, err
			}
		}
	}
	for _, step := range []func() error{
		func() error { return o.ApplyEnvironment(os.LookupEnv) },
		func() error { return o.Apply(line) },
		o.Finish,
	} {
		if err := step(); err != nil {
			return nil, o, err
		}
	}
	return script, o, nil
}

func refuseScript(p *command.Program, err error) int {
	var refused *batchscript.RefusedError
	if !errors.As(err, &refused) {
		return option.Refuse(p, err)
	}
	for _, text := range refused.Lines {
		p.Error("%s", text)
	}
	return command.ExitError
}

// build completes the request with what of the caller goes along.
func build(p *command.Program, o *option.Options, script *source, conf *client.Conf) (*wire.SubmitRequest, error) {
	s := o.Spec
	cwd, err := unix.Getwd()
	if err != nil {
		cwd = "/" // a removed folder; the job's shell will be told
	}
	s.Batch = true
	s.WorkDir = o.WorkDir(cwd)
	s.Command, s.Argv = script.command, script.argv
	if o.Given("job-name") == option.FromNowhere {
		s.Name = script.job
	}
	s.SubmitLine = command.SubmitLine(p.Name, p.Args)
	s.SubmitHost = command.Hostname()
	if sid, err := unix.Getsid(0); err == nil {
		s.AllocSid = uint32(sid)
	}
	if s.Umask, err = umask(p, o); err != nil {
		return nil, err
	}
	s.Rlimits, err = command.Rlimits(o.Propagate, conf.Get("PropagateResourceLimits"), conf.Get("PropagateResourceLimitsExcept"))
	if err != nil {
		return nil, err
	}
	specialized(p, o, conf)
	file, err := readExportFile(o.ExportFile)
	if err != nil {
		return nil, err
	}
	exported := o.Given("export") != option.FromNowhere
	request := &wire.SubmitRequest{Spec: s, Script: script.body, TestOnly: o.TestOnly}
	env, login := environ.Export(os.Environ(), o.Export, exported, file)
	addVariables(env, o, cwd)
	request.Environment = env.Bytes()
	s.GetUserEnv = s.GetUserEnv || login
	if exported {
		s.ExportEnv = o.Export
	}
	return request, setIdentity(request, o)
}

// umask is what #PBS -W umask or SLURM_UMASK say, else the caller's.
func umask(p *command.Program, o *option.Options) (uint32, error) {
	text := o.Umask
	if text == "" {
		text = p.Getenv("SLURM_UMASK")
	}
	if text == "" {
		return command.Umask(), nil
	}
	mask, err := strconv.ParseUint(text, 8, 32)
	if err != nil || mask > 0o777 {
		return 0, fmt.Errorf("Invalid umask %s", text)
	}
	return uint32(mask), nil
}

// specialized drops -S and --thread-spec where the configuration does not let
// users ask for them.
func specialized(p *command.Program, o *option.Options, conf *client.Conf) {
	name := ""
	switch {
	case o.Given("core-spec") != option.FromNowhere:
		name = "-S"
	case o.Given("thread-spec") != option.FromNowhere:
		name = "--thread-spec"
	default:
		return
	}
	switch strings.ToLower(conf.Get("AllowSpecResourcesUsage")) {
	case "yes", "true", "up", "1":
		return
	}
	p.Error("Ignoring %s since it's not allowed by configuration (AllowSpecResourcesUsage = No)", name)
	o.Spec.CoreSpec, o.Spec.ThreadSpec = 0, false
}

// chooseCluster refuses a cluster that is not this one.
func chooseCluster(p *command.Program, o *option.Options, conf *client.Conf) int {
	if o.Clusters == "" || strings.EqualFold(o.Clusters, "all") {
		return 0
	}
	for name := range strings.SplitSeq(o.Clusters, ",") {
		if name == conf.Cluster {
			return 0
		}
	}
	p.Error("No cluster '%s' known by database.", o.Clusters)
	return p.Failed("'%s' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr list clusters' to see available clusters.", o.Clusters)
}
