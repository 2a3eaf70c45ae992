package slurm

import (
	"context"
	"crypto/subtle"
	"time"

	"muster/internal/auth"
)

const (
	// maxLife is the longest life a token may claim.
	maxLife = 10 * time.Minute
	// maxSkew is how far in the future a token may have been made: the clocks
	// of two hosts differ a little.
	maxSkew = 30 * time.Second
)

// Checker verifies tokens for a server.
type Checker struct {
	cluster string
	key     []byte
	now     func() time.Time
	seen    *nonces
}

// NewChecker verifies tokens of one cluster.
func NewChecker(key Key, cluster string) (*Checker, error) {
	derived, err := macKey(key, cluster)
	if err != nil {
		return nil, err
	}
	return &Checker{cluster: cluster, key: derived, now: time.Now, seen: newNonces(maxLife + maxSkew)}, nil
}

// Method says that it checks auth/slurm.
func (*Checker) Method() auth.Method { return auth.MethodSlurm }

// Check returns who the token was made for.
func (c *Checker) Check(_ context.Context, sealed, binding []byte) (auth.Identity, error) {
	t, err := open(c.key, sealed)
	if err != nil {
		return auth.Identity{}, auth.Refuse("auth/slurm: %s", err)
	}
	now := c.now()
	life := t.expires.Sub(t.issued)
	switch {
	case t.cluster != c.cluster:
		return auth.Identity{}, auth.Refuse("auth/slurm: the token is for cluster %q, this is %q", t.cluster, c.cluster)
	case len(binding) != auth.BindingSize || subtle.ConstantTimeCompare(binding, t.binding[:]) != 1:
		return auth.Identity{}, auth.Refuse("auth/slurm: the token was made for another connection")
	case life <= 0 || life > maxLife:
		return auth.Identity{}, auth.Refuse("auth/slurm: the token claims a life of %s, at most %s is allowed", life, maxLife)
	case t.issued.After(now.Add(maxSkew)):
		return auth.Identity{}, auth.Refuse("auth/slurm: the token was made %s in the future: set the clocks of %s and this host", t.issued.Sub(now).Round(time.Second), t.host)
	case !now.Before(t.expires):
		return auth.Identity{}, auth.Refuse("auth/slurm: the token expired %s ago: if this goes on, set the clocks of %s and this host", now.Sub(t.expires).Round(time.Second), t.host)
	case !c.seen.add(t.nonce, now):
		return auth.Identity{}, auth.Refuse("auth/slurm: the token was used before")
	}
	return auth.Identity{UID: t.uid, GID: t.gid, Host: t.host, Method: auth.MethodSlurm}, nil
}
