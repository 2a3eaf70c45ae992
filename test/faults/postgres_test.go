package faults

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// server is a PostgreSQL of the test, outside of any cluster.
type server struct {
	t    *testing.T
	dir  string // data
	bin  string // its programs
	port int
	cmd  *exec.Cmd
}

// startServer makes and starts a PostgreSQL as user postgres.
func startServer(t *testing.T) *server {
	t.Helper()
	needRoot(t)
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		t.Skip("needs the PostgreSQL server's programs")
	}
	sort.Strings(found)
	base := folder(t)
	s := &server{t: t, dir: filepath.Join(base, "data"), bin: filepath.Dir(found[len(found)-1]), port: freePort(t)}
	out, err := s.asPostgres("install", "-d", "-m", "700", s.dir).CombinedOutput()
	if err != nil { // the folder above is root's
		require.NoError(t, os.Chmod(base, 0o777), "%s", out)
		out, err = s.asPostgres("install", "-d", "-m", "700", s.dir).CombinedOutput()
	}
	require.NoError(t, err, "%s", out)
	out, err = s.asPostgres(filepath.Join(s.bin, "initdb"), "-D", s.dir, "-U", "muster", "-A", "trust", "-N", "-E", "UTF8", "--locale=C").CombinedOutput()
	require.NoError(t, err, "initdb: %s", out)
	t.Cleanup(func() { s.stop(syscall.SIGINT) })
	s.start()
	return s
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *server) asPostgres(args ...string) *exec.Cmd {
	cmd := exec.Command("setpriv", append([]string{"--reuid", "postgres", "--regid", "postgres", "--init-groups"}, args...)...)
	cmd.Dir = "/"
	return cmd
}

// start starts the server and waits until it answers.
func (s *server) start() {
	s.t.Helper()
	s.cmd = s.asPostgres(filepath.Join(s.bin, "postgres"), "-D", s.dir, "-p", strconv.Itoa(s.port), "-k", "", "-c", "listen_addresses=127.0.0.1")
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(s.t, s.cmd.Start())
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if s.query("SELECT 1") == "1" {
			return
		}
		require.True(s.t, time.Now().Before(end), "PostgreSQL does not answer")
	}
}

// stop ends the server: SIGINT = at once and in order, SIGKILL = a crash.
func (s *server) stop(sig syscall.Signal) {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(sig)
	_ = s.cmd.Wait() // ended by our signal
	s.cmd = nil
}

// query answers with psql's unaligned text, empty on an error.
func (s *server) query(sql string) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "psql"), "-X", "-A", "-t", "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "muster", "-d", "postgres", "-c", sql)
	out, _ := cmd.Output()
	return strings.TrimSpace(string(out))
}

// url is the server's address by the port of the server or of a proxy.
func url(port int) string {
	return fmt.Sprintf("postgres://muster@127.0.0.1:%d/postgres?sslmode=disable", port)
}

// proxy carries TCP connections to a server, until it is cut: then what is open
// hangs without a word, and nothing new gets through.
type proxy struct {
	listener net.Listener
	to       string
	work     sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	flow  *sync.Cond
	conns []net.Conn
	done  bool
}

func startProxy(t *testing.T, to int) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: l, to: fmt.Sprintf("127.0.0.1:%d", to)}
	p.flow = sync.NewCond(&p.mu)
	p.work.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

func (p *proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.work.Go(func() { p.carry(in) })
	}
}

func (p *proxy) carry(in net.Conn) {
	defer in.Close()
	p.keep(in)
	if !p.open() {
		return
	}
	out, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer out.Close()
	p.keep(out)
	var back sync.WaitGroup
	back.Go(func() { p.pump(in, out) })
	p.pump(out, in)
	back.Wait()
}

func (p *proxy) pump(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if !p.open() {
			return
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, c)
	if p.done {
		c.Close()
	}
}

// open waits while the line is cut; false = the proxy ends.
func (p *proxy) open() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.cut && !p.done {
		p.flow.Wait()
	}
	return !p.done
}

func (p *proxy) setCut(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
	p.flow.Broadcast()
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.done = true
	for _, c := range p.conns {
		c.Close()
	}
	p.flow.Broadcast()
	p.mu.Unlock()
	p.work.Wait()
}
