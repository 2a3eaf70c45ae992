package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcwire"

	"muster/internal/auth"
	"muster/internal/auth/confcopy"
	"muster/internal/auth/munge"
	"muster/internal/auth/pki"
	"muster/internal/auth/slurm"
	"muster/internal/wire"
)

// What a host without configuration must have been given: the controller's
// public key, and with auth/slurm the cluster's key beside it.
const (
	defaultKey     = "/etc/slurm/slurm.key"
	controllerPort = "6817"
)

const (
	fetchTimeout  = 30 * time.Second
	fetchInterval = time.Minute
	maxConf       = 64 << 20
)

var errUnchanged = errors.New("the configuration has not changed")

// fetcher gets the configuration files from the controller.
type fetcher struct {
	address string
	dir     string
	pinned  []byte // muster.pub of this host
	public  *pki.Public
	key     slurm.Key
	hasKey  bool
	hash    string
}

func newFetcher(o options) (*fetcher, error) {
	path := o.key
	if path == "" {
		path = defaultKey
	}
	f := &fetcher{address: o.server, dir: o.confDir}
	if _, _, err := net.SplitHostPort(o.server); err != nil {
		f.address = net.JoinHostPort(o.server, controllerPort)
	}
	pinned := filepath.Join(filepath.Dir(path), pki.PublicFile)
	var err error
	if f.public, err = pki.LoadPublic(pinned); err != nil {
		return nil, err
	}
	if f.pinned, err = os.ReadFile(pinned); err != nil {
		return nil, fmt.Errorf("reading the controller's public key: %w", err)
	}
	// SlurmUser is not known before slurm.conf is here; the owner is checked
	// against it then.
	owner, err := ownerOf(path)
	if err == nil {
		f.key, err = slurm.LoadKey(path, owner)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f.hasKey = err == nil
	return f, nil
}

func ownerOf(path string) (uint32, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("reading the key of auth/slurm: %w", err)
	}
	return info.Sys().(*syscall.Stat_t).Uid, nil
}

// Fetch implements confcopy.Source.
func (f *fetcher) Fetch(ctx context.Context) ([]confcopy.File, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, "tcp", f.address)
	if err != nil {
		return nil, err
	}
	conn, err := auth.ClientConn(ctx, raw, f.clientConfig())
	if err != nil {
		return nil, err
	}
	rpc := drpcconn.NewWithOptions(conn, drpcconn.Options{Manager: drpcmanager.Options{
		Reader: drpcwire.ReaderOptions{MaximumBufferSize: maxConf}}})
	defer rpc.Close()
	reply, err := wire.NewDRPCCtldClient(rpc).ConfFiles(ctx, &wire.ConfFilesRequest{Hash: f.hash})
	switch {
	case err != nil:
		return nil, err
	case reply.GetRefusal().GetCode() != 0:
		return nil, fmt.Errorf("the controller refused: %s", reply.GetRefusal().GetMessage())
	case f.hash != "" && reply.GetHash() == f.hash:
		return nil, errUnchanged
	}
	files := []confcopy.File{{Name: pki.PublicFile, Content: f.pinned}} // never the one that is sent
	for _, file := range reply.GetFiles() {
		if file.GetName() != pki.PublicFile {
			files = append(files, confcopy.File{Name: file.GetName(), Content: file.GetContent(), Executable: file.GetExecutable()})
		}
	}
	f.hash = reply.GetHash()
	return files, nil
}

// clientConfig verifies the controller by the pinned key and takes the
// cluster's name from its certificate, because the proof needs it.
func (f *fetcher) clientConfig() auth.ClientConfig {
	prover := &proverForCluster{fetcher: f}
	config := f.public.ClientTLS(pki.ControllerName)
	config.VerifyConnection = func(state tls.ConnectionState) error { // after crypto/tls has verified
		if prover.cluster = pki.ClusterName(state); prover.cluster == "" {
			return errors.New("the controller does not name its cluster")
		}
		return nil
	}
	return auth.ClientConfig{TLS: config, Prover: prover}
}

type proverForCluster struct {
	fetcher *fetcher
	cluster string
}

func (p *proverForCluster) Method() auth.Method {
	if p.fetcher.hasKey {
		return auth.MethodSlurm
	}
	return auth.MethodMunge
}

func (p *proverForCluster) Prove(ctx context.Context, binding []byte) ([]byte, error) {
	if !p.fetcher.hasKey {
		return munge.Prover{Cluster: p.cluster}.Prove(ctx, binding)
	}
	issuer, err := slurm.NewIssuer(p.fetcher.key, p.cluster, 0)
	if err != nil {
		return nil, err
	}
	return issuer.Prover().Prove(ctx, binding)
}

// first gets the first copy. A controller that is away is waited for: nothing
// works without it. Everything else that goes wrong is for the admin to mend.
func (f *fetcher) first(ctx context.Context, log *slog.Logger) error {
	pause := time.Second
	for {
		err := confcopy.Update(ctx, f.dir, f)
		if err == nil {
			log.Info("fetched the configuration", "from", f.address, "to", f.dir)
			return nil
		}
		var network net.Error
		if ctx.Err() != nil || !errors.As(err, &network) {
			return err
		}
		log.Warn("the controller is not reached; trying again", "error", err, "in", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, fetchInterval)
	}
}

// follow fetches again now and then, and on SIGHUP, until ctx is done. A failure
// leaves the copy as it is.
func (f *fetcher) follow(ctx context.Context, log *slog.Logger) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	tick := time.NewTicker(fetchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-hangup:
		}
		old := f.hash
		err := confcopy.Update(ctx, f.dir, f)
		switch {
		case err == nil:
			log.Info("the configuration has changed", "to", f.dir)
		case errors.Is(err, errUnchanged), ctx.Err() != nil:
		default:
			f.hash = old // what could not be kept is fetched again
			log.Warn("keeping the old configuration", "error", err)
		}
	}
}
