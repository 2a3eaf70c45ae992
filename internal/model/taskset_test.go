package model

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The texts are what squeue printed for arrays of these lists.
func TestTasksText(t *testing.T) {
	long := "0-4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40"
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"0-12:4", 64, "0,4,8,12"},
		{"0-16:4", 64, "0,4,8,12,16"},
		{"0-20:4", 64, "0-20:4"},
		{"0,4,8,12,16,20", 64, "0-20:4"},
		{"0-999:2", 64, "0-998:2"},
		{"1,3,5", 64, "1,3,5"},
		{"1,2", 64, "1-2"},
		{"1-3,7,9", 64, "1-3,7,9"},
		{"0,4,8,9,10", 64, "0,4,8-10"},
		{"1-10,20-30:5", 64, "1-10,20,25,30"},
		{"5", 64, "5"},
		{"[1-10]%3", 64, "1-10%3"},
		{"1-10%3", 64, "1-10%3"},
		{"1,5,9-12", 64, "1,5,9-12"},
		{"0-40:2,1,3", 64, long},
		{"0-40:2,1,3", 0, long},
		{"0-40:2,1,3", 20, "0-4,6,8,10,12,14..."},
		{"0-100:2,1,3", 64, "0-4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,4..."},
		{"0-100:2,1,3%4", 64, "0-4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,4...%4"},
	} {
		set, limit, err := ParseTasks(c.in, 1000)
		require.NoError(t, err, c.in)
		assert.Equal(t, c.want, set.Text(limit, c.width), c.in)
	}
}

func TestTasksRefused(t *testing.T) {
	for _, in := range []string{"", "a", "1-", "-3", "3-1", "1:2", "1-5:0", "1001", "1%x", "1,,2", "1-2-3"} {
		_, _, err := ParseTasks(in, 1000)
		assert.ErrorIs(t, err, ErrTasks, "%q", in)
	}
}

func TestMillionTasksStaySmall(t *testing.T) {
	set, _, err := ParseTasks("0-999999", 4000000)
	require.NoError(t, err)
	for i := uint32(0); i < 1000; i++ {
		set = set.Remove(i)
	}
	set = set.Remove(500000)
	assert.Len(t, set, 2)
	assert.Equal(t, 1000000-1001, set.Count())
	assert.Equal(t, "1000-499999,500001-999999", set.String())
}

// Against a plain map: whatever is parsed, removed and added, the set holds
// those tasks and its text reads back as itself.
func TestTaskSetIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[uint32]bool{}
		set := TasksOf(nil)
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			x := rapid.Uint32Range(0, 40).Draw(t, "task")
			if rapid.Bool().Draw(t, "add") {
				set, want[x] = set.Add(x), true
			} else {
				set = set.Remove(x)
				delete(want, x)
			}
		}
		require.Equal(t, len(want), set.Count())
		last := -1
		set.Each(func(x uint32) bool {
			require.True(t, want[x])
			require.Greater(t, int(x), last)
			last = int(x)
			return true
		})
		for x := uint32(0); x < 45; x++ {
			require.Equal(t, want[x], set.Has(x))
		}
		if len(want) > 0 {
			for _, text := range []string{set.String(), set.Text(0, 0)} {
				back, _, err := ParseTasks(text, 1000)
				require.NoError(t, err)
				require.Equal(t, set.Text(0, 0), back.Text(0, 0))
				require.Equal(t, set.Count(), back.Count())
			}
		}
	})
}

func FuzzParseTasks(f *testing.F) {
	for _, s := range []string{"0-15:4", "[1-10]%3", "1,3,5-7", "1-4294967295"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		set, limit, err := ParseTasks(s, 1000)
		if err != nil {
			return
		}
		require.Positive(t, set.Count())
		require.LessOrEqual(t, set.Max(), uint32(1000))
		_, _, err = ParseTasks(set.Text(limit, 0), 1000)
		require.NoError(t, err)
	})
}
