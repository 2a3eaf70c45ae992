package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"muster/internal/auth/conffetch"
	"muster/internal/auth/method"
	"muster/internal/auth/sack"
	"muster/internal/auth/slurm"
	"muster/internal/command/client"
	"muster/internal/supervisor"
	"muster/internal/users"
)

// options are what the command line says.
type options struct {
	conf, server, confDir, key, socket string
	once, systemd                      bool
}

// run serves until ctx is done.
func run(ctx context.Context, o options, log *slog.Logger) error {
	err := start(ctx, o, log)
	if err != nil {
		report(err)
	}
	return err
}

func start(ctx context.Context, o options, log *slog.Logger) error {
	group, ctx := errgroup.WithContext(ctx)
	if o.server != "" {
		fetcher, err := conffetch.New(o.server, o.confDir, o.key)
		if err != nil {
			return err
		}
		if err := fetcher.First(ctx, log); err != nil {
			return err
		}
		o.conf = fetcher.Conf()
		if !o.once {
			group.Go(func() error { follow(ctx, fetcher, log); return nil })
		}
	}
	auth, err := authentication(ctx, o)
	if err != nil {
		return err
	}
	if auth.Issuer == nil && o.server == "" {
		return errors.New("nothing to do: AuthType=auth/munge needs no sackd, and no --conf-server was given")
	}
	if auth.Issuer != nil {
		if err := os.MkdirAll(filepath.Dir(o.socket), 0o755); err != nil {
			return fmt.Errorf("making the folder of the socket: %w", err)
		}
		listener, err := sack.Listen(o.socket)
		if err != nil {
			return err
		}
		server := &sack.Server{Issuer: auth.Issuer, Log: log}
		group.Go(func() error { return server.Serve(ctx, listener) })
		log.Info("handing out tokens", "socket", o.socket)
	}
	ready(o, log)
	group.Go(func() error { <-ctx.Done(); return nil }) // with munge alone there is nothing else to wait for
	err = group.Wait()
	log.Info("ended")
	return err
}

// follow keeps the copy fresh; SIGHUP asks for it at once.
func follow(ctx context.Context, fetcher *conffetch.Fetcher, log *slog.Logger) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	fetcher.Follow(ctx, log, hangup, func() {})
}

// ready tells whoever started us that we serve.
func ready(o options, log *slog.Logger) {
	report(nil)
	supervisor.Ready(log, o.systemd)
}

// authentication reads slurm.conf and the key that it asks for.
func authentication(ctx context.Context, o options) (*method.Daemon, error) {
	conf, err := client.ReadConf(func(name string) string {
		if name == "SLURM_CONF" && o.conf != "" {
			return o.conf
		}
		return os.Getenv(name)
	})
	if err != nil {
		return nil, err
	}
	if conf.Cluster == "" {
		return nil, fmt.Errorf("%s: ClusterName is missing", conf.Path)
	}
	owner, err := keyOwner(ctx, conf.SlurmUser)
	if err != nil {
		return nil, fmt.Errorf("%s: SlurmUser=%s: %w", conf.Path, conf.SlurmUser, err)
	}
	authType := conf.AuthType
	if !strings.Contains(authType, "/") {
		authType = "auth/" + authType // the short form that Slurm takes, too
	}
	key := o.key
	if key == "" && o.server != "" {
		key = conffetch.DefaultKey
	}
	if key == "" {
		key = filepath.Join(filepath.Dir(conf.Path), slurm.KeyFile)
	}
	return method.ForDaemon(method.Options{AuthType: authType, AuthInfo: conf.AuthInfo,
		Cluster: conf.Cluster, KeyFile: key, KeyOwner: owner})
}

// keyOwner is SlurmUser; without root everything belongs to whoever runs us.
func keyOwner(ctx context.Context, slurmUser string) (uint32, error) {
	if uid := os.Geteuid(); uid != 0 {
		return uint32(uid), nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return users.NewResolver(users.Options{}).ParseUser(ctx, slurmUser)
}
