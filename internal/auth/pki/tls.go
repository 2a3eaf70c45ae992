package pki

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"sync"
	"time"
)

// serverLife is the life of the controller's own certificate. It is kept in
// memory only and made anew when half of that is over.
const serverLife = 30 * 24 * time.Hour

// curves are X25519 first, because a command's handshake is most of its time.
var curves = []tls.CurveID{tls.X25519, tls.CurveP256}

// ServerTLS is OpenController and its ServerTLS in one.
func ServerTLS(stateDir string) (*tls.Config, error) {
	c, err := OpenController(stateDir)
	if err != nil {
		return nil, err
	}
	return c.ServerTLS()
}

// ServerTLS makes the settings under which the controller serves. Clients prove
// themselves by a token or, nodes, by a certificate of this authority; one of
// another authority ends the handshake.
func (c *Controller) ServerTLS() (*tls.Config, error) {
	public, err := ParsePublic(c.Public())
	if err != nil {
		return nil, err
	}
	own := &ownCertificate{controller: c}
	if _, err := own.get(nil); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		CurvePreferences:       curves,
		GetCertificate:         own.get,
		ClientAuth:             tls.VerifyClientCertIfGiven,
		ClientCAs:              public.pool,
		SessionTicketsDisabled: true,
	}, nil
}

type ownCertificate struct {
	controller *Controller

	mu      sync.Mutex
	current *tls.Certificate
	renew   time.Time
}

func (o *ownCertificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.controller.now()
	if o.current != nil && now.Before(o.renew) {
		return o.current, nil
	}
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := o.controller.issue(&x509.Certificate{
		Subject:     o.controller.subject(),
		DNSNames:    []string{ControllerName},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, public, serverLife)
	if err != nil {
		return nil, fmt.Errorf("making the controller's certificate: %w", err)
	}
	o.current = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	o.renew = now.Add(serverLife / 2)
	return o.current, nil
}

func (c *Controller) subject() pkix.Name {
	name := pkix.Name{CommonName: ControllerName}
	if c.Cluster != "" {
		name.Organization = []string{c.Cluster}
	}
	return name
}

// ClusterName returns the cluster that a verified controller says it serves, or
// nothing if it does not say.
func ClusterName(state tls.ConnectionState) string {
	if len(state.VerifiedChains) == 0 || len(state.PeerCertificates) == 0 {
		return ""
	}
	if names := state.PeerCertificates[0].Subject.Organization; len(names) == 1 {
		return names[0]
	}
	return ""
}

// ClientTLS is ParsePublic and its ClientTLS in one.
func ClientTLS(publicText []byte, serverName string) (*tls.Config, error) {
	public, err := ParsePublic(publicText)
	if err != nil {
		return nil, err
	}
	return public.ClientTLS(serverName), nil
}

// ClientTLS makes the settings to reach the controller (ControllerName) or a
// node (NodeServerName). A server without a certificate of the controller's
// authority for exactly that name is refused.
func (p *Public) ClientTLS(serverName string) *tls.Config {
	return &tls.Config{
		MinVersion:       tls.VersionTLS13,
		CurvePreferences: curves,
		RootCAs:          p.pool,
		ServerName:       serverName,
	}
}
