package pki

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"muster/internal/auth"
)

// NodeLife is the life of a node's certificate. The node asks for a new one
// long before (NodeKey.RenewAt); one that was away for longer enrols again.
const NodeLife = 90 * 24 * time.Hour

const maxRequest = 8 << 10

// NodeRequest is a node's key that has no certificate yet.
type NodeRequest struct {
	node string
	key  ed25519.PrivateKey
	// Text is the signing request to send to the controller, over a connection
	// that proves root or SlurmdUser.
	Text []byte
}

// NewNodeRequest makes a key for a node and the request to certify it.
func NewNodeRequest(node string) (*NodeRequest, error) {
	if err := checkNodeName(node); err != nil {
		return nil, err
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: node}, DNSNames: []string{NodeServerName(node)}}, key)
	if err != nil {
		return nil, fmt.Errorf("making the certificate request of node %s: %w", node, err)
	}
	return &NodeRequest{node: node, key: key, Text: encodeBlock(blockRequest, der)}, nil
}

// IssueNode answers a node's request. The caller has checked that the peer may
// speak for this node (access.Policy.MayEnrolNode); uid and gid are the peer's,
// and become those of every session under the certificate.
func (c *Controller) IssueNode(request []byte, node string, uid, gid uint32) ([]byte, error) {
	if len(request) > maxRequest {
		return nil, auth.Refuse("certificate request of node %s: %d bytes are too many", node, len(request))
	}
	if err := checkNodeName(node); err != nil {
		return nil, auth.Refuse("%s", err)
	}
	block, _ := pem.Decode(request)
	if block == nil || block.Type != blockRequest {
		return nil, auth.Refuse("certificate request of node %s: it is not one", node)
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err == nil {
		err = csr.CheckSignature()
	}
	if err != nil {
		return nil, auth.Refuse("certificate request of node %s: %s", node, err)
	}
	public, ok := csr.PublicKey.(ed25519.PublicKey)
	if !ok || csr.Subject.CommonName != node || !slices.Equal(csr.DNSNames, []string{NodeServerName(node)}) {
		return nil, auth.Refuse("certificate request of node %s: it is for %q", node, csr.Subject.CommonName)
	}
	// Only name and key are taken from the request: nothing else that it asks for.
	der, err := c.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: node},
		DNSNames:    []string{NodeServerName(node)},
		URIs:        []*url.URL{nodeURI(node, uid, gid)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, public, NodeLife)
	if err != nil {
		return nil, fmt.Errorf("certifying node %s: %w", node, err)
	}
	return encodeBlock(blockCertificate, der), nil
}

func nodeURI(node string, uid, gid uint32) *url.URL {
	return &url.URL{Scheme: "muster", Opaque: fmt.Sprintf("node/%s/%d/%d", node, uid, gid)}
}

// NodeIdentity is the identity that a connection's client certificate proves.
// crypto/tls has verified the certificate during the handshake.
func NodeIdentity(state tls.ConnectionState) (auth.Identity, error) {
	if len(state.VerifiedChains) == 0 || len(state.PeerCertificates) == 0 {
		return auth.Identity{}, auth.Refuse("no node certificate was shown")
	}
	return certificateIdentity(state.PeerCertificates[0])
}

func certificateIdentity(certificate *x509.Certificate) (auth.Identity, error) {
	node := certificate.Subject.CommonName
	if len(certificate.URIs) != 1 || !slices.Equal(certificate.DNSNames, []string{NodeServerName(node)}) {
		return auth.Identity{}, auth.Refuse("the certificate of %q is not a node's", node)
	}
	words := strings.Split(certificate.URIs[0].Opaque, "/")
	if certificate.URIs[0].Scheme != "muster" || len(words) != 4 || words[0] != "node" || words[1] != node {
		return auth.Identity{}, auth.Refuse("the certificate of %q is not a node's", node)
	}
	uid, err1 := strconv.ParseUint(words[2], 10, 32)
	gid, err2 := strconv.ParseUint(words[3], 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return auth.Identity{}, auth.Refuse("the certificate of %q is not a node's", node)
	}
	return auth.Identity{UID: uint32(uid), GID: uint32(gid), Host: node, Node: node, Method: auth.MethodCertificate}, nil
}

// NodeKey is a node's key with its certificate.
type NodeKey struct {
	Node        string
	certificate tls.Certificate
	leaf        *x509.Certificate
}

// Accept takes the controller's answer, checks that it is what was asked for and
// that the pinned authority signed it, and keeps it in a folder (SlurmdSpoolDir).
func (r *NodeRequest) Accept(answer []byte, public *Public, dir string) (*NodeKey, error) {
	list, err := decodeCertificates(answer)
	if err != nil {
		return nil, fmt.Errorf("the controller's answer to the certificate request of node %s: %w", r.node, err)
	}
	text, err := encodePair(r.key, list[0].Raw)
	if err != nil {
		return nil, err
	}
	key, err := openNodeKey(text, r.node, public, time.Now())
	if err != nil {
		return nil, fmt.Errorf("the controller's answer to the certificate request of node %s: %w", r.node, err)
	}
	if err := writeFile(filepath.Join(dir, NodeFile), text, 0o600, true); err != nil {
		return nil, fmt.Errorf("keeping the certificate of node %s: %w", r.node, err)
	}
	return key, nil
}

// LoadNodeKey reads a node's key. One that is missing (fs.ErrNotExist), of
// another node or authority, or expired is an error: enrol anew.
func LoadNodeKey(dir, node string, public *Public) (*NodeKey, error) {
	path := filepath.Join(dir, NodeFile)
	text, err := readPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of node %s: %w", node, err)
	}
	key, err := openNodeKey(text, node, public, time.Now())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

func openNodeKey(text []byte, node string, public *Public, now time.Time) (*NodeKey, error) {
	key, leaf, err := decodePair(text)
	if err != nil {
		return nil, err
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: public.pool, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		return nil, err
	}
	id, err := certificateIdentity(leaf)
	if err != nil {
		return nil, err
	}
	if id.Node != node {
		return nil, fmt.Errorf("the certificate is that of node %q, not %q", id.Node, node)
	}
	return &NodeKey{Node: node, leaf: leaf,
		certificate: tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}}, nil
}

// RenewAt is when a new certificate should be asked for.
func (k *NodeKey) RenewAt() time.Time { return k.leaf.NotAfter.Add(-NodeLife / 2) }

// ClientTLS makes the settings for a node's session with the controller: both
// ends show certificates.
func (k *NodeKey) ClientTLS(public *Public) *tls.Config {
	cfg := public.ClientTLS(ControllerName)
	cfg.Certificates = []tls.Certificate{k.certificate}
	return cfg
}

// ServerTLS makes the settings under which a node serves srun and other nodes,
// which verify it by NodeServerName.
func (k *NodeKey) ServerTLS(public *Public) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		CurvePreferences:       curves,
		Certificates:           []tls.Certificate{k.certificate},
		ClientAuth:             tls.VerifyClientCertIfGiven,
		ClientCAs:              public.pool,
		SessionTicketsDisabled: true,
	}
}
