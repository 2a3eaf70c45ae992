package controller

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTrieIsAMapWithSnapshots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var live trie[int]
		model := map[uint64]int{}
		type snap struct {
			t trie[int]
			m map[uint64]int
		}
		var snaps []snap
		owner := uint64(1)
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			k := rapid.OneOf(rapid.Uint64Range(0, 300), rapid.Uint64Range(0, 1<<40)).Draw(t, "key")
			switch rapid.IntRange(0, 4).Draw(t, "op") {
			case 0, 1, 2:
				live.set(owner, k, i)
				model[k] = i
			case 3:
				live.delete(owner, k)
				delete(model, k)
			case 4:
				m := map[uint64]int{}
				for k, v := range model {
					m[k] = v
				}
				snaps = append(snaps, snap{live, m})
				owner++
			}
		}
		snaps = append(snaps, snap{live, model})
		for _, s := range snaps {
			got, last := map[uint64]int{}, uint64(0)
			for k, v := range s.t.from(0) {
				require.True(t, len(got) == 0 || k > last, "ascending")
				got[k], last = v, k
				w, ok := s.t.get(k)
				require.True(t, ok)
				require.Equal(t, v, w)
			}
			require.Equal(t, s.m, got)
			require.Equal(t, len(s.m), s.t.len())
		}
	})
}
