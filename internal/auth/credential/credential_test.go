package credential

import (
	"bytes"
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func keys(t testing.TB, seed byte) (Signer, ed25519.PublicKey) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	return NewSigner(key), key.Public().(ed25519.PublicKey)
}

func TestCredential(t *testing.T) {
	signer, public := keys(t, 1)
	_, otherPublic := keys(t, 2)
	verifier := NewVerifier(otherPublic, public)
	now := time.UnixMilli(1_700_000_000_000)
	blob := signer.SignCredential(Step, []byte("payload"), now.Add(time.Minute))

	payload, err := verifier.OpenCredential(Step, blob, now)
	require.NoError(t, err)
	assert.Equal(t, "payload", string(payload))

	_, err = verifier.OpenCredential(Step, blob, now.Add(time.Minute))
	assert.ErrorIs(t, err, ErrExpired)
	_, err = verifier.OpenCredential(Launch, blob, now)
	assert.ErrorIs(t, err, ErrSignature, "for another purpose")
	_, err = NewVerifier(otherPublic).OpenCredential(Step, blob, now)
	assert.ErrorIs(t, err, ErrSignature)
	_, err = NewVerifier().OpenCredential(Step, blob, now)
	assert.ErrorIs(t, err, ErrSignature, "without a key nothing is accepted")
	for i := range blob {
		forged := bytes.Clone(blob)
		forged[i] ^= 4
		_, err := verifier.OpenCredential(Step, forged, now)
		require.Error(t, err, "byte %d", i)
		_, err = verifier.OpenCredential(Step, blob[:i], now)
		require.Error(t, err, "cut to %d", i)
	}
	empty := signer.SignCredential(Step, nil, now.Add(time.Second))
	payload, err = verifier.OpenCredential(Step, empty, now)
	require.NoError(t, err)
	assert.Empty(t, payload)
}

func TestDetached(t *testing.T) {
	signer, public := keys(t, 1)
	verifier := NewVerifier(public)
	signature := signer.Sign(Launch, []byte("order"))
	assert.NoError(t, verifier.Verify(Launch, []byte("order"), signature))
	assert.ErrorIs(t, verifier.Verify(Step, []byte("order"), signature), ErrSignature)
	assert.ErrorIs(t, verifier.Verify(Launch, []byte("other"), signature), ErrSignature)
	assert.ErrorIs(t, verifier.Verify(Launch, []byte("order"), nil), ErrMalformed)
}

func FuzzOpenCredential(f *testing.F) {
	signer, _ := keys(f, 1)
	_, public := keys(f, 2)
	verifier := NewVerifier(public)
	f.Add(signer.SignCredential(Step, []byte("x"), time.Unix(1<<31, 0)))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, blob []byte) {
		if _, err := verifier.OpenCredential(Step, blob, time.Unix(0, 0)); err == nil {
			t.Fatal("accepted")
		}
	})
}

func BenchmarkSignAndOpen(b *testing.B) {
	signer, public := keys(b, 1)
	verifier := NewVerifier(public)
	payload := make([]byte, 500)
	for b.Loop() {
		blob := signer.SignCredential(Step, payload, time.Unix(100, 0))
		if _, err := verifier.OpenCredential(Step, blob, time.Unix(0, 0)); err != nil {
			b.Fatal(err)
		}
	}
}
