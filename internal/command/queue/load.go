package queue

import (
	"context"
	"errors"
	"io"
	"time"

	"muster/internal/command/client"
	"muster/internal/wire"
)

// Load asks for jobs, keeps them, and sets the view's clock to the controller's.
func Load(ctx context.Context, c *client.Client, req *wire.JobsRequest, view *Context) (jobs []*wire.JobInfo, refusal *wire.Refusal, err error) {
	again := func() error { jobs = nil; return nil }
	refusal, err = stream(ctx, c, req, view, again, func(page *wire.JobsPage) error {
		jobs = append(jobs, page.Jobs...)
		return nil
	})
	return jobs, refusal, err
}

// errBroken ends an answer that was cut off after some of it was used.
var errBroken = errors.New("the controller's answer broke off")

// Each asks for jobs and hands each page on as it comes. What was handed on
// cannot be taken back, so an answer that breaks off is an error.
func Each(ctx context.Context, c *client.Client, req *wire.JobsRequest, view *Context, use func(*wire.JobsPage) error) (*wire.Refusal, error) {
	return stream(ctx, c, req, view, func() error { return errBroken }, use)
}

// stream asks for jobs and hands each page on as it comes; again is called when
// the question has to be asked anew after some pages were used.
func stream(ctx context.Context, c *client.Client, req *wire.JobsRequest, view *Context,
	again func() error, use func(*wire.JobsPage) error) (refusal *wire.Refusal, err error) {
	used := false
	err = c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) error {
		if used {
			if err := again(); err != nil {
				return err
			}
		}
		stream, err := ctld.Jobs(ctx, req)
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
			if page.Refusal.GetCode() != 0 {
				refusal = page.Refusal
				return nil
			}
			if page.Now != 0 {
				view.Now = time.Unix(page.Now, 0)
			}
			used = used || len(page.Jobs) > 0
			if err := client.Use(ctx, func() error { return use(page) }); err != nil {
				return err
			}
		}
	})
	return refusal, err
}
