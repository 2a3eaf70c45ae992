package auth_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/auth"
	"muster/internal/auth/pki"
	"muster/internal/auth/slurm"
)

// world is a controller with auth/slurm, and what its clients need.
type world struct {
	controller *pki.Controller
	public     *pki.Public
	issuer     *slurm.Issuer
	server     auth.ServerConfig
	client     auth.ClientConfig
}

func newWorld(t testing.TB, secret string) *world {
	t.Helper()
	controller, err := pki.OpenController(t.TempDir())
	require.NoError(t, err)
	public, err := pki.ParsePublic(controller.Public())
	require.NoError(t, err)
	key, err := slurm.NewKey([]byte(secret))
	require.NoError(t, err)
	issuer, err := slurm.NewIssuer(key, "c1", 0)
	require.NoError(t, err)
	checker, err := slurm.NewChecker(key, "c1")
	require.NoError(t, err)
	serverTLS, err := controller.ServerTLS()
	require.NoError(t, err)
	return &world{controller: controller, public: public, issuer: issuer,
		server: auth.ServerConfig{TLS: serverTLS, Checkers: []auth.Checker{checker}, Certificate: pki.NodeIdentity},
		client: auth.ClientConfig{TLS: public.ClientTLS(pki.ControllerName), Prover: issuer.Prover()}}
}

const secret = "the cluster key of these tests"

type accepted struct {
	conn net.Conn
	id   auth.Identity
	err  error
}

// listen serves the preamble on a socket until the test ends.
func listen(t testing.TB, network string, cfg auth.ServerConfig) (net.Listener, <-chan accepted) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	listener, err := net.Listen(network, address)
	require.NoError(t, err)
	results := make(chan accepted, 16)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			ready, id, err := auth.ServerConn(context.Background(), conn, cfg)
			results <- accepted{ready, id, err}
		}
	}()
	t.Cleanup(func() { listener.Close(); <-done })
	return listener, results
}

func dial(t testing.TB, listener net.Listener) net.Conn {
	t.Helper()
	conn, err := net.Dial(listener.Addr().Network(), listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// echo shows that the connection belongs to the next layer, byte for byte.
func echo(t *testing.T, client, server net.Conn) {
	t.Helper()
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		_, err := pair[0].Write([]byte("hello"))
		require.NoError(t, err)
		got := make([]byte, 5)
		_, err = io.ReadFull(pair[1], got)
		require.NoError(t, err)
		assert.Equal(t, "hello", string(got))
	}
}

func TestUnixSocket(t *testing.T) {
	listener, results := listen(t, "unix", auth.ServerConfig{})
	raw := dial(t, listener)
	conn, err := auth.ClientConn(context.Background(), raw, auth.ClientConfig{})
	require.NoError(t, err)
	assert.Same(t, raw, conn)
	got := <-results
	require.NoError(t, got.err)
	assert.Equal(t, auth.Identity{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), PID: int32(os.Getpid()), Method: auth.MethodPeer}, got.id)
	assert.True(t, got.id.Local())
	echo(t, conn, got.conn)
}

func TestTLSWithToken(t *testing.T) {
	w := newWorld(t, secret)
	listener, results := listen(t, "tcp", w.server)
	conn, err := auth.ClientConn(context.Background(), dial(t, listener), w.client)
	require.NoError(t, err)
	got := <-results
	require.NoError(t, got.err)
	assert.EqualValues(t, os.Geteuid(), got.id.UID)
	assert.Equal(t, auth.MethodSlurm, got.id.Method)
	assert.False(t, got.id.Local())
	echo(t, conn, got.conn)
}

func TestNodeCertificate(t *testing.T) {
	w := newWorld(t, secret)
	request, err := pki.NewNodeRequest("n1")
	require.NoError(t, err)
	answer, err := w.controller.IssueNode(request.Text, "n1", 0, 0)
	require.NoError(t, err)
	key, err := request.Accept(answer, w.public, t.TempDir())
	require.NoError(t, err)

	listener, results := listen(t, "tcp", w.server)
	_, err = auth.ClientConn(context.Background(), dial(t, listener), auth.ClientConfig{TLS: key.ClientTLS(w.public)})
	require.NoError(t, err)
	got := <-results
	require.NoError(t, got.err)
	assert.Equal(t, "n1", got.id.Node)

	// Without a certificate the method is refused.
	_, err = auth.ClientConn(context.Background(), dial(t, listener), auth.ClientConfig{TLS: w.client.TLS})
	var refused *auth.RefusedError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, "no node certificate was shown", refused.Reason)
	assert.Error(t, (<-results).err)
}

// fixed is a prover with a token made beforehand.
type fixed struct {
	method auth.Method
	token  []byte
}

func (f fixed) Method() auth.Method                           { return f.method }
func (f fixed) Prove(context.Context, []byte) ([]byte, error) { return f.token, nil }

// recorder keeps the token that it passes on.
type recorder struct {
	auth.Prover
	token []byte
}

func (r *recorder) Prove(ctx context.Context, binding []byte) (token []byte, err error) {
	r.token, err = r.Prover.Prove(ctx, binding)
	return r.token, err
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, secret)
	other := newWorld(t, "the key of some other cluster")
	listener, results := listen(t, "tcp", w.server)
	try := func(prover auth.Prover) error {
		_, err := auth.ClientConn(context.Background(), dial(t, listener), auth.ClientConfig{TLS: w.client.TLS, Prover: prover})
		got := <-results
		assert.Equal(t, err == nil, got.err == nil)
		return err
	}
	taken := &recorder{Prover: w.client.Prover}
	require.NoError(t, try(taken))

	for name, test := range map[string]struct {
		prover auth.Prover
		want   string
	}{
		"a token of another connection": {fixed{auth.MethodSlurm, taken.token}, "made for another connection"},
		"a token of another cluster":    {other.client.Prover, "not made with this cluster's slurm.key"},
		"an empty token":                {fixed{auth.MethodSlurm, nil}, "malformed"},
		"no credentials":                {fixed{auth.MethodNone, nil}, "no credentials were sent"},
		"peer credentials over TCP":     {fixed{auth.MethodPeer, nil}, "no credentials were sent"},
		"another method":                {fixed{auth.MethodMunge, []byte("MUNGE:x:")}, "auth/munge is not this cluster's AuthType"},
		"a method that does not exist":  {fixed{99, nil}, "method 99 is not this cluster's AuthType"},
		"a certificate with a token":    {fixed{auth.MethodCertificate, []byte("x")}, "not accepted here"},
	} {
		t.Run(name, func(t *testing.T) {
			err := try(test.prover)
			var refused *auth.RefusedError
			require.ErrorAs(t, err, &refused)
			assert.Contains(t, refused.Reason, test.want)
		})
	}
}

func TestServerMustBeGenuine(t *testing.T) {
	w, impostor := newWorld(t, secret), newWorld(t, secret)
	listener, results := listen(t, "tcp", impostor.server)
	asked := &recorder{Prover: w.client.Prover}
	_, err := auth.ClientConn(context.Background(), dial(t, listener), auth.ClientConfig{TLS: w.client.TLS, Prover: asked})
	assert.ErrorContains(t, err, "verifying the server: tls: failed to verify certificate")
	assert.Nil(t, asked.token, "an impostor gets no token")
	assert.Error(t, (<-results).err)

	_, err = auth.ClientConn(context.Background(), dial(t, listener), auth.ClientConfig{Prover: asked})
	assert.ErrorContains(t, err, "muster.pub")
	<-results
}

// relay is a man in the middle who holds a genuine certificate of the cluster (a
// node's) and forwards a token that was meant for him.
func TestTokenCannotBeRelayed(t *testing.T) {
	w := newWorld(t, secret)
	serverListener, results := listen(t, "tcp", w.server)
	middle, stolen := listen(t, "tcp", auth.ServerConfig{TLS: w.server.TLS, Checkers: []auth.Checker{thief{t, w, serverListener}}})
	_, err := auth.ClientConn(context.Background(), dial(t, middle), w.client)
	require.NoError(t, err)
	require.NoError(t, (<-stolen).err)
	assert.ErrorContains(t, (<-results).err, "made for another connection")
}

type thief struct {
	t      *testing.T
	w      *world
	target net.Listener
}

func (thief) Method() auth.Method { return auth.MethodSlurm }
func (th thief) Check(ctx context.Context, token, _ []byte) (auth.Identity, error) {
	_, err := auth.ClientConn(ctx, dial(th.t, th.target), auth.ClientConfig{TLS: th.w.client.TLS, Prover: fixed{auth.MethodSlurm, token}})
	assert.ErrorContains(th.t, err, "made for another connection")
	return auth.Identity{}, nil
}

type broken struct{}

func (broken) Method() auth.Method { return auth.MethodSlurm }
func (broken) Check(context.Context, []byte, []byte) (auth.Identity, error) {
	return auth.Identity{UID: 0}, errors.New("a detail for the log")
}

func TestInnerErrorsStayInTheLog(t *testing.T) {
	w := newWorld(t, secret)
	w.server.Checkers = []auth.Checker{broken{}}
	listener, results := listen(t, "tcp", w.server)
	_, err := auth.ClientConn(context.Background(), dial(t, listener), w.client)
	assert.ErrorContains(t, err, "its log says why")
	assert.NotContains(t, err.Error(), "detail")
	got := <-results
	assert.ErrorContains(t, got.err, "a detail for the log")
	assert.Nil(t, got.conn)
}

func TestSilentPeers(t *testing.T) {
	w := newWorld(t, secret)
	w.server.Timeout = 50 * time.Millisecond
	for _, network := range []string{"unix", "tcp"} {
		listener, results := listen(t, network, w.server)
		dial(t, listener)
		got := <-results
		assert.ErrorContains(t, got.err, "no answer within 50ms", network)
	}
	mute, err := net.Listen("unix", filepath.Join(t.TempDir(), "s")) // never accepts
	require.NoError(t, err)
	defer mute.Close()
	_, err = auth.ClientConn(context.Background(), dial(t, mute), auth.ClientConfig{Timeout: 50 * time.Millisecond})
	assert.ErrorContains(t, err, "no answer within 50ms")

	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the user gave up"))
	_, err = auth.ClientConn(ctx, dial(t, mute), auth.ClientConfig{})
	assert.ErrorContains(t, err, "the user gave up")
}

func hello(method uint8, token []byte) []byte {
	b := append([]byte("MUSTER1"), method)
	b = binary.BigEndian.AppendUint32(b, uint32(len(token)))
	return append(b, token...)
}

func TestBadHellos(t *testing.T) {
	listener, results := listen(t, "unix", auth.ServerConfig{})
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"another protocol": {[]byte("GET / HTTP/1.1\r\n\r\n"), "does not speak Muster's protocol"},
		"too long":         {binary.BigEndian.AppendUint32([]byte("MUSTER1\x01"), 1<<30), "at most 16384 are allowed"},
		"cut short":        {[]byte("MUST"), "unexpected EOF"},
		"nothing":          {nil, "EOF"},
		"a token locally":  {hello(2, []byte("x")), "authenticated by its peer credentials, not by auth/slurm"},
	} {
		t.Run(name, func(t *testing.T) {
			conn := dial(t, listener)
			_, err := conn.Write(test.data)
			require.NoError(t, err)
			require.NoError(t, conn.(*net.UnixConn).CloseWrite())
			got := <-results
			assert.ErrorContains(t, got.err, test.want)
		})
	}
}

func TestRefusalReachesAnEagerClient(t *testing.T) {
	w := newWorld(t, secret)
	listener, results := listen(t, "tcp", w.server)
	conn := tls.Client(dial(t, listener), w.client.TLS)
	// A client that sends its request without waiting for the answer.
	_, err := conn.Write(append(hello(2, []byte("x")), make([]byte, 8000)...))
	require.NoError(t, err)
	answer := make([]byte, 12)
	_, err = io.ReadFull(conn, answer)
	require.NoError(t, err)
	assert.Equal(t, "MUSTER1\x01", string(answer[:8]))
	conn.Close()
	assert.Error(t, (<-results).err)
}

func TestNotAServerOfOurs(t *testing.T) {
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	defer listener.Close()
	for text, want := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n":       "does not speak Muster's protocol",
		"MUSTER1\x07\x00\x00\x00\x00":        "answer code 7",
		"MUSTER1\x01\x00\x00\x00\x04\x1b[2J": "authentication refused: ?[2J",
		"MUSTER1\x01\xff\xff\xff\xff":        "at most 1024 are allowed",
		"":                                   "closed the connection during authentication",
		"MUSTER1\x01\x00\x00\x00\x05ab":      "unexpected EOF",
	} {
		client := dial(t, listener)
		server, err := listener.Accept()
		require.NoError(t, err)
		_, err = server.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, server.(*net.UnixConn).CloseWrite())
		_, err = auth.ClientConn(context.Background(), client, auth.ClientConfig{})
		assert.ErrorContains(t, err, want)
		server.Close()
	}
}

func TestContext(t *testing.T) {
	_, ok := auth.FromContext(context.Background())
	assert.False(t, ok)
	_, ok = auth.FromContext(auth.NewContext(context.Background(), auth.Identity{}))
	assert.False(t, ok, "the zero identity is no proof")
	id, ok := auth.FromContext(auth.NewContext(context.Background(), auth.Identity{UID: 5, Method: auth.MethodPeer}))
	assert.True(t, ok)
	assert.Equal(t, "uid 5 (peer credentials)", id.String())
}

func FuzzServerHello(f *testing.F) {
	f.Add(hello(1, nil))
	f.Add(hello(2, []byte("token")))
	f.Add([]byte("MUSTER1\x01\xff\xff\xff\xff"))
	w := newWorld(f, secret)
	f.Fuzz(func(t *testing.T, data []byte) {
		a, b := net.Pipe()
		defer a.Close()
		go func() { // ends when either end is closed
			client := tls.Client(b, w.client.TLS)
			_, _ = client.Write(data)
			client.Close()
		}()
		if _, id, err := auth.ServerConn(context.Background(), a, w.server); err == nil {
			t.Fatalf("accepted %q as %s", data, id)
		}
	})
}

func BenchmarkPreamble(b *testing.B) {
	w := newWorld(b, secret)
	for _, bench := range []struct {
		name, network string
		client        auth.ClientConfig
	}{
		{"unix", "unix", auth.ClientConfig{}},
		{"tls-token", "tcp", w.client},
	} {
		b.Run(bench.name, func(b *testing.B) {
			listener, results := listen(b, bench.network, w.server)
			for b.Loop() {
				conn, err := net.Dial(bench.network, listener.Addr().String())
				if err != nil {
					b.Fatal(err)
				}
				if conn, err = auth.ClientConn(context.Background(), conn, bench.client); err != nil {
					b.Fatal(err)
				}
				(<-results).conn.Close()
				conn.Close()
			}
		})
		b.Run(bench.name+"-dial-only", func(b *testing.B) {
			address := "127.0.0.1:0"
			if bench.network == "unix" {
				address = filepath.Join(b.TempDir(), "s")
			}
			listener, err := net.Listen(bench.network, address)
			require.NoError(b, err)
			defer listener.Close()
			for b.Loop() {
				conn, err := net.Dial(bench.network, listener.Addr().String())
				if err != nil {
					b.Fatal(err)
				}
				server, err := listener.Accept()
				if err != nil {
					b.Fatal(err)
				}
				server.Close()
				conn.Close()
			}
		})
	}
}
