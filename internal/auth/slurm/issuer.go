package slurm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"muster/internal/auth"
)

// DefaultTTL is the life of a token. It is made for a connection that exists
// already, so it only has to outlive a slow handshake and clocks that differ.
const DefaultTTL = 60 * time.Second

// Issuer makes tokens. It belongs in daemons, beside the key.
type Issuer struct {
	cluster string
	host    string
	ttl     time.Duration
	key     []byte
	now     func() time.Time
}

// NewIssuer makes tokens of one cluster; ttl 0 means DefaultTTL.
func NewIssuer(key Key, cluster string, ttl time.Duration) (*Issuer, error) {
	derived, err := macKey(key, cluster)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	if ttl <= 0 {
		ttl = DefaultTTL
	}
	if ttl > maxLife {
		return nil, fmt.Errorf("AuthInfo: a ttl of %s is more than auth/slurm allows (%s)", ttl, maxLife)
	}
	return &Issuer{cluster: cluster, host: host, ttl: ttl, key: derived, now: time.Now}, nil
}

// Issue makes a token for uid and gid on the connection with this binding. The
// caller vouches for uid and gid.
func (i *Issuer) Issue(uid, gid uint32, binding []byte) ([]byte, error) {
	if len(binding) != auth.BindingSize {
		return nil, errors.New("auth/slurm: a token needs the binding of its connection")
	}
	now := i.now()
	t := token{cluster: i.cluster, uid: uid, gid: gid, host: i.host, issued: now, expires: now.Add(i.ttl)}
	rand.Read(t.nonce[:])
	copy(t.binding[:], binding)
	return t.seal(i.key)
}

// Prover proves that this process is itself: for daemons, which hold the key.
func (i *Issuer) Prover() auth.Prover { return selfProver{i} }

type selfProver struct{ issuer *Issuer }

func (selfProver) Method() auth.Method { return auth.MethodSlurm }

func (p selfProver) Prove(_ context.Context, binding []byte) ([]byte, error) {
	return p.issuer.Issue(uint32(os.Geteuid()), uint32(os.Getegid()), binding)
}
