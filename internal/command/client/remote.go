package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"muster/internal/auth"
	"muster/internal/auth/method"
	"muster/internal/auth/pki"
	"muster/internal/auth/slurm"
	"muster/internal/users"
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
	prover, err := method.ForCommand(method.Options{
		AuthType: c.AuthType, AuthInfo: c.AuthInfo, Cluster: c.Cluster,
		KeyFile: c.keyFile(), KeyOwner: c.keyOwner(),
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Path, err)
	}
	return prover, nil
}

func (c *Conf) keyFile() string { return filepath.Join(filepath.Dir(c.Path), slurm.KeyFile) }

// keyOwner is SlurmUser's number. It is only needed, and only asked for, where
// this process may read the cluster's key.
func (c *Conf) keyOwner() uint32 {
	if c.SlurmUser == "root" || unix.Access(c.keyFile(), unix.R_OK) != nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	uid, err := users.NewResolver(users.Options{}).ParseUser(ctx, c.SlurmUser)
	if err != nil {
		return 0
	}
	return uid
}
