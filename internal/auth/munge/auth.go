package munge

import (
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"

	"muster/internal/auth"
)

// payloadPrefix tells our credentials from those of other programs that share
// the munge key, Slurm's own among them.
const payloadPrefix = "muster 1\x00"

func payload(cluster string, binding []byte) []byte {
	b := append([]byte(payloadPrefix), binding...)
	return append(b, cluster...)
}

// Prover proves who this process is by a credential of this host's munged.
type Prover struct {
	Client  Client
	Cluster string
}

// Method says that it makes credentials of auth/munge.
func (Prover) Method() auth.Method { return auth.MethodMunge }

// Prove makes a credential for the connection with this binding.
func (p Prover) Prove(ctx context.Context, binding []byte) ([]byte, error) {
	if len(binding) != auth.BindingSize {
		return nil, errors.New("auth/munge: a credential needs the binding of its connection")
	}
	return p.Client.Encode(ctx, payload(p.Cluster, binding))
}

// Checker verifies credentials through this host's munged.
type Checker struct {
	Client  Client
	Cluster string
}

// Method says that it checks credentials of auth/munge.
func (Checker) Method() auth.Method { return auth.MethodMunge }

// Check returns who made the credential.
func (c Checker) Check(ctx context.Context, token, binding []byte) (auth.Identity, error) {
	cred, err := c.Client.Decode(ctx, token)
	var refusal *Error
	if errors.As(err, &refusal) {
		return auth.Identity{}, auth.Refuse("auth/munge: %s", refusal)
	}
	if err != nil {
		return auth.Identity{}, fmt.Errorf("auth/munge: %w", err)
	}
	rest, ours := bytes.CutPrefix(cred.Payload, []byte(payloadPrefix))
	if !ours || len(rest) < auth.BindingSize {
		return auth.Identity{}, auth.Refuse("auth/munge: the credential was made for another program")
	}
	made, cluster := rest[:auth.BindingSize], string(rest[auth.BindingSize:])
	switch {
	case cluster != c.Cluster:
		return auth.Identity{}, auth.Refuse("auth/munge: the credential is for cluster %q, this is %q", cluster, c.Cluster)
	case len(binding) != auth.BindingSize || subtle.ConstantTimeCompare(binding, made) != 1:
		return auth.Identity{}, auth.Refuse("auth/munge: the credential was made for another connection")
	}
	id := auth.Identity{UID: cred.UID, GID: cred.GID, Method: auth.MethodMunge}
	if cred.Host.IsValid() {
		id.Host = cred.Host.String()
	}
	return id, nil
}
