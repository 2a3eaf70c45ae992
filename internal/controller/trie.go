package controller

import "iter"

// trie is a persistent map from numbers: a copy of the handle is a snapshot.
// Writers pass an owner; nodes made under the same owner are changed in place,
// others are copied on the way, so a batch costs what it touched.
type trie[V any] struct {
	root   *trieNode[V]
	height uint // levels above the leaves
	n      int
}

const (
	trieBits = 6
	trieFan  = 1 << trieBits
	trieMask = trieFan - 1
)

// trieNode is an inner node (kids) or a leaf (vals).
type trieNode[V any] struct {
	owner uint64
	used  uint64 // bit per position
	kids  []*trieNode[V]
	vals  []V
}

func newTrieNode[V any](owner uint64, leaf bool) *trieNode[V] {
	n := &trieNode[V]{owner: owner}
	if leaf {
		n.vals = make([]V, trieFan)
	} else {
		n.kids = make([]*trieNode[V], trieFan)
	}
	return n
}

func (n *trieNode[V]) owned(owner uint64) *trieNode[V] {
	if n.owner == owner {
		return n
	}
	c := &trieNode[V]{owner: owner, used: n.used}
	if n.vals != nil {
		c.vals = append(make([]V, 0, trieFan), n.vals...)
	} else {
		c.kids = append(make([]*trieNode[V], 0, trieFan), n.kids...)
	}
	return c
}

func (t *trie[V]) len() int {
	if t == nil {
		return 0
	}
	return t.n
}

func (t *trie[V]) get(k uint64) (v V, ok bool) {
	if t == nil || t.root == nil || k>>(trieBits*(t.height+1)) != 0 {
		return v, false
	}
	n := t.root
	for h := t.height; h > 0; h-- {
		if n = n.kids[k>>(trieBits*h)&trieMask]; n == nil {
			return v, false
		}
	}
	i := k & trieMask
	return n.vals[i], n.used&(1<<i) != 0
}

func (t *trie[V]) set(owner, k uint64, v V) {
	if t.root == nil {
		t.root, t.height = newTrieNode[V](owner, true), 0
	}
	for k>>(trieBits*(t.height+1)) != 0 {
		up := newTrieNode[V](owner, false)
		up.kids[0], up.used = t.root, 1
		t.root = up
		t.height++
	}
	t.root = t.root.owned(owner)
	n := t.root
	for h := t.height; h > 0; h-- {
		i := k >> (trieBits * h) & trieMask
		kid := n.kids[i]
		if kid == nil {
			kid = newTrieNode[V](owner, h == 1)
		} else {
			kid = kid.owned(owner)
		}
		n.kids[i] = kid
		n.used |= 1 << i
		n = kid
	}
	i := k & trieMask
	if n.used&(1<<i) == 0 {
		n.used |= 1 << i
		t.n++
	}
	n.vals[i] = v
}

func (t *trie[V]) delete(owner, k uint64) {
	if _, ok := t.get(k); !ok {
		return
	}
	t.n--
	t.root = deleteFrom(t.root, owner, k, t.height)
}

// deleteFrom returns the node without k, nil if nothing is left of it.
func deleteFrom[V any](n *trieNode[V], owner, k uint64, h uint) *trieNode[V] {
	n = n.owned(owner)
	i := k >> (trieBits * h) & trieMask
	if h == 0 {
		var zero V
		n.vals[i] = zero
		n.used &^= 1 << i
	} else if n.kids[i] = deleteFrom(n.kids[i], owner, k, h-1); n.kids[i] == nil {
		n.used &^= 1 << i
	}
	if n.used == 0 {
		return nil
	}
	return n
}

// from yields the entries from key k on, ascending.
func (t *trie[V]) from(k uint64) iter.Seq2[uint64, V] {
	return func(yield func(uint64, V) bool) {
		if t == nil || t.root == nil || k>>(trieBits*(t.height+1)) != 0 {
			return
		}
		walkTrie(t.root, t.height, 0, k, yield)
	}
}

// all yields the keys, ascending.
func (t *trie[V]) all() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for k := range t.from(0) {
			if !yield(k) {
				return
			}
		}
	}
}

func walkTrie[V any](n *trieNode[V], h uint, base, from uint64, yield func(uint64, V) bool) bool {
	for i := uint64(0); i < trieFan; i++ {
		if n.used&(1<<i) == 0 {
			continue
		}
		k := base | i<<(trieBits*h)
		if h == 0 {
			if k >= from && !yield(k, n.vals[i]) {
				return false
			}
			continue
		}
		if k+(1<<(trieBits*h))-1 < from {
			continue
		}
		if !walkTrie(n.kids[i], h-1, k, from, yield) {
			return false
		}
	}
	return true
}
