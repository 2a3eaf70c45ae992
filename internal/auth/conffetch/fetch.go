// Package conffetch gets a configless host's configuration files from the
// controller (sackd and noded --conf-server) and follows their changes.
//
// The controller is verified by a public key that the host was given
// beforehand; no file that comes with the configuration replaces it.
package conffetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// DefaultKey is the cluster's key of auth/slurm on a host without other files;
// the controller's public key lies beside it.
const DefaultKey = "/etc/slurm/slurm.key"

const (
	controllerPort = "6817"
	fetchTimeout   = 30 * time.Second
	fetchInterval  = time.Minute
	maxConf        = 64 << 20
)

var errUnchanged = errors.New("the configuration has not changed")

// Fetcher gets the configuration files from the controller. Its methods may be
// called by several goroutines.
type Fetcher struct {
	dir       string
	addresses []string
	pinned    []byte // muster.pub of this host
	public    *pki.Public
	key       slurm.Key
	hasKey    bool

	mu   sync.Mutex // one update at a time
	hash string
}

// New makes a fetcher for the controllers HOST[:PORT][,HOST[:PORT]...] that keeps
// its copy in dir. An empty key is DefaultKey.
func New(servers, dir, key string) (*Fetcher, error) {
	if key == "" {
		key = DefaultKey
	}
	f := &Fetcher{dir: dir}
	for address := range strings.SplitSeq(servers, ",") {
		if _, _, err := net.SplitHostPort(address); err != nil {
			address = net.JoinHostPort(strings.Trim(address, "[]"), controllerPort)
		}
		f.addresses = append(f.addresses, address)
	}
	pinned := filepath.Join(filepath.Dir(key), pki.PublicFile)
	var err error
	if f.public, err = pki.LoadPublic(pinned); err != nil {
		return nil, err
	}
	if f.pinned, err = os.ReadFile(pinned); err != nil {
		return nil, fmt.Errorf("reading the controller's public key: %w", err)
	}
	// SlurmUser is not known before slurm.conf is here; the owner is checked
	// against it then.
	owner, err := ownerOf(key)
	if err == nil {
		f.key, err = slurm.LoadKey(key, owner)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f.hasKey = err == nil
	return f, nil
}

// Conf is the path of the copied slurm.conf.
func (f *Fetcher) Conf() string { return filepath.Join(f.dir, "slurm.conf") }

func ownerOf(path string) (uint32, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("reading the key of auth/slurm: %w", err)
	}
	return info.Sys().(*syscall.Stat_t).Uid, nil
}

// Fetch implements confcopy.Source.
func (f *Fetcher) Fetch(ctx context.Context) ([]confcopy.File, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	conn, err := f.connect(ctx)
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

// connect goes to the first controller that answers.
func (f *Fetcher) connect(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{Timeout: fetchTimeout / time.Duration(len(f.addresses)+1)}
	var all error
	for _, address := range f.addresses {
		raw, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return auth.ClientConn(ctx, raw, f.clientConfig())
		}
		all = errors.Join(all, err)
	}
	return nil, all
}

// clientConfig verifies the controller by the pinned key and takes the
// cluster's name from its certificate, because the proof needs it.
func (f *Fetcher) clientConfig() auth.ClientConfig {
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
	fetcher *Fetcher
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

// First gets the first copy. While no controller answers, an earlier copy is
// used; without one it is waited for: nothing works without it. Everything else
// that goes wrong is for the admin to mend.
func (f *Fetcher) First(ctx context.Context, log *slog.Logger) error {
	pause := time.Second
	for {
		_, err := f.Update(ctx)
		if err == nil {
			log.Info("fetched the configuration", "to", f.dir)
			return nil
		}
		var network net.Error
		if ctx.Err() != nil || !errors.As(err, &network) {
			return err
		}
		if _, missing := os.Stat(f.Conf()); missing == nil {
			log.Warn("the controller is not reached; using the copy of an earlier time", "error", err, "in", f.dir)
			return nil
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

// Update fetches again and tells whether anything has changed. A failure leaves
// the copy as it is.
func (f *Fetcher) Update(ctx context.Context) (changed bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.hash
	err = confcopy.Update(ctx, f.dir, f)
	switch {
	case errors.Is(err, errUnchanged):
		return false, nil
	case err != nil:
		f.hash = old // what could not be kept is fetched again
		return false, err
	}
	return true, nil
}

// Follow fetches again now and then, and at each wake-up, until ctx is done; it
// tells of each change.
func (f *Fetcher) Follow(ctx context.Context, log *slog.Logger, wake <-chan os.Signal, changed func()) {
	tick := time.NewTicker(fetchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-wake:
		}
		switch news, err := f.Update(ctx); {
		case news:
			log.Info("the configuration has changed", "to", f.dir)
			changed()
		case err != nil && ctx.Err() == nil:
			log.Warn("keeping the old configuration", "error", err)
		}
	}
}
