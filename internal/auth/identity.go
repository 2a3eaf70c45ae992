package auth

import (
	"context"
	"fmt"
)

// Method is how a peer proved who it is. The values are part of the hello.
type Method uint8

// The methods of proof.
const (
	MethodNone        Method = 0 // never accepted
	MethodPeer        Method = 1 // the unix socket's peer credentials
	MethodSlurm       Method = 2 // a token made with the cluster's slurm.key
	MethodMunge       Method = 3 // a credential made by munged
	MethodCertificate Method = 4 // the client certificate of a node
)

func (m Method) String() string {
	switch m {
	case MethodPeer:
		return "peer credentials"
	case MethodSlurm:
		return "auth/slurm"
	case MethodMunge:
		return "auth/munge"
	case MethodCertificate:
		return "node certificate"
	}
	return fmt.Sprintf("method %d", uint8(m))
}

// Identity is a peer that has proved who it is. Supplementary groups are not
// part of it: they are the name service's business (package users).
type Identity struct {
	UID, GID uint32
	Host     string // where the proof was made, as the proof says; empty for this host
	Node     string // the node that a certificate was issued to, else empty
	PID      int32  // of a local peer, else 0
	Method   Method
}

// Local tells whether the peer is a process of this host.
func (id Identity) Local() bool { return id.Method == MethodPeer }

func (id Identity) String() string {
	text := fmt.Sprintf("uid %d", id.UID)
	if id.Node != "" {
		text += " on node " + id.Node
	} else if id.Host != "" {
		text += " on " + id.Host
	}
	return text + " (" + id.Method.String() + ")"
}

type identityKey struct{}

// NewContext attaches the identity of the peer to the context that its requests
// are served under.
func NewContext(ctx context.Context, id Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// FromContext returns the identity of the peer whose request is being served.
// A request without one must be refused.
func FromContext(ctx context.Context) (Identity, bool) {
	id, ok := ctx.Value(identityKey{}).(Identity)
	return id, ok && id.Method != MethodNone
}

// Prover makes the client's proof for one connection.
type Prover interface {
	// Method says what kind of proof it makes.
	Method() Method
	// Prove returns a token that is bound to the connection with this binding.
	Prove(ctx context.Context, binding []byte) ([]byte, error)
}

// Checker verifies the tokens of one method for a server.
type Checker interface {
	Method() Method
	// Check returns who made the token. It fails for a token that is forged,
	// expired, seen before, of another cluster, or bound to another connection.
	Check(ctx context.Context, token, binding []byte) (Identity, error)
}
