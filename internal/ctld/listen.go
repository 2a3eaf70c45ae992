package ctld

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"muster/internal/auth/sack"
	"muster/internal/conf"
)

// LocalSocket is where commands of this host reach the controller: beside
// slurm.conf, or in /run/slurm when that folder cannot be written.
const (
	localSocketName = "ctld.sock"
	runFolder       = "/run/slurm"
)

// listenLocal opens the unix socket, on which the kernel says who asks. With
// several controllers there is none: a name in a folder that they may share
// would not tell which of them leads.
func listenLocal(c *conf.Config) (net.Listener, error) {
	if len(c.SlurmctldHosts) > 1 {
		return nil, nil
	}
	path := filepath.Join(c.Dir(), localSocketName)
	l, err := sack.Listen(path)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		if err := os.MkdirAll(runFolder, 0o755); err != nil {
			return nil, fmt.Errorf("make the folder of the local socket: %w", err)
		}
		return sack.Listen(filepath.Join(runFolder, c.ClusterName+".sock"))
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// listenRemote opens the first SlurmctldPort.
func listenRemote(h conf.ControllerHost, c *conf.Config) (net.Listener, error) {
	addr, err := hostPort(h, c)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("SlurmctldPort: %w", err)
	}
	return l, nil
}

// hostPort is where to listen: every address of the host, but only the given
// one where that is a loopback address.
func hostPort(h conf.ControllerHost, c *conf.Config) (string, error) {
	if len(c.SlurmctldPorts) == 0 {
		return "", fmt.Errorf("%s: no SlurmctldPort", c.Path)
	}
	port := strconv.Itoa(c.SlurmctldPorts[0])
	if ip := net.ParseIP(h.Addr); ip != nil && ip.IsLoopback() {
		return net.JoinHostPort(h.Addr, port), nil
	}
	return net.JoinHostPort("", port), nil
}

// serveTokens hands tokens to local users, who cannot read the cluster key.
func (d *daemon) serveTokens(ctx context.Context) {
	if d.auth.Issuer == nil {
		return
	}
	path := d.auth.Info.Socket
	if path == "" {
		path = sack.CtldSocket
		if err := os.MkdirAll(runFolder, 0o755); err != nil {
			d.log.Warn("no tokens for local users", "err", err)
			return
		}
	}
	l, err := sack.Listen(path)
	if err != nil {
		d.log.Warn("no tokens for local users", "err", err)
		return
	}
	srv := &sack.Server{Issuer: d.auth.Issuer, Log: d.log}
	if err := srv.Serve(ctx, l); err != nil && ctx.Err() == nil {
		d.log.Error("the token service ended", "err", err)
	}
}
