package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"muster/internal/command"
	"muster/internal/command/client"
	"muster/internal/command/option"
	"muster/internal/wire"
)

// job makes the request that sbatch would make for a script.
func job(script string) (*wire.SubmitRequest, error) {
	o := option.New(option.Sbatch, time.Now())
	if err := o.ApplyScript("job.sh", []byte(script)); err != nil {
		return nil, fmt.Errorf("read the script: %w", err)
	}
	if err := o.Finish(); err != nil {
		return nil, fmt.Errorf("read the script: %w", err)
	}
	s := o.Spec
	s.Batch, s.Name, s.WorkDir, s.Command = true, "job.sh", "/tmp", "/tmp/job.sh"
	s.SubmitLine, s.SubmitHost, s.Umask = "sbatch job.sh", command.Hostname(), 0o022
	s.Uid, s.Gid = uint32(os.Getuid()), uint32(os.Getgid())
	limits, err := command.Rlimits(o.Propagate, "", "")
	if err != nil {
		return nil, fmt.Errorf("read the limits: %w", err)
	}
	s.Rlimits = limits
	return &wire.SubmitRequest{Spec: s, Script: []byte(script), Environment: environment()}, nil
}

// environment is about as large as a user's, some 3 kB.
func environment() []byte {
	var b strings.Builder
	b.WriteString("PATH=/usr/local/bin:/usr/bin:/bin\x00HOME=/root\x00USER=root\x00")
	for i := range 40 {
		fmt.Fprintf(&b, "SOME_VARIABLE_%02d=%s\x00", i, strings.Repeat("v", 50))
	}
	return []byte(b.String())
}

// submit sends the request total times over so many connections and returns
// how long it took until the last was acknowledged.
func (c *cluster) submit(ctx context.Context, connections, total int, request *wire.SubmitRequest) (time.Duration, error) {
	clients := make([]*client.Client, connections)
	for i := range clients {
		cl, err := client.New(c.getenv)
		if err != nil {
			return 0, err
		}
		defer cl.Close()
		if _, err := cl.Connect(ctx); err != nil {
			return 0, err
		}
		clients[i] = cl
	}
	var left atomic.Int64
	left.Store(int64(total))
	errs := make([]error, connections)
	var all sync.WaitGroup
	begin := time.Now()
	for i, cl := range clients {
		all.Go(func() {
			r := &wire.SubmitRequest{Spec: request.Spec, Script: request.Script, Environment: request.Environment}
			for left.Add(-1) >= 0 && errs[i] == nil {
				r.RequestId = client.RequestID()
				errs[i] = submitOne(ctx, cl, r)
			}
		})
	}
	all.Wait()
	return time.Since(begin), errors.Join(errs...)
}

func submitOne(ctx context.Context, c *client.Client, r *wire.SubmitRequest) error {
	return c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) error {
		reply, err := ctld.Submit(ctx, r)
		if err != nil {
			return err
		}
		if text := reply.GetRefusal().GetMessage(); text != "" {
			return fmt.Errorf("the job is refused: %s", text)
		}
		return nil
	})
}

// live counts the jobs that are pending, running or completing.
func live(ctx context.Context, c *client.Client) (int, error) {
	request := &wire.JobsRequest{Masked: true, StateFields: []uint32{1}, Select: &wire.JobSelect{
		States: []string{"PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED"}, AllPartitions: true,
	}}
	count := 0
	err := c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) error {
		count = 0
		stream, err := ctld.Jobs(ctx, request)
		if err != nil {
			return err
		}
		defer stream.Close()
		for {
			page, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if text := page.GetRefusal().GetMessage(); text != "" {
				return errors.New(text)
			}
			count += len(page.Jobs)
		}
	})
	return count, err
}

// recorded counts the completed jobs of the accounting.
func recorded(ctx context.Context, c *client.Client, since time.Time) (int, error) {
	count := 0
	err := c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) error {
		count = 0
		stream, err := ctld.History(ctx, &wire.HistoryRequest{
			AllUsers: true, AllocationsOnly: true, Start: since.Unix(), StartSet: true, States: []string{"COMPLETED"},
			End: time.Now().Unix() + 10, EndSet: true,
		})
		if err != nil {
			return err
		}
		defer stream.Close()
		for {
			page, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if text := page.GetRefusal().GetMessage(); text != "" {
				return errors.New(text)
			}
			count += len(page.Runs)
		}
	})
	return count, err
}

// stats asks the controller what it has done.
func stats(ctx context.Context, c *client.Client) (reply *wire.StatsReply, err error) {
	err = c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) (err error) {
		reply, err = ctld.Stats(ctx, &wire.StatsRequest{})
		return err
	})
	return reply, err
}
