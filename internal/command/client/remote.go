package client

import (
	"crypto/tls"
	"fmt"
	"path/filepath"
	"strings"

	"muster/internal/auth"
	"muster/internal/auth/munge"
	"muster/internal/auth/pki"
)

// remoteConfig is how a controller on another host is verified and told who
// asks.
func (c *Client) remoteConfig() (auth.ClientConfig, error) {
	public, err := c.public()
	if err != nil {
		return auth.ClientConfig{}, err
	}
	prover, err := c.Conf.prover()
	if err != nil {
		return auth.ClientConfig{}, err
	}
	return auth.ClientConfig{TLS: public.ClientTLS(pki.ControllerName), Prover: prover}, nil
}

// NodeTLS verifies a node's step service.
func (c *Client) NodeTLS(node string) (*tls.Config, error) {
	public, err := c.public()
	if err != nil {
		return nil, err
	}
	return public.ClientTLS(pki.NodeServerName(node)), nil
}

// NodeAuth is how the step service of a node is verified and told who asks.
func (c *Client) NodeAuth(node string) (auth.ClientConfig, error) {
	config, err := c.remoteConfig()
	if err != nil {
		return config, err
	}
	config.TLS, err = c.NodeTLS(node)
	config.Timeout = c.Conf.MessageTimeout
	return config, err
}

func (c *Client) public() (*pki.Public, error) {
	return pki.LoadPublic(filepath.Join(filepath.Dir(c.Conf.Path), pki.PublicFile))
}

// prover makes the proofs that AuthType asks for.
func (c *Conf) prover() (auth.Prover, error) {
	switch kind := strings.TrimPrefix(strings.ToLower(c.AuthType), "auth/"); kind {
	case "munge":
		return munge.Prover{Client: munge.Client{Socket: c.authInfo("socket")}, Cluster: c.Cluster}, nil
	default:
		return nil, fmt.Errorf("%s: AuthType=%s is not known here", c.Path, c.AuthType)
	}
}

// authInfo returns one value of AuthInfo's comma list.
func (c *Conf) authInfo(key string) string {
	for _, part := range strings.Split(c.AuthInfo, ",") {
		if name, value, ok := strings.Cut(part, "="); ok && strings.EqualFold(strings.TrimSpace(name), key) {
			return value
		}
	}
	return ""
}
