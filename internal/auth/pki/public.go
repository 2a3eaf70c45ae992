package pki

import (
	"crypto/ed25519"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Public is the public half of the controller's key, from muster.pub. A file
// with several certificates trusts each, for the time of a change of key.
type Public struct {
	authorities []*x509.Certificate
	pool        *x509.CertPool
}

// LoadPublic reads muster.pub.
func LoadPublic(path string) (*Public, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the controller's public key is missing: copy %s from the controller's configuration folder to this host: %w", PublicFile, err)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the controller's public key: %w", err)
	}
	public, err := ParsePublic(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return public, nil
}

// ParsePublic takes the content of muster.pub.
func ParsePublic(text []byte) (*Public, error) {
	list, err := decodeCertificates(text)
	if err != nil {
		return nil, fmt.Errorf("not a controller's public key: %w", err)
	}
	p := &Public{authorities: list, pool: x509.NewCertPool()}
	for _, authority := range list {
		_, ok := authority.PublicKey.(ed25519.PublicKey)
		if !authority.IsCA || !ok {
			return nil, errors.New("not a controller's public key: the certificate is not an Ed25519 authority")
		}
		p.pool.AddCert(authority)
	}
	return p, nil
}

// Includes tells whether the authority is one of those trusted.
func (p *Public) Includes(authority *x509.Certificate) bool {
	for _, known := range p.authorities {
		if known.Equal(authority) {
			return true
		}
	}
	return false
}

// Keys are the keys that signatures of the controller are checked against.
func (p *Public) Keys() []ed25519.PublicKey {
	keys := make([]ed25519.PublicKey, len(p.authorities))
	for i, authority := range p.authorities {
		keys[i] = authority.PublicKey.(ed25519.PublicKey)
	}
	return keys
}
