package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"muster/internal/auth"
	"muster/internal/multiprog"
	"muster/internal/node/jobenv"
	"muster/internal/node/journal"
	"muster/internal/node/steplink"
	"muster/internal/pattern"
	"muster/internal/wire"
)

// Run serves one srun: it starts the step's tasks that belong here, or takes a
// lost connection up again, and carries their streams until they have ended.
func (n *Node) Run(stream wire.DRPCNodeSteps_RunStream) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	launch := first.GetLaunch()
	if launch == nil {
		return errors.New("a step begins with its launch")
	}
	refuse := func(err error) error {
		n.log.Warn("step refused", "error", err)
		text := fmt.Sprintf("error: node %s: %v\n", n.cfg.Name, err)
		if err := stream.Send(&wire.StepOut{Body: &wire.StepOut_Error{Error: text}}); err != nil {
			return err
		}
		return stream.Send(&wire.StepOut{Body: &wire.StepOut_Done{Done: true}})
	}
	cred, r, err := n.admit(stream.Context(), launch)
	if err != nil {
		return refuse(err)
	}
	// A launch that comes again, because its answer was lost, joins the first.
	h := r.step(cred.Step)
	if h == nil && launch.Reattach {
		return refuse(fmt.Errorf("step %d.%d is not here any more", cred.JobId, cred.Step))
	}
	if h == nil {
		if h, err = r.startTasks(cred, launch); err != nil {
			return refuse(err)
		}
	}
	relay := &relay{node: n, step: h, srun: stream, ranks: here(cred, n.cfg.Name).Ranks, exited: make(map[uint32]bool)}
	return relay.run(launch)
}

// admit checks the credential of a step and who brings it.
func (n *Node) admit(ctx context.Context, launch *wire.StepLaunch) (*wire.StepCredential, *run, error) {
	if n.cfg.VerifyStep == nil {
		return nil, nil, errors.New("no public key of the controller to verify steps with")
	}
	payload, err := n.cfg.VerifyStep(launch.Credential)
	if err != nil {
		return nil, nil, fmt.Errorf("step credential: %w", err)
	}
	cred := new(wire.StepCredential)
	if err := proto.Unmarshal(payload, cred); err != nil {
		return nil, nil, fmt.Errorf("step credential: %w", err)
	}
	id, ok := auth.FromContext(ctx)
	if !ok || id.UID != cred.Uid && id.UID != 0 {
		return nil, nil, errors.New("Access/permission denied")
	}
	n.mu.Lock()
	cluster := n.memory.ClusterId
	n.mu.Unlock()
	switch {
	case cred.ClusterId != cluster:
		return nil, nil, errors.New("step credential: it is of another cluster")
	// A connection may be lost and made again long after the step began.
	case !launch.Reattach && cred.Expires != 0 && time.Now().Unix() >= cred.Expires:
		return nil, nil, errors.New("step credential: it has expired")
	case here(cred, n.cfg.Name) == nil:
		return nil, nil, errors.New("step credential: it is not for this node")
	}
	r := n.find(journal.ID{Key: cred.Key, Attempt: cred.Attempt})
	if r == nil {
		return nil, nil, fmt.Errorf("job %d does not run here", cred.JobId)
	}
	if launch.Pty {
		return nil, nil, errors.New("not supported yet: --pty")
	}
	if !launch.Reattach && len(launch.Argv) == 0 {
		return nil, nil, errors.New("no program to run")
	}
	return cred, r, nil
}

func here(cred *wire.StepCredential, node string) *wire.StepNode2 {
	for _, s := range cred.Nodes {
		if s.Node == node {
			return s
		}
	}
	return nil
}

// programs tells what each task runs: all the same, or as a file says
// (--multi-prog).
func programs(cred *wire.StepCredential, launch *wire.StepLaunch) (func(rank uint32) []string, error) {
	if !launch.MultiProg {
		return func(uint32) []string { return launch.Argv }, nil
	}
	words, err := multiprog.Parse(launch.Argv[0], launch.MultiProgConf, int(cred.NumTasks), launch.Argv[1:])
	if err != nil {
		return nil, err
	}
	return func(rank uint32) []string { return words[rank] }, nil
}

// startTasks starts the shepherd of a step, and waits until its tasks run.
func (r *run) startTasks(cred *wire.StepCredential, launch *wire.StepLaunch) (*stepHandle, error) {
	if err := r.runProlog(); err != nil {
		return nil, fmt.Errorf("prolog: %w", err)
	}
	spec, err := r.baseSpec(cred.Step)
	if err != nil {
		return nil, err
	}
	words, err := programs(cred, launch)
	if err != nil {
		return nil, err
	}
	local := here(cred, r.node.cfg.Name)
	spec.Env = r.marked(jobenv.Step(r.order, cred, local, launch, r.node.site()), spec.Name)
	spec.WorkDir, spec.Umask, spec.Limits = launch.WorkDir, launch.Umask, limits(launch.Rlimits)
	spec.Append = r.append(launch.OpenMode)
	spec.Relay = true
	spec.StdinOne, spec.StdinTo = launch.StdinOne, launch.StdinTask
	if launch.TaskProlog != "" {
		spec.TaskProlog = append(spec.TaskProlog, absolute(launch.WorkDir, launch.TaskProlog))
	}
	if launch.TaskEpilog != "" {
		spec.TaskEpilog = append(spec.TaskEpilog, absolute(launch.WorkDir, launch.TaskEpilog))
	}
	values := r.values(strconv.Itoa(int(cred.Step)), fmt.Sprintf("%d.%d", cred.JobId, cred.Step))
	values.Node = uint32(slices.IndexFunc(cred.Nodes, func(s *wire.StepNode2) bool { return s == local }))
	for i, rank := range local.Ranks {
		values.Rank = rank
		expand := func(path string) string { return absolute(launch.WorkDir, pattern.Expand(path, values)) }
		task := steplink.Task{
			Rank: rank, Local: uint32(i), Argv: words(rank), Env: jobenv.Task(rank, uint32(i)),
			Stdin: expand(launch.StdIn), Stdout: expand(launch.StdOut), Stderr: expand(launch.StdErr), StderrRelayed: launch.StderrRelayed,
		}
		if launch.StdinNone {
			task.Stdin = "/dev/null"
		}
		spec.Tasks = append(spec.Tasks, task)
	}
	return r.startStep(spec, cred.Step)
}
