package pki

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/auth"
)

func controller(t testing.TB) (*Controller, *Public) {
	t.Helper()
	c, err := OpenController(t.TempDir())
	require.NoError(t, err)
	public, err := ParsePublic(c.Public())
	require.NoError(t, err)
	return c, public
}

// handshake runs both ends of TLS over a pipe and returns each one's error.
func handshake(t testing.TB, serverConfig, clientConfig *tls.Config) (server, client *tls.Conn, serverErr, clientErr error) {
	t.Helper()
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	deadline := time.Now().Add(10 * time.Second)
	require.NoError(t, a.SetDeadline(deadline))
	require.NoError(t, b.SetDeadline(deadline))
	server, client = tls.Server(a, serverConfig), tls.Client(b, clientConfig)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if serverErr = server.Handshake(); serverErr != nil {
			a.Close()
			return
		}
		_, serverErr = server.Write([]byte("x")) // so that the client hears of a refused certificate
	}()
	clientErr = client.Handshake()
	if clientErr == nil {
		_, clientErr = client.Read(make([]byte, 1))
	}
	if clientErr != nil {
		b.Close()
	}
	<-done
	return server, client, serverErr, clientErr
}

func TestControllerKeyIsMadeOnce(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	publics := make([]string, 4)
	for i := range publics {
		wg.Go(func() {
			c, err := OpenController(dir)
			if assert.NoError(t, err) {
				publics[i] = string(c.Public())
			}
		})
	}
	wg.Wait()
	for _, public := range publics {
		assert.Equal(t, publics[0], public, "first starts at the same time agree on one key")
	}
	path := filepath.Join(dir, KeyFile)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1)

	require.NoError(t, os.Chmod(path, 0o640))
	_, err = OpenController(dir)
	assert.ErrorContains(t, err, "chmod 0600 "+path)
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, os.WriteFile(path, []byte("rubbish"), 0o600))
	_, err = OpenController(dir)
	assert.ErrorContains(t, err, path+": a private key and a certificate are needed")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "rubbish", string(content), "a damaged key is not replaced")
}

func TestPublicFile(t *testing.T) {
	dir := t.TempDir()
	_, err := LoadPublic(filepath.Join(dir, PublicFile))
	assert.ErrorContains(t, err, "copy muster.pub from the controller")
	c, _ := controller(t)
	require.NoError(t, c.WritePublic(dir))
	require.NoError(t, c.WritePublic(dir), "again is nothing")
	public, err := LoadPublic(filepath.Join(dir, PublicFile))
	require.NoError(t, err)
	assert.True(t, public.Includes(c.certificate))
	assert.Equal(t, c.SigningKey().Public(), public.Keys()[0])
	text, err := os.ReadFile(filepath.Join(dir, PublicFile))
	require.NoError(t, err)
	assert.NotContains(t, string(text), "PRIVATE")

	other, _ := controller(t)
	assert.ErrorContains(t, other.WritePublic(dir), "is the public key of another controller")

	both, err := ParsePublic(append(c.Public(), other.Public()...))
	require.NoError(t, err)
	assert.Len(t, both.Keys(), 2, "for the time of a change of key")
	for _, bad := range []string{"", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		_, err := ParsePublic([]byte(bad))
		assert.Error(t, err, "%q", bad)
	}
}

func TestServerIsVerified(t *testing.T) {
	c, public := controller(t)
	c.Cluster = "c1"
	foreign, foreignPublic := controller(t)
	serverTLS, err := c.ServerTLS()
	require.NoError(t, err)
	foreignTLS, err := foreign.ServerTLS()
	require.NoError(t, err)

	server, client, serverErr, clientErr := handshake(t, serverTLS, public.ClientTLS(ControllerName))
	require.NoError(t, serverErr)
	require.NoError(t, clientErr)
	assert.Equal(t, "c1", ClusterName(client.ConnectionState()))
	ours, err := auth.Binding(client)
	require.NoError(t, err)
	theirs, err := auth.Binding(server)
	require.NoError(t, err)
	assert.Equal(t, ours, theirs, "both ends see one binding")
	assert.Len(t, ours, auth.BindingSize)

	_, _, _, clientErr = handshake(t, foreignTLS, public.ClientTLS(ControllerName))
	assert.ErrorContains(t, clientErr, "certificate signed by unknown authority")
	_, _, _, clientErr = handshake(t, serverTLS, foreignPublic.ClientTLS(ControllerName))
	assert.ErrorContains(t, clientErr, "certificate signed by unknown authority")
	_, _, _, clientErr = handshake(t, serverTLS, public.ClientTLS(NodeServerName("n1")))
	assert.ErrorContains(t, clientErr, "certificate is valid for ctld.muster, not n1.node.muster")

	old := public.ClientTLS(ControllerName)
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	_, _, serverErr, _ = handshake(t, serverTLS, old)
	assert.ErrorContains(t, serverErr, "unsupported versions")
}

func TestServerCertificateIsRenewed(t *testing.T) {
	c, _ := controller(t)
	now := time.Now()
	c.now = func() time.Time { return now }
	own := &ownCertificate{controller: c}
	first, err := own.get(nil)
	require.NoError(t, err)
	second, err := own.get(nil)
	require.NoError(t, err)
	assert.Same(t, first, second)
	now = now.Add(serverLife/2 + time.Second)
	third, err := own.get(nil)
	require.NoError(t, err)
	assert.NotSame(t, first, third)
}

func enrol(t testing.TB, c *Controller, public *Public, node, dir string) *NodeKey {
	t.Helper()
	request, err := NewNodeRequest(node)
	require.NoError(t, err)
	answer, err := c.IssueNode(request.Text, node, 0, 0)
	require.NoError(t, err)
	key, err := request.Accept(answer, public, dir)
	require.NoError(t, err)
	return key
}

func TestNodeCertificates(t *testing.T) {
	c, public := controller(t)
	serverTLS, err := c.ServerTLS()
	require.NoError(t, err)
	dir := t.TempDir()
	for _, node := range []string{"n1", "rack0n001", "gpu_node-7", "a.b.c", "N9"} {
		enrol(t, c, public, node, dir)
		key, err := LoadNodeKey(dir, node, public)
		require.NoError(t, err)
		assert.Greater(t, time.Until(key.RenewAt()), 30*24*time.Hour)

		server, _, serverErr, clientErr := handshake(t, serverTLS, key.ClientTLS(public))
		require.NoError(t, serverErr, node)
		require.NoError(t, clientErr, node)
		id, err := NodeIdentity(server.ConnectionState())
		require.NoError(t, err)
		assert.Equal(t, auth.Identity{Host: node, Node: node, Method: auth.MethodCertificate}, id)

		_, _, _, clientErr = handshake(t, key.ServerTLS(public), public.ClientTLS(NodeServerName(node)))
		assert.NoError(t, clientErr, "srun reaches the node by its name")
		_, _, _, clientErr = handshake(t, key.ServerTLS(public), public.ClientTLS(ControllerName))
		assert.ErrorContains(t, clientErr, "not ctld.muster", "a node is not the controller")
		_, _, _, clientErr = handshake(t, key.ServerTLS(public), public.ClientTLS(NodeServerName("other")))
		assert.Error(t, clientErr)
	}

	server, _, _, _ := handshake(t, serverTLS, public.ClientTLS(ControllerName))
	_, err = NodeIdentity(server.ConnectionState())
	assert.ErrorContains(t, err, "no node certificate was shown")
}

func TestForeignNodeIsRefused(t *testing.T) {
	c, public := controller(t)
	foreign, foreignPublic := controller(t)
	serverTLS, err := c.ServerTLS()
	require.NoError(t, err)
	key := enrol(t, foreign, foreignPublic, "n1", t.TempDir())
	forced := public.ClientTLS(ControllerName)
	forced.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &key.certificate, nil }
	_, _, serverErr, _ := handshake(t, serverTLS, forced)
	assert.ErrorContains(t, serverErr, "certificate signed by unknown authority")

	_, err = LoadNodeKey(t.TempDir(), "n1", public)
	assert.ErrorIs(t, err, os.ErrNotExist)
	request, err := NewNodeRequest("n1")
	require.NoError(t, err)
	answer, err := foreign.IssueNode(request.Text, "n1", 0, 0)
	require.NoError(t, err)
	dir := t.TempDir()
	_, err = request.Accept(answer, public, dir)
	assert.ErrorContains(t, err, "unknown authority")
	assert.NoFileExists(t, filepath.Join(dir, NodeFile))
}

func TestNodeRequests(t *testing.T) {
	c, public := controller(t)
	for _, name := range []string{"", "a b", "n[1-2]", "-n", ".n", "n.", "a..b", "ü", strings.Repeat("n", 201)} {
		_, err := NewNodeRequest(name)
		assert.ErrorContains(t, err, "cannot stand in a certificate", "%q", name)
	}
	request, err := NewNodeRequest("n1")
	require.NoError(t, err)
	_, err = c.IssueNode(request.Text, "n2", 0, 0)
	assert.ErrorContains(t, err, `certificate request of node n2: it is for "n1"`)
	_, err = c.IssueNode([]byte("x"), "n1", 0, 0)
	assert.ErrorContains(t, err, "it is not one")
	_, err = c.IssueNode(make([]byte, maxRequest+1), "n1", 0, 0)
	assert.ErrorContains(t, err, "too many")
	forged := []byte(strings.Replace(string(request.Text), "M", "N", 1))
	_, err = c.IssueNode(forged, "n1", 0, 0)
	assert.Error(t, err)

	other, err := NewNodeRequest("n1")
	require.NoError(t, err)
	answer, err := c.IssueNode(other.Text, "n1", 0, 0)
	require.NoError(t, err)
	_, err = request.Accept(answer, public, t.TempDir())
	assert.ErrorContains(t, err, "not that of the key")

	c.now = func() time.Time { return time.Now().Add(-NodeLife - time.Hour) }
	answer, err = c.IssueNode(request.Text, "n1", 0, 0)
	require.NoError(t, err)
	_, err = request.Accept(answer, public, t.TempDir())
	assert.ErrorContains(t, err, "expired")
}

func FuzzIssueNode(f *testing.F) {
	c, _ := controller(f)
	request, err := NewNodeRequest("n1")
	require.NoError(f, err)
	f.Add(request.Text, "n1")
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n"), "n1")
	f.Fuzz(func(t *testing.T, text []byte, node string) {
		answer, err := c.IssueNode(text, node, 0, 0)
		if err != nil {
			return
		}
		list, err := decodeCertificates(answer)
		if err != nil {
			t.Fatal(err)
		}
		id, err := certificateIdentity(list[0])
		if err != nil || id.Node != node {
			t.Fatalf("certificate for %q says %q: %v", node, id.Node, err)
		}
	})
}

func BenchmarkHandshake(b *testing.B) {
	c, public := controller(b)
	serverTLS, err := c.ServerTLS()
	require.NoError(b, err)
	clientTLS := public.ClientTLS(ControllerName)
	for b.Loop() {
		x, y := net.Pipe()
		go func() { _ = tls.Server(x, serverTLS).HandshakeContext(context.Background()); x.Close() }()
		require.NoError(b, tls.Client(y, clientTLS).Handshake())
		y.Close()
	}
}
