package hostlist

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestExpand(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"a", "a"},
		{"n1,n2", "n1 n2"},
		{"n2,n1,n2", "n2 n1 n2"},
		{"a b\tc\nd", "a b c d"},
		{",a,,b,", "a b"},
		{"n[1-3]", "n1 n2 n3"},
		{"n[1-3,05]", "n1 n2 n3 n05"},
		{"n[08-12]", "n08 n09 n10 n11 n12"},
		{"n[8-12]", "n8 n9 n10 n11 n12"},
		{"n[1-010]", "n1 n2 n3 n4 n5 n6 n7 n8 n9 n10"},
		{"n[0001-0003,5]", "n0001 n0002 n0003 n5"},
		{"[1-3]", "1 2 3"},
		{"a[1-2]b[3-4]", "a1b3 a1b4 a2b3 a2b4"},
		{"a[1-2][3-4]", "a13 a14 a23 a24"},
		{"a[1,5]b[2-3,7]", "a1b2 a1b3 a1b7 a5b2 a5b3 a5b7"},
		{"r[0-1]n[1-2]x[3-4]", "r0n1x3 r0n1x4 r1n1x3 r1n1x4 r0n2x3 r0n2x4 r1n2x3 r1n2x4"},
		{"node[1-3]-ib", "node1-ib node2-ib node3-ib"},
		{"a[0-1]b[2-3]0", "a0b20 a0b30 a1b20 a1b30"},
		{"n[1-2],n[2-3]", "n1 n2 n2 n3"},
		{"a(b),c", "a(b) c"},
		{"n-1", "n-1"},
	} {
		got, err := Expand(tc.in)
		require.NoError(t, err, tc.in)
		assert.Equal(t, strings.Fields(tc.want), got, tc.in)
		n, err := Count(tc.in)
		require.NoError(t, err)
		assert.Equal(t, len(got), n, tc.in)
	}
}

func TestFourBracketsTurnLikeSlurm(t *testing.T) {
	got, err := Expand("a[0-1]b[0-1]c[0-1]d[0-1]")
	require.NoError(t, err)
	assert.Equal(t, "a0b0c0d0 a0b0c0d1 a1b0c0d0 a1b0c0d1 a0b1c0d0 a0b1c0d1 a1b1c0d0 a1b1c0d1 "+
		"a0b0c1d0 a0b0c1d1 a1b0c1d0 a1b0c1d1 a0b1c1d0 a0b1c1d1 a1b1c1d0 a1b1c1d1", strings.Join(got, " "))
}

func TestPositionOfErrors(t *testing.T) {
	for _, tc := range []struct {
		in  string
		pos int
		msg string
	}{
		{"n[3-1]", 2, "range runs backwards"},
		{"n[]", 2, "expected a number inside brackets"},
		{"a,n[1", 3, "'[' without ']'"},
		{"a,n[1-", 3, "'[' without ']'"},
		{"n[", 1, "'[' without ']'"},
		{"n1]", 2, "']' without '['"},
		{"n[a]", 2, "expected a number inside brackets"},
		{"n[1,,2]", 4, "expected a number inside brackets"},
		{"n[1-]", 4, "expected a number inside brackets"},
		{"n[-1]", 2, "expected a number inside brackets"},
		{"n[[1]]", 2, "expected a number inside brackets"},
		{"n[1 - 3]", 3, "expected a digit, '-', ',' or ']' inside brackets"},
		{"n[1-3-5]", 5, "expected a digit, '-', ',' or ']' inside brackets"},
		{"n[1000000000000000000]", 2, "number too long"},
		{"a,n[0-70000]", 2, "more than 65536 host names"},
		{"a[0-999999999999]b[0-999999999999]", 0, "more than 65536 host names"},
		{"a[0-999]b[0-999]", 0, "more than 65536 host names"},
		{"n[0-65535],x", 11, "more than 65536 host names"},
	} {
		_, err := Parse(tc.in)
		var se *SyntaxError
		require.ErrorAs(t, err, &se, tc.in)
		assert.Equal(t, tc.pos, se.Pos, tc.in)
		assert.Equal(t, tc.msg, se.Msg, tc.in)
		assert.Contains(t, err.Error(), fmt.Sprintf("position %d: %s", tc.pos, tc.msg))
	}
}

func TestLimit(t *testing.T) {
	_, err := ExpandN("n[1-4]", 3)
	require.Error(t, err)
	got, err := ExpandN("n[1-4]", 4)
	require.NoError(t, err)
	assert.Len(t, got, 4)
}

// The pairs were printed by Slurm's own scontrol (show hostlist, hostlistsorted).
func TestCompressPrintsWhatSlurmPrints(t *testing.T) {
	for _, tc := range []struct{ in, list, sorted string }{
		{"n1,n2,n3,n05,x", "n[1-3,05],x", "n[1-3,05],x"},
		{"n3,n1,x,n2", "n[3,1],x,n2", "n[1-3],x"},
		{"n1,n1,n2", "n[1,1-2]", "n[1,1-2]"},
		{"n9,n10", "n[9-10]", "n[9-10]"},
		{"n09,n10", "n[09-10]", "n[09-10]"},
		{"n099,n100", "n[099-100]", "n[099-100]"},
		{"n9,n010", "n[9,010]", "n[9,010]"},
		{"n010,n9,n09,n10,n1", "n[010,9,09-10,1]", "n[1,9,09-10,010]"},
		{"a[1-2]b[3-4]", "a1b[3-4],a2b[3-4]", "a1b[3-4],a2b[3-4]"},
		{"a1b3,a1b4,a2b3", "a1b[3-4],a2b3", "a1b[3-4],a2b3"},
		{"n99999999999,n100000000000", "n[99999999999-100000000000]", "n[99999999999-100000000000]"},
		{"[1-3]", "[1-3]", "[1-3]"},
		{"b,a,c10,c9,c", "b,a,c[10,9],c", "a,b,c,c[9-10]"},
		{"c10x,c9x,c9x", "c10x,c9x,c9x", "c9x,c9x,c10x"},
		{"a2b1,a10b1,a2b10,a2b9", "a2b1,a10b1,a2b[10,9]", "a2b[1,9-10],a10b1"},
		{"n2,n1,n2,n1", "n[2,1-2,1]", "n[1,1-2,2]"},
		{"08,09,10", "[08-10]", "[08-10]"},
		{"n0,n00,n1,n01", "n[0,00,1,01]", "n[0-1,00-01]"},
		{"B1,a1,A1,b1", "B1,a1,A1,b1", "A1,B1,a1,b1"},
		{"n-1,n-2", "n-[1-2]", "n-[1-2]"},
		{"a1-b2,a01-b1", "a1-b2,a01-b1", "a01-b1,a1-b2"},
		{"n007,n8,n009", "n[007,8,009]", "n[8,007,009]"},
		{"ab,a1,a,a1b,aa1,b1,1,a-1,a_1", "ab,a1,a,a1b,aa1,b1,1,a-1,a_1", "1,a,a1,a-1,a1b,a_1,aa1,ab,b1"},
		{"x1y1,x01y1,x1y01,x2y,x02y", "x1y1,x01y1,x1y01,x2y,x02y", "x01y1,x02y,x1y[1,01],x2y"},
		{"a1b2c3,a1b10c3,a1b2c10,a1b2c4", "a1b2c3,a1b10c3,a1b2c[10,4]", "a1b2c[3-4,10],a1b10c3"},
		{"ab1,a1,a10,ab,b", "ab1,a[1,10],ab,b", "a[1,10],ab,ab1,b"},
		{"tux-1,tux1,tux0a", "tux-1,tux1,tux0a", "tux1,tux-1,tux0a"},
		{"a[0-1]b[0-1]c[0-1]", "a0b0c[0-1],a1b0c[0-1],a0b1c[0-1],a1b1c[0-1]", "a0b0c[0-1],a0b1c[0-1],a1b0c[0-1],a1b1c[0-1]"},
		{"", "", ""},
	} {
		names, err := Expand(tc.in)
		require.NoError(t, err)
		assert.Equal(t, tc.list, Compress(names), tc.in)
		assert.Equal(t, tc.sorted, CompressSorted(names), tc.in)
	}
}

func TestUniqKeepsOrder(t *testing.T) {
	in := []string{"b", "a", "b", "c", "a"}
	assert.Equal(t, []string{"b", "a", "c"}, Uniq(in))
	assert.Equal(t, []string{"b", "a", "b", "c", "a"}, in)
}

func genName(t *rapid.T) string {
	return rapid.StringMatching(`[a-c]{0,2}[0-2]{0,2}[-b]?[0-9]{1,3}|[a-c]{1,2}`).Draw(t, "name")
}

func TestCompressExpandsToTheSameNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOf(rapid.Custom(genName)).Draw(t, "names")
		got, err := Expand(Compress(names))
		require.NoError(t, err)
		require.Equal(t, len(names), len(got))
		require.True(t, slices.Equal(names, got), "%v: %v", names, got)

		sorted := slices.Clone(names)
		Sort(sorted)
		require.Equal(t, Compress(sorted), CompressSorted(names))
	})
}

func TestLargeListIsFast(t *testing.T) {
	names, err := Expand("rack[0-249]n[001-128]")
	require.NoError(t, err)
	require.Len(t, names, 32000)
	slices.Reverse(names)
	start := time.Now()
	text := CompressSorted(names)
	_, err = Expand(strings.Join(names, ","))
	require.NoError(t, err)
	// Generous for a loaded machine; quadratic code would take minutes.
	assert.Less(t, time.Since(start), 5*time.Second)
	assert.True(t, strings.HasPrefix(text, "rack0n[001-128],rack1n[001-128],"))
}

func BenchmarkExpand32k(b *testing.B) {
	for b.Loop() {
		_, _ = Expand("n[1-32000]")
	}
}

func BenchmarkCompressSorted32k(b *testing.B) {
	names, _ := Expand("n[1-32000]")
	for b.Loop() {
		_ = CompressSorted(names)
	}
}

func FuzzHostlist(f *testing.F) {
	for _, s := range []string{"n[1-3,05],x", "a[1-2]b[3-4]-ib", "n[", "]", "[1-3]", "n[0-99999999999]", "a b,c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		names, err := ExpandN(s, 2000)
		if err != nil {
			return
		}
		again, err := Expand(Compress(names))
		if err != nil || !slices.Equal(names, again) {
			t.Fatalf("%q: %v -> %q -> %v (%v)", s, names, Compress(names), again, err)
		}
	})
}
