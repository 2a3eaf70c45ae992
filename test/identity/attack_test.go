package identity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/auth"
	"muster/internal/auth/method"
	"muster/internal/auth/munge"
	"muster/internal/auth/pki"
	"muster/internal/auth/slurm"
	"muster/test/hosts"
)

// An attack is made by this test's own program on one of the hosts: it is told
// by these variables what to do, and prints what the server said.
const (
	attackVar  = "IDENTITY_ATTACK"  // which
	targetVar  = "IDENTITY_TARGET"  // host:port
	serverVar  = "IDENTITY_SERVER"  // the name in the server's certificate
	etcVar     = "IDENTITY_ETC"     // a folder with muster.pub
	authVar    = "IDENTITY_AUTH"    // AuthType
	strangeVar = "IDENTITY_STRANGE" // a folder with another cluster's keys
	welcome    = "welcome"
)

func TestMain(m *testing.M) {
	if os.Getenv(attackVar) == "" {
		os.Exit(m.Run())
	}
	fmt.Println(attack(os.Getenv(attackVar)))
}

const cluster = "site"

// attack makes one attempt and tells its outcome.
func attack(kind string) string {
	var prover auth.Prover
	var err error
	authType := os.Getenv(authVar)
	genuine, err := method.ForCommand(method.Options{AuthType: authType, Cluster: cluster})
	if err != nil {
		return "cannot attack: " + err.Error()
	}
	switch kind {
	case "genuine":
		prover = genuine
	case "no token":
		prover = fixed{auth.MethodNone, nil}
	case "empty token":
		prover = fixed{genuine.Method(), nil}
	case "peer credentials":
		prover = fixed{auth.MethodPeer, nil}
	case "certificate":
		prover = fixed{auth.MethodCertificate, nil}
	case "forged":
		prover = forged(authType)
	case "altered":
		prover = changed{genuine, func(token []byte) { token[len(token)/2] ^= 1 }}
	case "expired":
		prover, err = expired(authType)
	case "another connection":
		prover, err = replay(genuine)
	case "foreign certificate": // instead of a token
	default:
		err = fmt.Errorf("%q is no attack", kind)
	}
	var key *pki.NodeKey
	if kind == "foreign certificate" {
		if key, err = strangeKey(); err != nil {
			return "cannot attack: " + err.Error()
		}
	}
	if err == nil {
		err = knock(prover, key)
	}
	if err != nil {
		return err.Error()
	}
	return welcome
}

// strangeKey is a certificate for n1 of a cluster of the same name.
func strangeKey() (*pki.NodeKey, error) {
	dir := os.Getenv(strangeVar)
	public, err := pki.LoadPublic(filepath.Join(dir, pki.PublicFile))
	if err != nil {
		return nil, err
	}
	return pki.LoadNodeKey(dir, "n1", public)
}

// knock opens a connection with a proof: a token, or a certificate.
func knock(prover auth.Prover, key *pki.NodeKey) error {
	public, err := pki.LoadPublic(filepath.Join(os.Getenv(etcVar), pki.PublicFile))
	if err != nil {
		return err
	}
	config := public.ClientTLS(os.Getenv(serverVar))
	if key != nil {
		config = key.ClientTLS(public)
	}
	conn, err := net.DialTimeout("tcp", os.Getenv(targetVar), 5*time.Second)
	if err != nil {
		return err
	}
	ready, err := auth.ClientConn(context.Background(), conn, auth.ClientConfig{TLS: config, Prover: prover})
	if err != nil {
		return err
	}
	return ready.Close()
}

// fixed sends a token that it was given.
type fixed struct {
	method auth.Method
	token  []byte
}

func (f fixed) Method() auth.Method                           { return f.method }
func (f fixed) Prove(context.Context, []byte) ([]byte, error) { return f.token, nil }

// changed sends a genuine token after a change.
type changed struct {
	auth.Prover
	change func([]byte)
}

func (c changed) Prove(ctx context.Context, binding []byte) ([]byte, error) {
	token, err := c.Prover.Prove(ctx, binding)
	if err == nil {
		c.change(token)
	}
	return token, err
}

// slow lets the token of a prover grow old before it is sent.
type slow struct{ auth.Prover }

func (s slow) Prove(ctx context.Context, binding []byte) ([]byte, error) {
	token, err := s.Prover.Prove(ctx, binding)
	<-time.After(2100 * time.Millisecond) // nothing but time makes it expire
	return token, err
}

// forged makes tokens that claim to be root's, with a key of its own.
func forged(authType string) auth.Prover {
	if authType == "auth/munge" {
		return fixed{auth.MethodMunge, []byte("MUNGE:AwQFAAB0aGlzIGlzIG5vIGNyZWRlbnRpYWwgb2YgYW55IG11bmdlZA==:")}
	}
	key, err := slurm.NewKey(bytes.Repeat([]byte("guess"), 8))
	if err != nil {
		panic(err)
	}
	issuer, err := slurm.NewIssuer(key, cluster, 0)
	if err != nil {
		panic(err)
	}
	return issued{issuer}
}

// issued are tokens for uid 0, whoever asks.
type issued struct{ *slurm.Issuer }

func (issued) Method() auth.Method { return auth.MethodSlurm }
func (i issued) Prove(_ context.Context, binding []byte) ([]byte, error) {
	return i.Issue(0, 0, binding)
}

// expired makes genuine tokens (it must be able to) that have had their time.
func expired(authType string) (auth.Prover, error) {
	if authType == "auth/munge" {
		return slow{munge.Prover{Client: munge.Client{TTL: time.Second}, Cluster: cluster}}, nil
	}
	key, err := slurm.LoadKey(filepath.Join(os.Getenv(etcVar), slurm.KeyFile), 0)
	if err != nil {
		return nil, err
	}
	issuer, err := slurm.NewIssuer(key, cluster, time.Millisecond)
	if err != nil {
		return nil, err
	}
	return slow{issuer.Prover()}, nil
}

// replay uses a token on its own connection, then gives it away for another.
func replay(genuine auth.Prover) (auth.Prover, error) {
	taken := &taker{Prover: genuine}
	if err := knock(taken, nil); err != nil {
		return nil, fmt.Errorf("the first use: %w", err)
	}
	return fixed{genuine.Method(), taken.token}, nil
}

type taker struct {
	auth.Prover
	token []byte
}

func (t *taker) Prove(ctx context.Context, binding []byte) (token []byte, err error) {
	t.token, err = t.Prover.Prove(ctx, binding)
	return t.token, err
}

// attacker copies this program to where every user of the site can run it.
func (s *site) attacker() string {
	s.t.Helper()
	path := filepath.Join(s.Dir, "attacker")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		self, err := os.ReadFile("/proc/self/exe")
		require.NoError(s.t, err)
		require.NoError(s.t, os.WriteFile(path, self, 0o755))
	}
	return path
}

func (s *site) attack(from *hosts.Host, uid int, kind, target, server, authType string) string {
	s.t.Helper()
	r := from.Run(uid, "env", attackVar+"="+kind, targetVar+"="+target, serverVar+"="+server,
		etcVar+"="+filepath.Join(from.Dir, "etc"), authVar+"="+authType,
		strangeVar+"="+filepath.Join(s.Dir, "foreign"), s.attacker())
	require.Equal(s.t, 0, r.Code, "%s: %s", kind, r.Err)
	return r.Out
}

// attacks: neither the controller nor a node takes any of these proofs.
func (s *site) attacks(authType string) {
	t, login := s.t, s.Hosts["login"]
	t.Helper()
	type row struct {
		kind string
		uid  int
		want string
	}
	rows := []row{
		{"genuine", binUID, welcome},
		{"no token", binUID, "no credentials were sent"},
		{"peer credentials", binUID, "no credentials were sent"},
		{"certificate", binUID, "authentication refused"},
		{"another connection", binUID, "made for another connection"},
		{"empty token", binUID, "authentication refused"},
		{"altered", binUID, "authentication refused"},
		{"genuine", binUID, welcome}, // the door is not shut for good
	}
	if authType == "auth/slurm" {
		rows = append(rows, row{"forged", binUID, "not made with this cluster's slurm.key"},
			row{"expired", 0, "the token expired"}, row{"expired", binUID, "permission denied"})
	} else {
		rows = append(rows, row{"forged", binUID, "authentication refused"}, row{"expired", binUID, "xpired"})
		// munged itself knows what it has decoded before.
		rows[4].want = "authentication refused"
	}
	for _, server := range []struct{ addr, name string }{
		{"10.77.0.1:6817", pki.ControllerName}, {"10.77.0.3:6818", pki.NodeServerName("n1")},
	} {
		for _, r := range rows {
			got := s.attack(login, r.uid, r.kind, server.addr, server.name, authType)
			assert.Contains(t, got, r.want, "%s of uid %d at %s", r.kind, r.uid, server.addr)
		}
	}
	s.foreignAuthority(authType)
}

// foreignAuthority: who has another cluster's key is refused, and who is shown
// a certificate of another cluster does not prove himself to it.
func (s *site) foreignAuthority(authType string) {
	t, login, n2 := s.t, s.Hosts["login"], s.Hosts["n2"]
	t.Helper()
	dir := filepath.Join(s.Dir, "foreign")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	other, err := pki.OpenController(dir)
	require.NoError(t, err)
	other.Cluster = cluster
	public := filepath.Join(dir, pki.PublicFile)
	require.NoError(t, other.WritePublic(dir))
	require.NoError(t, os.Chmod(public, 0o644))

	conf := filepath.Join(dir, "slurm.conf")
	require.NoError(t, os.WriteFile(conf, []byte(s.conf(authType)), 0o644))
	r := login.Run(binUID, "env", "SLURM_CONF="+conf, "squeue")
	assert.NotEqual(t, 0, r.Code, r.Out)
	assert.Contains(t, r.Err, "verifying the server")

	// A node with a certificate of the other cluster, for the name of one of ours.
	request, err := pki.NewNodeRequest("n1")
	require.NoError(t, err)
	certificate, err := other.IssueNode(request.Text, "n1", 0, 0)
	require.NoError(t, err)
	theirs, err := pki.LoadPublic(public)
	require.NoError(t, err)
	_, err = request.Accept(certificate, theirs, dir)
	require.NoError(t, err)
	said := s.attack(n2, 0, "foreign certificate", "10.77.0.1:6817", pki.ControllerName, authType)
	assert.Contains(t, said, "certificate", "the controller takes a foreign certificate")
	assert.NotContains(t, said, "cannot attack")
}
