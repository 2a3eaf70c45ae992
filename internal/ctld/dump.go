package ctld

import (
	"context"
	"errors"

	"muster/internal/store/embedded"
)

// Dump writes the embedded database into a file. No ctld may run.
func Dump(ctx context.Context, opts Options, file string) error {
	return withDatabase(ctx, opts, func(url string) error { return embedded.Dump(ctx, url, "", file) })
}

// Restore loads the embedded database from a file that Dump wrote. The nodes
// remember that the cluster was further on; nothing of theirs is killed.
func Restore(ctx context.Context, opts Options, file string) error {
	return withDatabase(ctx, opts, func(url string) error { return embedded.Restore(ctx, url, "", file) })
}

func withDatabase(ctx context.Context, opts Options, do func(url string) error) error {
	d := &daemon{opts: opts}
	if err := d.prepare(ctx); err != nil {
		return err
	}
	defer removePid(d.conf.SlurmctldPidFile)
	db := &database{}
	if err := db.startEmbedded(ctx, d); err != nil {
		return err
	}
	return errors.Join(do(db.server.URL()), db.stopEmbedded(d))
}
