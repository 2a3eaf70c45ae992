package daemon

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"muster/internal/auth/conffetch"
	"muster/internal/auth/slurm"
	"muster/internal/conf"
)

// fetchConf gets the configuration of a host that has no files of its own.
func (d *daemon) fetchConf(ctx context.Context) error {
	if d.opts.Server == "" {
		return nil
	}
	fetcher, err := conffetch.New(d.opts.Server, d.opts.ConfDir, d.opts.Key)
	if err != nil {
		return err
	}
	// Where the log goes stands in the file that is yet to come.
	if err := fetcher.First(ctx, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
		return err
	}
	d.fetcher, d.opts.Conf = fetcher, fetcher.Conf()
	return nil
}

// keyFile is the key of auth/slurm. It never comes with a copy.
func (d *daemon) keyFile(c *conf.Config) string {
	switch {
	case d.opts.Key != "":
		return d.opts.Key
	case d.fetcher != nil:
		return conffetch.DefaultKey
	}
	return filepath.Join(c.Dir(), slurm.KeyFile)
}

// renewPause is the time between two looks at the certificate's age.
const renewPause = time.Hour

// keepCertificate renews the node's certificate while its session goes on: a
// session may last longer than the certificate, which srun asks for.
func (d *daemon) keepCertificate(ctx context.Context) {
	tick := time.NewTicker(renewPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if d.dialer.Key() == nil {
			continue // the session is about to ask for the first one
		}
		if err := d.dialer.ensureKey(ctx); err != nil && ctx.Err() == nil {
			d.log.Warn("the node's certificate could not be renewed", "error", err)
		}
	}
}
