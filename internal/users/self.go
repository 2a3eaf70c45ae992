package users

import (
	"fmt"
	"os"
	"slices"
)

// Process is who this process is, as the kernel knows it.
type Process struct {
	UID, GID uint32
	Groups   []uint32 // the effective group first
}

// Self returns the identity of this process by system calls alone. It is what
// a command needs of its own user: the server knows the name of a uid, so a
// command that asks for its own jobs never starts getent.
func Self() (Process, error) {
	gids, err := os.Getgroups()
	if err != nil {
		return Process{}, fmt.Errorf("reading the groups of this process: %w", err)
	}
	p := Process{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	p.Groups = []uint32{p.GID}
	for _, gid := range gids {
		if !slices.Contains(p.Groups, uint32(gid)) {
			p.Groups = append(p.Groups, uint32(gid))
		}
	}
	return p, nil
}
