package users

import (
	"sync"
	"time"
)

// cache keeps answers of one kind. An entry is fresh until its time to live is
// over; after that it is stale, and still served when the name service cannot
// be asked, until keep is over.
type cache[K comparable, V any] struct {
	now      func() time.Time
	positive time.Duration
	negative time.Duration
	keep     time.Duration
	limit    int

	mu      sync.Mutex
	entries map[K]entry[V]
}

type entry[V any] struct {
	value V
	found bool
	at    time.Time
}

func newCache[K comparable, V any](o Options) *cache[K, V] {
	return &cache[K, V]{now: o.Now, positive: o.PositiveTTL, negative: o.NegativeTTL, keep: o.StaleTTL,
		limit: o.Entries, entries: make(map[K]entry[V])}
}

// get returns the entry and whether it is fresh; ok is false when there is none
// that may be served at all.
func (c *cache[K, V]) get(key K) (e entry[V], fresh, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok = c.entries[key]
	if !ok {
		return e, false, false
	}
	age := c.now().Sub(e.at)
	ttl := c.positive
	if !e.found {
		ttl = c.negative
	}
	switch {
	case age < ttl:
		return e, true, true
	case e.found && age < c.keep:
		return e, false, true
	}
	delete(c.entries, key)
	return entry[V]{}, false, false
}

func (c *cache[K, V]) put(key K, value V, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, exists := c.entries[key]; !exists && len(c.entries) >= c.limit {
		c.makeRoom()
	}
	c.entries[key] = entry[V]{value: value, found: found, at: c.now()}
}

// makeRoom drops what has expired and, if that is nothing, an eighth of the
// entries, whichever the map yields first: cheap, and good enough for a cache
// that is sized for all users of a site.
func (c *cache[K, V]) makeRoom() {
	now := c.now()
	for key, e := range c.entries {
		if age := now.Sub(e.at); age >= c.keep || !e.found && age >= c.negative {
			delete(c.entries, key)
		}
	}
	if len(c.entries) < c.limit {
		return
	}
	drop := c.limit/8 + 1
	for key := range c.entries {
		if drop == 0 {
			return
		}
		delete(c.entries, key)
		drop--
	}
}

func (c *cache[K, V]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
}
