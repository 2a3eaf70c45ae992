package node

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"muster/internal/wire"
)

// The test binary serves as a node daemon of its own process (so that it can be
// killed): orders come in on standard input, facts go out on standard output,
// a line each.

type pipeReports struct{ silence }

func (pipeReports) RunFact(f *wire.RunFact) { fmt.Println(protojson.MarshalOptions{}.Format(f)) }

func daemonMain() {
	cfg := baseConfig(nil2{}, os.Getenv("NODE_TEST_DAEMON"))
	cfg.Stepd = os.Getenv("NODE_TEST_STEPD")
	if boot := os.Getenv("NODE_TEST_BOOT"); boot != "" {
		cfg.BootID = boot
	}
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	n, err := New(cfg)
	fail(err)
	fail(n.Registered(&wire.Registered{ClusterId: testCluster, Term: 1}))
	fail(n.Start(pipeReports{}))
	for _, r := range n.Register().Runs {
		pipeReports{}.RunFact(r)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		data, err := base64.StdEncoding.DecodeString(in.Text())
		fail(err)
		order := new(wire.NodeOrder)
		fail(proto.Unmarshal(data, order))
		n.Order(order)
	}
}

// nil2 stands for a test in the daemon's process, where there is none.
type nil2 struct{ testing.TB }

// process is such a daemon.
type process struct {
	*ledger
	t   testing.TB
	cmd *exec.Cmd
	in  *os.File
}

func startProcess(t testing.TB, spool, boot string) *process {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "NODE_TEST_DAEMON="+spool, "NODE_TEST_STEPD="+stepdPath, "NODE_TEST_BOOT="+boot)
	cmd.Stderr = os.Stderr
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdin = r
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	r.Close()
	p := &process{newLedger(), t, cmd, w}
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			f := new(wire.RunFact)
			if strings.HasPrefix(lines.Text(), "{") && protojson.Unmarshal(lines.Bytes(), f) == nil {
				p.RunFact(f)
			}
		}
	}()
	t.Cleanup(p.kill)
	return p
}

// kill is kill -9.
func (p *process) kill() {
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()
	p.in.Close()
}

func (p *process) send(order *wire.NodeOrder) {
	data, err := proto.Marshal(order)
	require.NoError(p.t, err)
	_, err = fmt.Fprintln(p.in, base64.StdEncoding.EncodeToString(data))
	require.NoError(p.t, err)
}
