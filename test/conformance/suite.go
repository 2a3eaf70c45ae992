package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Result is what became of one case.
type Result struct {
	Case     Case
	Target   string
	Status   string // pass, fail, skip
	Duration time.Duration
}

// lastWord is the number of the last unique word.
var lastWord atomic.Int64

// uniqueWord is a word of eight letters and digits that no other case has, even
// one that begins in the same millisecond.
func uniqueWord() string {
	for {
		last := lastWord.Load()
		next := max(time.Now().UnixMilli(), last+1)
		if lastWord.CompareAndSwap(last, next) {
			return strconv.FormatInt(next, 36)
		}
	}
}

// suite runs cases of one target.
type suite struct {
	target string
	dir    string // everything is made below it

	mu      sync.Mutex
	results []Result
	// alone is held for reading by cases that may run beside others.
	alone sync.RWMutex
}

// users are the accounts that cases submit as; both must exist alike on every
// target.
var users = []string{"alice", "bob"}

func ensureUsers() error {
	for _, name := range users {
		if _, err := user.Lookup(name); err == nil {
			continue
		}
		if out, err := exec.Command("useradd", "-m", "-s", "/bin/bash", name).CombinedOutput(); err != nil {
			return fmt.Errorf("make the user %s: %w: %s", name, err, out)
		}
	}
	return nil
}

// run runs the cases, one cluster for each configuration after the other.
func (s *suite) run(t *testing.T, cases []Case) {
	byConfig := map[string][]Case{}
	var order []string
	for _, c := range cases {
		if byConfig[c.Config] == nil {
			order = append(order, c.Config)
		}
		byConfig[c.Config] = append(byConfig[c.Config], c)
	}
	for _, config := range order {
		t.Run(config, func(t *testing.T) { s.runConfig(t, config, byConfig[config]) })
	}
}

func (s *suite) runConfig(t *testing.T, config string, cases []Case) {
	cluster := &running{}
	if env := os.Getenv("CONFORMANCE_SLURM_CONF_" + config); env != "" && s.target == TargetSlurm {
		// A cluster that is already up, for writing cases.
		cluster.env, cluster.path = []string{"SLURM_CONF=" + env}, systemPath
	} else {
		up, err := start(t.Context(), s.target, config, filepath.Join(s.dir, config))
		if err != nil {
			t.Fatalf("bring up %s with the configuration %s: %v", s.target, config, err)
		}
		cluster = up
		t.Cleanup(func() {
			if err := cluster.stop(); err != nil {
				t.Errorf("take down %s: %v", s.target, err)
			}
		})
	}
	for _, c := range cases {
		s.runCase(t, cluster, c)
	}
}

func (s *suite) runCase(t *testing.T, cluster *running, c Case) {
	t.Run(c.Name, func(t *testing.T) {
		if !c.RunsOn(s.target) {
			s.note(Result{Case: c, Target: s.target, Status: "skip"})
			t.Skip("newer than the oracle: " + c.Since)
		}
		t.Parallel()
		if c.Serial {
			s.alone.Lock()
			defer s.alone.Unlock()
		} else {
			s.alone.RLock()
			defer s.alone.RUnlock()
		}
		begun := time.Now()
		defer func() {
			status := "pass"
			if t.Failed() {
				status = "fail"
			}
			s.note(Result{Case: c, Target: s.target, Status: status, Duration: time.Since(begun)})
		}()
		s.script(t, cluster, c)
	})
}

func (s *suite) note(r Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results = append(s.results, r)
}

// direct lets testscript run in the test that already is there.
type direct struct{ *testing.T }

func (d direct) Parallel()                            {}
func (d direct) Run(_ string, f func(t testscript.T)) { f(d) }
func (d direct) Verbose() bool                        { return testing.Verbose() }

func (s *suite) script(t *testing.T, cluster *running, c Case) {
	root := filepath.Join(s.dir, "work", c.Name)
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	var sess *session
	unique := uniqueWord()
	testscript.RunT(direct{t}, testscript.Params{
		Files:       []string{c.File},
		WorkdirRoot: root,
		Cmds:        testscriptCommands(),
		Setup: func(env *testscript.Env) error {
			// Cases write there as several users.
			if err := os.Chmod(env.WorkDir, 0o1777); err != nil {
				return fmt.Errorf("open the case's folder: %w", err)
			}
			sess = &session{
				c: c, target: s.target, dir: env.WorkDir, path: cluster.path, user: users[0],
				env: map[string]string{}, clusterEnv: cluster.env,
				vars: map[string]string{"W": env.WorkDir, "U": unique},
			}
			env.Values["session"] = sess
			env.Setenv("W", env.WorkDir)
			env.Setenv("U", unique)
			env.Defer(sess.cleanUp)
			return nil
		},
	})
	if sess != nil && sess.unmatched && !t.Failed() {
		t.Errorf("the case ends with output that no match has compared:\n%s", sess.transcript.String())
	}
}
