package slurm

import (
	"sync"
	"time"
)

// maxNonces bounds one generation, some 8 MB. When a flood fills it, the oldest
// are forgotten early; a token that is replayed then still fails, because its
// connection is gone and no other has its binding.
const maxNonces = 1 << 18

// nonces remembers what was seen for at least one lifetime, in two generations
// that take turns, so forgetting costs nothing per entry.
type nonces struct {
	lifetime time.Duration
	limit    int

	mu      sync.Mutex
	newer   map[[nonceSize]byte]struct{}
	older   map[[nonceSize]byte]struct{}
	started time.Time // of newer
}

func newNonces(lifetime time.Duration) *nonces {
	return &nonces{lifetime: lifetime, limit: maxNonces, newer: make(map[[nonceSize]byte]struct{})}
}

// add remembers the nonce and returns false if it was there already.
func (n *nonces) add(nonce [nonceSize]byte, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if age := now.Sub(n.started); age >= n.lifetime || len(n.newer) >= n.limit {
		n.older = n.newer
		if age >= 2*n.lifetime {
			n.older = nil
		}
		n.newer = make(map[[nonceSize]byte]struct{})
		n.started = now
	}
	_, recent := n.newer[nonce]
	_, before := n.older[nonce]
	if recent || before {
		return false
	}
	n.newer[nonce] = struct{}{}
	return true
}
