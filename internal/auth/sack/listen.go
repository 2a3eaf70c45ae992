package sack

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"
)

// DefaultSockets are where a command looks for a token service, in this order.
var DefaultSockets = []string{SackdSocket, NodedSocket, CtldSocket}

// The sockets of the three daemons.
const (
	SackdSocket = "/run/slurm/sackd.sock"
	NodedSocket = "/run/slurm/noded.sock"
	CtldSocket  = "/run/slurm/ctld.sock"
)

// Listen makes the socket, which every user may connect to. A socket left
// behind by a dead daemon is replaced; one that answers is an error.
func Listen(path string) (*net.UnixListener, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var dialer net.Dialer
	if conn, err := dialer.DialContext(ctx, "unix", path); err == nil {
		conn.Close()
		return nil, fmt.Errorf("another daemon serves %s already", path)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("%s exists and is not a socket: remove it", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("removing the socket of an earlier run: %w", err)
		}
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listening for local users: %w", err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		listener.Close()
		return nil, fmt.Errorf("opening %s to local users: %w", path, err)
	}
	return listener, nil
}
