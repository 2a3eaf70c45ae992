package pki

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"path/filepath"
	"time"
)

const (
	caLife = 50 * 365 * 24 * time.Hour
	// backdate lets hosts whose clocks are behind accept a new certificate.
	backdate = 24 * time.Hour
)

// Controller is the controller's key and certificate authority.
type Controller struct {
	// Cluster, set before ServerTLS, stands in the controller's certificate, so
	// that a host without configuration files learns its cluster's name from the
	// controller that it has verified (ClusterName).
	Cluster string

	key         ed25519.PrivateKey
	certificate *x509.Certificate
	now         func() time.Time
}

// OpenController loads the key from a folder (StateSaveLocation), or makes it at
// the first start.
func OpenController(dir string) (*Controller, error) {
	path := filepath.Join(dir, KeyFile)
	c, err := loadController(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	if err := createController(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("making the controller's key: %w", err)
	}
	return loadController(path) // ours, or that of a controller that was faster
}

func loadController(path string) (*Controller, error) {
	text, err := readPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("reading the controller's key: %w", err)
	}
	key, certificate, err := decodePair(text)
	if err != nil {
		return nil, fmt.Errorf("reading the controller's key: %s: %w", path, err)
	}
	if !certificate.IsCA {
		return nil, fmt.Errorf("reading the controller's key: %s: its certificate is not a CA's", path)
	}
	return &Controller{key: key, certificate: certificate, now: time.Now}, nil
}

func createController(path string) error {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          serial(),
		Subject:               pkix.Name{CommonName: "Muster controller"},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(caLife),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		return err
	}
	text, err := encodePair(key, der)
	if err != nil {
		return err
	}
	return writeFile(path, text, 0o600, false)
}

func serial() *big.Int {
	var b [16]byte
	rand.Read(b[:])
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b[:])
}

// SigningKey is the key for launch orders and step credentials (package
// credential, which signs under a purpose that no certificate can begin with).
func (c *Controller) SigningKey() ed25519.PrivateKey { return c.key }

// Public returns the text of muster.pub.
func (c *Controller) Public() []byte { return encodeBlock(blockCertificate, c.certificate.Raw) }

// WritePublic puts muster.pub into a folder, usually that of slurm.conf. It
// does not touch a file that says the same already; one that says otherwise is
// an error, because clients that use it will refuse this controller.
func (c *Controller) WritePublic(dir string) error {
	path := filepath.Join(dir, PublicFile)
	old, err := LoadPublic(path)
	switch {
	case err == nil && old.Includes(c.certificate):
		return nil
	case err == nil:
		return fmt.Errorf("%s is the public key of another controller: if this one is right, remove the file and start again", path)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	err = writeFile(path, c.Public(), 0o644, false)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("writing the controller's public key: %w", err)
	}
	return nil
}

// issue makes a certificate under this authority.
func (c *Controller) issue(template *x509.Certificate, public ed25519.PublicKey, life time.Duration) ([]byte, error) {
	now := c.now()
	template.SerialNumber = serial()
	template.NotBefore = now.Add(-backdate)
	template.NotAfter = now.Add(life)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.BasicConstraintsValid = true
	return x509.CreateCertificate(rand.Reader, template, c.certificate, public, c.key)
}
