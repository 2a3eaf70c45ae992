package faults

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pair is a cluster with two controllers on one database, the first of them
// behind a proxy.
type pair struct {
	*cluster
	db   *server
	line *proxy
}

func startPair(t *testing.T) *pair {
	t.Helper()
	db := startServer(t)
	p := &pair{cluster: prepare(t, 0), db: db, line: startProxy(t, db.port)}
	p.up("--nodes", "2", "--cpus", "40", "--mem", "2000", "--controllers", "2", "--database", url(p.line.port()),
		"--conf", p.conf("SlurmdTimeout=60"))
	return p
}

// holder says which controller the lease row names, and its term.
func (p *pair) holder() string {
	text := p.db.query("SELECT convert_from(holder, 'UTF8') || ' ' || term FROM muster.lease")
	return text
}

func (p *pair) leads(name string) func() bool {
	return func() bool { return strings.HasPrefix(p.holder(), name+"@") }
}

// direct starts the second controller anew, without the proxy between it and
// the database. The first one leads then.
func (p *pair) direct() {
	p.t.Helper()
	p.daemon("kill", "ctld2")
	p.await("the first lead", p.leads("localhost"))
	waits := p.waits()
	path := filepath.Join(p.dir, "etc", "muster.conf")
	behind, err := os.ReadFile(path)
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(path, []byte("DatabaseURL="+url(p.db.port)+"\n"), 0o600))
	p.daemon("start", "ctld2")
	// The daemon reads the file when it has started; only then it may change back.
	p.await("connections of ctld2", func() bool { return p.waits() > waits })
	require.NoError(p.t, os.WriteFile(path, behind, 0o600))
}

// waits counts how often a controller has found the lease taken.
func (p *pair) waits() int { return strings.Count(p.log("ctld"), "waiting for the lease") }

// TestTwoControllers takes the lead from a controller in three ways, under load.
func TestTwoControllers(t *testing.T) {
	t.Parallel()
	p := startPair(t)
	p.direct()
	long := p.longJob()
	p.awaitState(long, "RUNNING")
	l := p.startLoad(3, 30*time.Millisecond)
	downs := p.watchDown()

	t.Log("the leader is killed")
	p.daemon("kill", "ctld")
	p.await("a takeover after a kill", p.leads("localhost2"))
	p.progress(l)
	p.daemon("start", "ctld")

	t.Log("the leader is stopped and continued")
	second := p.pid("ctld2")
	require.NoError(t, syscall.Kill(second, syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(second, syscall.SIGCONT) })
	p.await("a takeover after a stop", p.leads("localhost"))
	p.progress(l)
	require.NoError(t, syscall.Kill(second, syscall.SIGCONT))
	p.await("the end of the old lead", func() bool { return strings.Contains(p.log("ctld"), "the lead is lost") })

	t.Log("the leader is cut off from the database")
	p.line.setCut(true)
	p.await("a takeover after a cut", p.leads("localhost2"))
	p.progress(l)
	p.line.setCut(false)
	p.await("the second end of a lead", func() bool { return strings.Count(p.log("ctld"), "the lead is lost") >= 2 })

	n := l.end()
	assert.Greater(t, n, 10)
	assert.Equal(t, "RUNNING", p.state(long))
	require.NoError(t, os.WriteFile(filepath.Join(p.work, "go"), nil, 0o644))
	p.awaitEmpty()
	l.check()
	assert.Equal(t, []row{{"FAILED", "17:0"}}, p.accounting()[long])
	assert.Empty(t, downs(), "nodes that were DOWN")
	assert.Equal(t, "0", p.db.query("SELECT count(*) FROM (SELECT job_id FROM muster.run GROUP BY job_id, attempt HAVING count(*) > 1) x"),
		"an attempt with two records")
	t.Logf("%d jobs acknowledged, %d not: %.200q; the lease at the end: %s", n, len(l.refused), l.refused, p.holder())
}

// progress waits until jobs are acknowledged under the new lead.
func (p *pair) progress(l *load) {
	p.t.Helper()
	count := func() int { l.mu.Lock(); defer l.mu.Unlock(); return len(l.codes) }
	from := count()
	p.await("submissions under the new lead", func() bool { return count() > from+12 })
}

// watchDown looks at the nodes all the time; the returned function ends that
// and tells what it saw.
func (p *pair) watchDown() func() []string {
	stop, done := make(chan struct{}), make(chan struct{})
	var seen []string
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
			}
			r := p.run("sinfo", "-h", "-N", "-o", "%N %T")
			if r.code == 0 && strings.Contains(r.out, "down") {
				seen = append(seen, r.out)
			}
		}
	}()
	end := func() []string {
		select {
		case <-stop:
		default:
			close(stop)
		}
		<-done
		return seen
	}
	p.t.Cleanup(func() { end() })
	return end
}

// TestDatabaseAway stops an external database for a while.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	db := startServer(t)
	c := prepare(t, 0).up("--nodes", "1", "--cpus", "8", "--mem", "2000", "--database", url(db.port))
	long := c.longJob()
	c.awaitState(long, "RUNNING")
	ending := c.submit("--wrap", `echo "$SLURM_JOB_ID 0" >>starts; while [ ! -e now ]; do sleep 0.1; done; exit 5`)
	c.awaitState(ending, "RUNNING")
	db.stop(syscall.SIGKILL)
	require.NoError(t, os.WriteFile(filepath.Join(c.work, "now"), nil, 0o644))
	held := make(chan result, 1)
	go func() {
		held <- c.run("sbatch", "--parsable", "-o", "/dev/null", "--mem=10", "--wrap", `echo "$SLURM_JOB_ID 0" >>starts`)
	}()
	for range 4 {
		begin := time.Now()
		r := c.run("squeue", "-h", "-j", long, "-o", "%T")
		assert.Equal(t, "RUNNING\n", r.out, r.err)
		assert.Less(t, time.Since(begin), time.Second, "squeue without a database")
		time.Sleep(500 * time.Millisecond)
	}
	assert.Contains(t, c.ok("scontrol", "ping"), "UP")
	db.start()
	r := <-held
	if r.code == 0 {
		id := strings.TrimSpace(r.out)
		c.awaitState(id, "COMPLETED")
		assert.Equal(t, []string{"0"}, c.starts()[id])
	} else {
		assert.Contains(t, r.err, "Batch job submission failed: ")
	}
	c.awaitState(ending, "FAILED")
	assert.Equal(t, "RUNNING", c.state(long))
	require.NoError(t, os.WriteFile(filepath.Join(c.work, "go"), nil, 0o644))
	c.awaitEmpty()
	rows := c.accounting()
	assert.Equal(t, []row{{"FAILED", "5:0"}}, rows[ending])
	assert.Equal(t, []row{{"FAILED", "17:0"}}, rows[long])
	assert.Len(t, c.starts()[long], 1)
	c.awaitNode("node1", "idle")
	c.ok("sbatch", "--wait", "-o", "/dev/null", "--mem=10", "--wrap", "true")
}
