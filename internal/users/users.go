package users

import (
	"errors"
	"fmt"
)

// User is one entry of the passwd database.
type User struct {
	Name  string
	UID   uint32
	GID   uint32 // the primary group
	Gecos string
	Home  string
	Shell string
}

// Group is one entry of the group database.
type Group struct {
	Name    string
	GID     uint32
	Members []string // as the database lists them: primary members are usually not among them
}

// ErrNotFound says that the name service answered, and knows no such entry.
// Any other error of a lookup means that nothing is known: it must not be taken
// for "no such user".
var ErrNotFound = errors.New("no such entry in the name service")

// NotFoundError names what was looked for; errors.Is(err, ErrNotFound) holds.
type NotFoundError struct {
	Kind string // "user" or "group"
	Key  string
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("no %s %q is known here", e.Kind, e.Key) }

// Is makes errors.Is(err, ErrNotFound) true.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }
