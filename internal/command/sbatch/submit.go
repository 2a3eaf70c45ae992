package sbatch

import (
	"context"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/command/option"
	"muster/internal/wire"
)

// Refusals that are more than a text to print; the numbers are Slurm's.
const (
	codeBusy = 11   // the controller has no room now
	codeGres = 2072 // its text stands alone
)

const (
	busyText  = "Slurm temporarily unable to accept job, sleeping and retrying"
	busyTries = 15
)

// submit hands the job over. The same id goes with every repeat of one try, so
// that a lost reply submits nothing twice; a controller without room is asked
// again, as a new request.
func submit(ctx context.Context, p *command.Program, c *client.Client, request *wire.SubmitRequest) (*wire.SubmitReply, error) {
	c.Notice = func() { p.Error("%s", busyText) }
	for try := 1; ; try++ {
		request.RequestId = client.RequestID()
		var reply *wire.SubmitReply
		err := c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) (err error) {
			reply, err = ctld.Submit(ctx, request)
			return err
		})
		if err != nil {
			return nil, err
		}
		if reply.GetRefusal().GetCode() != codeBusy || try == busyTries {
			return reply, nil
		}
		if try == 1 {
			p.Error("%s", busyText)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(time.Duration(try) * time.Second):
		}
	}
}

// answer prints what the controller said.
func answer(ctx context.Context, p *command.Program, c *client.Client, o *option.Options, reply *wire.SubmitReply) int {
	for _, text := range reply.Messages {
		if complaint, ok := strings.CutPrefix(text, "error: "); ok {
			p.Error("%s", complaint)
		} else {
			p.Say("%s", text)
		}
	}
	if r := reply.GetRefusal(); r.GetMessage() != "" {
		switch {
		case r.Code == codeGres:
			return p.Failed("%s", r.Message)
		case o.TestOnly:
			p.Raw("allocation failure: %s", r.Message)
			return command.ExitError
		}
		return p.Failed("Batch job submission failed: %s", r.Message)
	}
	if o.TestOnly {
		start := time.Unix(reply.Start, 0)
		p.Say("Job %d to start at %s using %d processors on nodes %s in partition %s", reply.JobId,
			start.Format("2006-01-02T15:04:05"), reply.Cpus, reply.Nodes, reply.Partition)
		return 0
	}
	cluster := ""
	if o.Clusters != "" {
		cluster = c.Conf.Cluster
	}
	switch {
	case p.Level < 0:
	case o.Parsable && cluster != "":
		p.Print("%d;%s\n", reply.JobId, cluster)
	case o.Parsable:
		p.Print("%d\n", reply.JobId)
	case cluster != "":
		p.Print("Submitted batch job %d on cluster %s\n", reply.JobId, cluster)
	default:
		p.Print("Submitted batch job %d\n", reply.JobId)
	}
	if !o.Wait {
		return 0
	}
	_ = p.Stdout.Flush() // the id is needed now, not at the end of the job
	return wait(ctx, p, c, reply.JobId)
}

// wait returns the job's exit code; a controller that goes away is waited for.
func wait(ctx context.Context, p *command.Program, c *client.Client, id uint32) int {
	pause := time.Second
	for {
		reply, err := waitOnce(ctx, c, id)
		switch {
		case err == nil && reply.GetRefusal().GetMessage() != "":
			return p.Failed("Job %d: %s", id, reply.Refusal.Message)
		case err == nil:
			return exitCode(reply.ExitStatus)
		}
		c.Close()
		time.Sleep(pause)
		pause = min(2*pause, 10*time.Second)
	}
}

func waitOnce(ctx context.Context, c *client.Client, id uint32) (*wire.WaitReply, error) {
	ctld, err := c.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return ctld.Wait(ctx, &wire.WaitRequest{JobId: id})
}

// exitCode turns a wait status into an exit code: a job that a signal ended
// counts as 1.
func exitCode(status int32) int {
	if w := unix.WaitStatus(status); w.Signaled() {
		return 1
	} else if w.Exited() {
		return w.ExitStatus()
	}
	return 1
}
