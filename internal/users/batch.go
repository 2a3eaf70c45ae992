package users

import "context"

// batchKeys is how many keys one getent process is given.
const batchKeys = 256

// NamesOf returns the names of many users with few processes: what is not
// cached is asked 256 at a time. A user without a name, or whose name cannot be
// found in time, is there as a number, so every uid has an entry.
func (r *Resolver) NamesOf(ctx context.Context, uids []uint32) map[uint32]string {
	return names(ctx, r, r.byUID, uids, "passwd", parseUser,
		func(u User) (uint32, string) { return u.UID, u.Name }, r.keepUser)
}

// GroupNamesOf is NamesOf for groups.
func (r *Resolver) GroupNamesOf(ctx context.Context, gids []uint32) map[uint32]string {
	return names(ctx, r, r.byGID, gids, "group", parseGroup,
		func(g Group) (uint32, string) { return g.GID, g.Name }, r.keepGroup)
}

func names[V any](ctx context.Context, r *Resolver, c *cache[uint32, V], ids []uint32, database string,
	parse func(string) (V, error), nameOf func(V) (uint32, string), keep func(V)) map[uint32]string {
	known := make(map[uint32]string, len(ids))
	var missing []uint32
	for _, n := range ids {
		if _, seen := known[n]; seen {
			continue
		}
		known[n] = id(n)
		e, fresh, ok := c.get(n)
		if ok && e.found {
			_, known[n] = nameOf(e.value)
		}
		if !fresh {
			missing = append(missing, n)
		}
	}
	for len(missing) > 0 {
		part := missing[:min(batchKeys, len(missing))]
		missing = missing[len(part):]
		if !askNames(ctx, r, c, part, database, parse, nameOf, keep, known) {
			break // the name service is away: numbers, and no further wait
		}
	}
	return known
}

func askNames[V any](ctx context.Context, r *Resolver, c *cache[uint32, V], part []uint32, database string,
	parse func(string) (V, error), nameOf func(V) (uint32, string), keep func(V), known map[uint32]string) bool {
	keys := make([]string, len(part))
	for i, n := range part {
		keys[i] = id(n)
	}
	limited, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	out, err := r.getent(limited, database, keys...)
	if err != nil {
		return false
	}
	found := make(map[uint32]bool, len(part))
	for _, line := range out {
		value, err := parse(line)
		if err != nil {
			continue // one bad entry of a directory must not hide the others
		}
		n, name := nameOf(value)
		keep(value)
		found[n] = true
		known[n] = name
	}
	for _, n := range part {
		if !found[n] {
			var none V
			c.put(n, none, false)
			known[n] = id(n)
		}
	}
	return true
}
