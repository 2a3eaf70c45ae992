package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"muster/internal/command/client"
	"muster/internal/model"
	"muster/internal/wire"
)

// write fetches a job's script, or the controller's whole state, into a file.
func (s *session) write(ctx context.Context, words []string) {
	switch {
	case matches(words[0], "batch_script", 5):
		if len(words) < 2 {
			s.fail("too few arguments for keyword:write")
			return
		}
		file := ""
		if len(words) > 2 {
			file = words[2]
		}
		s.writeScript(ctx, words[1], file)
	case matches(words[0], "snapshot", 4):
		if len(words) != 2 {
			s.fail("scontrol write snapshot needs the name of a file")
			return
		}
		s.writeSnapshot(ctx, words[1])
	case matches(words[0], "config", 1):
		s.p.Error("not supported yet: write config")
		s.code = 1
	default:
		s.fail("invalid write argument:%s", words[0])
	}
}

func (s *session) writeScript(ctx context.Context, id, file string) {
	ref, err := model.ParseJobRef(id)
	if err != nil {
		s.fail("job script retrieval failed: Invalid job id specified")
		return
	}
	var reply *wire.ContentReply
	err = s.c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) (err error) {
		reply, err = ctld.Content(ctx, &wire.ContentRequest{Job: ref})
		return err
	})
	switch {
	case err != nil:
		s.fail("job script retrieval failed: %v", err)
		return
	case reply.Refusal.GetCode() != 0:
		s.p.Raw("job script retrieval failed: %s", reply.Refusal.Message) // and the exit code stays 0, as Slurm's
		return
	}
	if file == "-" {
		_, _ = s.p.Stdout.Write(reply.Content)
		return
	}
	if file == "" {
		file = "slurm-" + id + ".sh"
	}
	if err := os.WriteFile(file, reply.Content, 0o700); err != nil {
		s.fail("job script retrieval failed: %v", err)
		return
	}
	s.p.Print("batch script for job %s written to %s\n", id, file)
}

// writeSnapshot writes beside the file and renames, so that what bears the name is whole.
func (s *session) writeSnapshot(ctx context.Context, file string) {
	ctld, err := s.c.Connect(ctx)
	if err != nil {
		s.fail("slurm_snapshot error: %v", err)
		return
	}
	stream, err := ctld.Snapshot(ctx, &wire.AdminRequest{RequestId: client.RequestID(), Verb: "snapshot"})
	if err != nil {
		s.fail("slurm_snapshot error: %v", err)
		return
	}
	defer stream.Close()
	err = replaceFile(file, func(w io.Writer) error {
		for {
			page, err := stream.Recv()
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			case page.Refusal.GetCode() != 0:
				return errors.New(page.Refusal.Message)
			}
			if _, err := w.Write(page.Data); err != nil {
				return err
			}
		}
	})
	if err != nil {
		s.fail("slurm_snapshot error: %v", err)
		return
	}
	s.p.Print("state of the controller written to %s\n", file)
}

func replaceFile(name string, fill func(io.Writer) error) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("making a file beside %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // the first error counts
		}
	}()
	if err = fill(tmp); err != nil {
		_ = tmp.Close() // likewise
		return err
	}
	if err = errors.Join(tmp.Sync(), tmp.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return os.Rename(tmp.Name(), name)
}
