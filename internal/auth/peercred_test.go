package auth

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestOverflowUID(t *testing.T) {
	for _, uid := range []uint32{65534, ^uint32(0)} {
		_, err := peerIdentity(&unix.Ucred{Uid: uid}, 65534)
		assert.ErrorContains(t, err, "foreign user namespace")
	}
	id, err := peerIdentity(&unix.Ucred{Uid: 65533, Gid: 7, Pid: 9}, 65534)
	require.NoError(t, err)
	assert.Equal(t, Identity{UID: 65533, GID: 7, PID: 9, Method: MethodPeer}, id)
	assert.NotZero(t, overflowUID())
}

func FuzzReadAnswer(f *testing.F) {
	f.Add(appendFrame(nil, answerWelcome, nil))
	f.Add(refusal("no"))
	f.Add([]byte("MUSTER1\x00\x00\x00\x00\x01x"))
	welcome := appendFrame(nil, answerWelcome, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := readAnswer(bytes.NewReader(data)); err == nil && !bytes.HasPrefix(data, welcome) {
			t.Fatalf("%q taken for a welcome", data)
		}
	})
}
