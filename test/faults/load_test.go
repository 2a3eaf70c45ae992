package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// load submits jobs until it is stopped and knows what must become of them.
type load struct {
	c    *cluster
	stop context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex
	codes   map[string]int // acknowledged job → exit code of its script
	refused []string       // what sbatch said when it was not acknowledged
	twice   []string       // job ids that were given more than once
}

// noteScript appends the job's id and restart count to a file, in one write.
const noteScript = `#!/bin/sh
echo "$SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0}" >>starts
sleep 0.$(( SLURM_JOB_ID % 7 ))
exit `

// startLoad starts submitters, each one sbatch after the other with a pause.
func (c *cluster) startLoad(submitters int, pause time.Duration, args ...string) *load {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{c: c, stop: cancel, codes: map[string]int{}}
	c.t.Cleanup(func() { cancel(); l.done.Wait() })
	for code := range 4 {
		script := filepath.Join(c.work, fmt.Sprintf("exit%d.sh", code))
		require.NoError(c.t, os.WriteFile(script, []byte(noteScript+strconv.Itoa(code)+"\n"), 0o755))
	}
	for i := range submitters {
		l.done.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				l.submit(n%4, args)
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
		})
	}
	return l
}

func (l *load) submit(code int, args []string) {
	words := append([]string{"sbatch", "--parsable", "-o", "/dev/null", "--mem=1"}, args...)
	r := l.c.run(append(words, fmt.Sprintf("exit%d.sh", code))...)
	id := strings.TrimSpace(r.out)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch _, err := strconv.Atoi(id); {
	case r.code != 0 || err != nil:
		l.refused = append(l.refused, r.err)
	default:
		if _, ok := l.codes[id]; ok {
			l.twice = append(l.twice, id)
		}
		l.codes[id] = code
	}
}

// end stops submitting and returns how many jobs were acknowledged.
func (l *load) end() int {
	l.stop()
	l.done.Wait()
	return len(l.codes)
}

// starts counts the lines that scripts have written: job id → restart counts.
func (c *cluster) starts() map[string][]string {
	c.t.Helper()
	out := map[string][]string{}
	text, err := os.ReadFile(filepath.Join(c.work, "starts"))
	if os.IsNotExist(err) {
		return out
	}
	require.NoError(c.t, err)
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		require.Len(c.t, words, 2, "a line of the jobs: %q", line)
		out[words[0]] = append(out[words[0]], words[1])
	}
	return out
}

// row is what sacct says of a job's attempt.
type row struct{ state, exit string }

// accounting reads every job's rows.
func (c *cluster) accounting() map[string][]row {
	c.t.Helper()
	out := map[string][]row{}
	text := c.ok("sacct", "-X", "-a", "-n", "-P", "-D", "-S", "now-1hour", "-o", "JobIDRaw,State,ExitCode")
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), "|")
		require.Len(c.t, f, 3, "a line of sacct: %q", line)
		out[f[0]] = append(out[f[0]], row{f[1], f[2]})
	}
	return out
}

// check holds the counts against what was acknowledged: no job lost, none run
// twice, each with its exit code in the accounting.
func (l *load) check() {
	t := l.c.t
	t.Helper()
	assert.Empty(t, l.twice, "job ids given twice")
	starts, rows := l.c.starts(), l.c.accounting()
	for id, code := range l.codes {
		assert.Equal(t, []string{"0"}, starts[id], "starts of job %s", id)
		want := row{"COMPLETED", "0:0"}
		if code != 0 {
			want = row{"FAILED", fmt.Sprintf("%d:0", code)}
		}
		assert.Equal(t, []row{want}, rows[id], "accounting of job %s", id)
	}
	for id, s := range starts {
		assert.Len(t, s, 1, "job %s was started %d times", id, len(s))
		assert.Contains(t, rows, id, "job %s ran and is in no record", id)
	}
}
