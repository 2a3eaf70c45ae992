package users

import (
	"context"
	"strconv"
	"time"

	"golang.org/x/sync/singleflight"
)

// Options tune a Resolver; the zero value of each field means its default.
type Options struct {
	Timeout     time.Duration // of one question to the name service: 5 s
	PositiveTTL time.Duration // how long an answer is fresh: 5 min
	NegativeTTL time.Duration // how long "no such user" is believed: 20 s
	StaleTTL    time.Duration // how long an old answer is served while the name service is away: 1 h
	Entries     int           // bound of each cache: 16384
	Parallel    int           // getent processes at a time: 4
	Getent      string        // path of the program: found on PATH
	Now         func() time.Time
}

func (o Options) withDefaults() Options {
	setDuration(&o.Timeout, 5*time.Second)
	setDuration(&o.PositiveTTL, 5*time.Minute)
	setDuration(&o.NegativeTTL, 20*time.Second)
	setDuration(&o.StaleTTL, time.Hour)
	if o.Entries <= 0 {
		o.Entries = 16384
	}
	if o.Parallel <= 0 {
		o.Parallel = 4
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func setDuration(d *time.Duration, fallback time.Duration) {
	if *d <= 0 {
		*d = fallback
	}
}

// Resolver looks users and groups up and remembers the answers. It is safe for
// use by several goroutines; questions for the same key are asked once. It
// owns no goroutine that outlives a question's time limit.
type Resolver struct {
	opts    Options
	running chan struct{} // bounds the getent processes
	flight  singleflight.Group

	byName     *cache[string, User]
	byUID      *cache[uint32, User]
	groupNames *cache[string, Group]
	byGID      *cache[uint32, Group]
	groups     *cache[string, []uint32]
}

// NewResolver makes a resolver with an empty cache. It costs nothing until the
// first lookup.
func NewResolver(o Options) *Resolver {
	o = o.withDefaults()
	return &Resolver{
		opts:       o,
		running:    make(chan struct{}, o.Parallel),
		byName:     newCache[string, User](o),
		byUID:      newCache[uint32, User](o),
		groupNames: newCache[string, Group](o),
		byGID:      newCache[uint32, Group](o),
		groups:     newCache[string, []uint32](o),
	}
}

// Forget empties the caches, for `scontrol reconfigure`.
func (r *Resolver) Forget() {
	r.byName.clear()
	r.byUID.clear()
	r.groupNames.clear()
	r.byGID.clear()
	r.groups.clear()
}

// Lookup finds a user by name.
func (r *Resolver) Lookup(ctx context.Context, name string) (User, error) {
	if !validKey(name) {
		return User{}, &NotFoundError{Kind: "user", Key: name}
	}
	return lookup(ctx, r, r.byName, name, question{"user", "passwd", name}, parseUser, r.keepUser)
}

// LookupUID finds a user by number.
func (r *Resolver) LookupUID(ctx context.Context, uid uint32) (User, error) {
	return lookup(ctx, r, r.byUID, uid, question{"user", "passwd", id(uid)}, parseUser, r.keepUser)
}

// LookupGroup finds a group by name.
func (r *Resolver) LookupGroup(ctx context.Context, name string) (Group, error) {
	if !validKey(name) {
		return Group{}, &NotFoundError{Kind: "group", Key: name}
	}
	return lookup(ctx, r, r.groupNames, name, question{"group", "group", name}, parseGroup, r.keepGroup)
}

// LookupGID finds a group by number.
func (r *Resolver) LookupGID(ctx context.Context, gid uint32) (Group, error) {
	return lookup(ctx, r, r.byGID, gid, question{"group", "group", id(gid)}, parseGroup, r.keepGroup)
}

// ParseUser takes what users write where a user is meant: a name, or a number
// for a user that may have no name.
func (r *Resolver) ParseUser(ctx context.Context, word string) (uint32, error) {
	if n, err := strconv.ParseUint(word, 10, 32); err == nil {
		return uint32(n), nil
	}
	u, err := r.Lookup(ctx, word)
	return u.UID, err
}

// NameOf returns the user's name, or the number as text for a user without a
// name and for one whose name cannot be found in time.
func (r *Resolver) NameOf(ctx context.Context, uid uint32) string {
	if u, err := r.LookupUID(ctx, uid); err == nil {
		return u.Name
	}
	return id(uid)
}

// GroupName returns the group's name, or the number as text.
func (r *Resolver) GroupName(ctx context.Context, gid uint32) string {
	if g, err := r.LookupGID(ctx, gid); err == nil {
		return g.Name
	}
	return id(gid)
}

func id(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// keepUser files an answer under the name and the number that it bears, so that
// one question serves both.
func (r *Resolver) keepUser(u User) {
	r.byUID.put(u.UID, u, true)
	r.byName.put(u.Name, u, true)
}

func (r *Resolver) keepGroup(g Group) {
	r.byGID.put(g.GID, g, true)
	r.groupNames.put(g.Name, g, true)
}
