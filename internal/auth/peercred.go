package auth

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Peer returns the process at the other end of a unix socket, as the kernel
// recorded it when the connection was made.
func Peer(conn *net.UnixConn) (Identity, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Identity{}, fmt.Errorf("reading the peer credentials of a unix socket: %w", err)
	}
	var cred *unix.Ucred
	var sockErr error
	err = raw.Control(func(fd uintptr) {
		cred, sockErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err == nil {
		err = sockErr
	}
	if err != nil {
		return Identity{}, fmt.Errorf("reading the peer credentials of a unix socket: %w", err)
	}
	return peerIdentity(cred, overflowUID())
}

// peerIdentity refuses what stands for "a user that does not exist here": the
// kernel shows every unmapped uid of a foreign user namespace as the overflow
// uid, so nobody who bears it can be told from anybody else.
func peerIdentity(cred *unix.Ucred, overflow uint32) (Identity, error) {
	if cred.Uid == overflow || cred.Uid == ^uint32(0) {
		return Identity{}, Refuse("uid %d stands for users of a foreign user namespace and is not accepted", cred.Uid)
	}
	return Identity{UID: cred.Uid, GID: cred.Gid, PID: cred.Pid, Method: MethodPeer}, nil
}

// defaultOverflowUID is the kernel's default, taken where /proc does not say.
const defaultOverflowUID = 65534

var overflowUID = sync.OnceValue(func() uint32 {
	text, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil {
		return defaultOverflowUID
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return defaultOverflowUID
	}
	return uint32(n)
})
