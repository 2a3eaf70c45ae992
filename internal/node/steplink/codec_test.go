package steplink

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCodec(t *testing.T) {
	spec := Spec{Key: 1 << 60, Step: StepBatch, Node: "n\xff", Groups: []uint32{1, 2}, Env: []string{"A=b\nc", ""},
		Limits: []Limit{{7, ^uint64(0)}}, Tasks: []Task{{Rank: 3, Argv: []string{"x"}}, {Stdin: "in"}}, Append: true}
	var got Spec
	require.NoError(t, Unmarshal(Marshal(&spec), &got))
	assert.Equal(t, spec, got)
	data := Data{Stream: 1, Bytes: []byte{0, 1, 255}, EOF: true}
	var back Data
	require.NoError(t, Unmarshal(Marshal(data), &back))
	assert.Equal(t, data, back)
}

// TestCodecGrows reads a newer message and an older one.
func TestCodecGrows(t *testing.T) {
	type old struct{ A uint32 }
	type grown struct {
		A uint32
		B []string
	}
	var o old
	require.NoError(t, Unmarshal(Marshal(grown{5, []string{"x"}}), &o))
	assert.EqualValues(t, 5, o.A)
	var g grown
	require.NoError(t, Unmarshal(Marshal(old{6}), &g))
	assert.Equal(t, grown{A: 6}, g)
}

func TestFrames(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteFrame(&b, KindExit, []byte("body")))
	require.NoError(t, WriteFrame(&b, KindSuspend, nil))
	kind, body, err := ReadFrame(&b)
	require.NoError(t, err)
	assert.Equal(t, KindExit, kind)
	assert.Equal(t, "body", string(body))
	kind, _, err = ReadFrame(&b)
	require.NoError(t, err)
	assert.Equal(t, KindSuspend, kind)
	_, _, err = ReadFrame(bytes.NewReader([]byte{255, 255, 255, 255, 1}))
	assert.ErrorContains(t, err, "at most")
}

func FuzzUnmarshal(f *testing.F) {
	f.Add(Marshal(Spec{Node: "n", Tasks: []Task{{Argv: []string{"a"}}}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		var spec Spec
		_ = Unmarshal(data, &spec) // must not panic, whatever it says
	})
}
