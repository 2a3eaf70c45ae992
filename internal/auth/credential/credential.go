package credential

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// Purpose keeps signatures of different kinds apart: one made for a step is
// worth nothing as a launch order.
type Purpose string

// The purposes in use.
const (
	Step   Purpose = "step credential 1"
	Launch Purpose = "launch order 1"
)

// The reasons for which a credential is not accepted.
var (
	ErrMalformed = errors.New("the credential is malformed")
	ErrSignature = errors.New("the credential was not signed by this cluster's controller")
	ErrExpired   = errors.New("the credential has expired")
)

// signed is what the signature covers. The leading text cannot begin a
// certificate, which the same key signs.
func signed(purpose Purpose, content []byte) []byte {
	b := make([]byte, 0, 16+len(purpose)+len(content))
	b = append(b, "muster "...)
	b = append(b, purpose...)
	b = append(b, 0)
	return append(b, content...)
}

// Signer holds the controller's private key.
type Signer struct{ key ed25519.PrivateKey }

// NewSigner takes the controller's key (pki.Controller.SigningKey).
func NewSigner(key ed25519.PrivateKey) Signer { return Signer{key} }

// Sign returns a detached signature.
func (s Signer) Sign(purpose Purpose, payload []byte) []byte {
	return ed25519.Sign(s.key, signed(purpose, payload))
}

// A credential: version(1) expires(8, milliseconds since 1970) payload signature(64).
const (
	version    = 1
	prefixSize = 1 + 8
)

// SignCredential packs a payload with its expiry and a signature over both.
func (s Signer) SignCredential(purpose Purpose, payload []byte, expires time.Time) []byte {
	b := make([]byte, 0, prefixSize+len(payload)+ed25519.SignatureSize)
	b = append(b, version)
	b = binary.BigEndian.AppendUint64(b, uint64(expires.UnixMilli()))
	b = append(b, payload...)
	return append(b, ed25519.Sign(s.key, signed(purpose, b))...)
}

// Verifier knows the public half; during a change of key there are two.
type Verifier struct{ keys []ed25519.PublicKey }

// NewVerifier takes the controller's public keys (pki.Public.Keys).
func NewVerifier(keys ...ed25519.PublicKey) Verifier { return Verifier{keys} }

// Verify checks a detached signature.
func (v Verifier) Verify(purpose Purpose, payload, signature []byte) error {
	if len(signature) != ed25519.SignatureSize {
		return ErrMalformed
	}
	content := signed(purpose, payload)
	for _, key := range v.keys {
		if ed25519.Verify(key, content, signature) {
			return nil
		}
	}
	return ErrSignature
}

// OpenCredential returns the payload of a credential that is genuine and has
// not expired at now.
func (v Verifier) OpenCredential(purpose Purpose, blob []byte, now time.Time) ([]byte, error) {
	if len(blob) < prefixSize+ed25519.SignatureSize || blob[0] != version {
		return nil, ErrMalformed
	}
	content, signature := blob[:len(blob)-ed25519.SignatureSize], blob[len(blob)-ed25519.SignatureSize:]
	if err := v.Verify(purpose, content, signature); err != nil {
		return nil, err
	}
	expires := time.UnixMilli(int64(binary.BigEndian.Uint64(content[1:])))
	if !now.Before(expires) {
		return nil, fmt.Errorf("%w (%s ago)", ErrExpired, now.Sub(expires).Round(time.Second))
	}
	return content[prefixSize:], nil
}
