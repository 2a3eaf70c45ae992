package users

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// question is what is asked of the name service, and how its absence is named.
type question struct {
	kind, database, key string
}

// lookup answers from the cache or asks the name service. The question runs
// under the resolver's own time limit, not the first caller's: others may be
// waiting for the same answer. The caller waits no longer than its context.
func lookup[K comparable, V any](ctx context.Context, r *Resolver, c *cache[K, V], key K, q question,
	parse func(string) (V, error), keep func(V)) (V, error) {
	old, fresh, known := c.get(key)
	if fresh {
		return answer(old, q)
	}
	value, err := shared(ctx, r, q.database+":"+q.key, func(ctx context.Context) (entry[V], error) {
		out, err := r.getent(ctx, q.database, q.key)
		if err != nil {
			return entry[V]{}, err
		}
		var e entry[V]
		if len(out) > 0 {
			if e.value, err = parse(out[0]); err != nil {
				return entry[V]{}, err
			}
			e.found = true
			keep(e.value)
		}
		// Under the asked key too: a directory may answer with another spelling.
		c.put(key, e.value, e.found)
		return e, nil
	})
	switch {
	case err == nil:
		return answer(value, q)
	case known:
		return answer(old, q)
	}
	var none V
	return none, err
}

func answer[V any](e entry[V], q question) (V, error) {
	if !e.found {
		var none V
		return none, &NotFoundError{Kind: q.kind, Key: q.key}
	}
	return e.value, nil
}

// shared runs ask once for all callers that want the same thing now.
func shared[V any](ctx context.Context, r *Resolver, name string, ask func(context.Context) (V, error)) (V, error) {
	result := r.flight.DoChan(name, func() (any, error) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opts.Timeout)
		defer cancel()
		return ask(limited)
	})
	var none V
	select {
	case got := <-result:
		if got.Err != nil {
			return none, got.Err
		}
		return got.Val.(V), nil
	case <-ctx.Done():
		return none, fmt.Errorf("looking up %s: %w", name, ctx.Err())
	}
}

// Groups returns all group ids of a user: the primary one first, then the
// supplementary ones in the name service's order.
func (r *Resolver) Groups(ctx context.Context, u User) ([]uint32, error) {
	if !validKey(u.Name) {
		return []uint32{u.GID}, nil
	}
	old, fresh, known := r.groups.get(u.Name)
	if fresh {
		return slices.Clone(old.value), nil
	}
	gids, err := shared(ctx, r, "initgroups:"+u.Name, func(ctx context.Context) ([]uint32, error) {
		out, err := r.getent(ctx, "initgroups", u.Name)
		if err != nil {
			return nil, err
		}
		gids := []uint32{u.GID}
		if len(out) > 0 {
			supplementary, err := parseInitgroups(out[0], u.Name)
			if err != nil {
				return nil, err
			}
			for _, gid := range supplementary {
				if !slices.Contains(gids, gid) {
					gids = append(gids, gid)
				}
			}
		}
		r.groups.put(u.Name, gids, true)
		return gids, nil
	})
	if err != nil && known {
		return slices.Clone(old.value), nil
	}
	return slices.Clone(gids), err
}

// GroupIDs are the ids of the named groups (AllowGroups of a partition), and why
// others are not among them.
func (r *Resolver) GroupIDs(ctx context.Context, names []string) (gids []uint32, missing []error) {
	for _, name := range names {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		g, err := r.LookupGroup(ctx, name)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		gids = append(gids, g.GID)
	}
	return gids, missing
}
