package conformance

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

type command = func(s *session, ts *testscript.TestScript, neg bool, args []string)

// commands are the words of the cases beyond testscript's own (see doc.go).
var commands = map[string]command{
	"submit": cmdSubmit, "run": cmdRun, "sh": cmdShell, "quietly": cmdQuietly, "as": cmdAs,
	"setenv": cmdSetenv, "unsetenv": cmdUnsetenv, "save": cmdSave, "await": cmdAwait,
	"awaitacct": cmdAwaitAcct, "awaitfile": cmdAwaitFile, "awaitreason": cmdAwaitReason,
	"awaitidle": cmdAwaitIdle, "match": cmdMatch,
}

func sessionOf(ts *testscript.TestScript) *session { return ts.Value("session").(*session) }

func testscriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	out := map[string]func(*testscript.TestScript, bool, []string){}
	for name, run := range commands {
		out[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if neg {
				ts.Fatalf("%s cannot be negated", name)
			}
			run(sessionOf(ts), ts, neg, args)
		}
	}
	return out
}

// expandArgs replaces {{VAR}} in arguments.
func expandArgs(s *session, ts *testscript.TestScript, args []string, least int) []string {
	if len(args) < least {
		ts.Fatalf("%d arguments are too few", len(args))
	}
	out := make([]string, len(args))
	for i, a := range args {
		text, err := expand(a, s.vars)
		ts.Check(err)
		out[i] = text
	}
	return out
}

func keep(s *session, ts *testscript.TestScript, name, value string) {
	if !variable.MatchString(name) {
		ts.Fatalf("%s: a variable is capitals and digits", name)
	}
	s.vars[name] = value
	ts.Setenv(name, value)
}

var onlyNumber = regexp.MustCompile(`^([0-9]+)\n$`)

func cmdSubmit(s *session, ts *testscript.TestScript, _ bool, args []string) {
	argv := expandArgs(s, ts, args, 2)
	stdout, stderr, exit, err := s.run(ts.MkAbs("."), append([]string{"sbatch", "--parsable"}, argv[1:]...))
	ts.Check(err)
	m := onlyNumber.FindSubmatch(stdout)
	if m == nil || exit != 0 || len(stderr) > 0 {
		ts.Fatalf("sbatch --parsable %s: %s", strings.Join(argv[1:], " "), entry("", stdout, stderr, exit))
	}
	s.jobs = append(s.jobs, string(m[1]))
	keep(s, ts, args[0], string(m[1]))
}

func cmdRun(s *session, ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(".")
	if len(args) > 2 && args[0] == "-c" {
		dir, args = ts.MkAbs(args[1]), args[2:]
	}
	argv := expandArgs(s, ts, args, 1)
	ts.Check(s.add(dir, shellWords(argv), argv))
}

// shellWords shows arguments as one would type them.
func shellWords(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n|&;<>*?$`\"\\()#") {
			words[i] = "'" + a + "'"
		}
	}
	return strings.Join(words, " ")
}

func cmdShell(s *session, ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("sh wants one line")
	}
	line := expandArgs(s, ts, args, 1)[0]
	ts.Check(s.add(ts.MkAbs("."), line, []string{"bash", "-c", line}))
}

func cmdQuietly(s *session, ts *testscript.TestScript, _ bool, args []string) {
	argv := expandArgs(s, ts, args, 1)
	stdout, stderr, exit, err := s.run(ts.MkAbs("."), argv)
	ts.Check(err)
	if exit != 0 || len(stdout)+len(stderr) > 0 {
		ts.Fatalf("not quiet: %s", entry(shellWords(argv), stdout, stderr, exit))
	}
}

func cmdAs(s *session, ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("as wants a user")
	}
	s.user = args[0]
}

func cmdSetenv(s *session, ts *testscript.TestScript, _ bool, args []string) {
	for _, a := range expandArgs(s, ts, args, 1) {
		name, value, ok := strings.Cut(a, "=")
		if !ok {
			ts.Fatalf("setenv wants NAME=VALUE")
		}
		s.env[name] = value
	}
}

func cmdUnsetenv(s *session, _ *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		delete(s.env, name)
	}
}

var lastNumber = regexp.MustCompile(`([0-9]+)[^0-9]*$`)

func cmdSave(s *session, ts *testscript.TestScript, _ bool, args []string) {
	m := lastNumber.FindSubmatch(s.last)
	if len(args) != 1 || m == nil {
		ts.Fatalf("save wants a name, and a number in the last output (%q)", s.last)
	}
	s.jobs = append(s.jobs, string(m[1]))
	keep(s, ts, args[0], string(m[1]))
}

var endStates = []string{
	"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT",
}

var jobState = regexp.MustCompile(`(?m)(?:^|\s)JobState=([A-Z_]+)`)

func cmdAwait(s *session, ts *testscript.TestScript, _ bool, args []string) {
	argv := expandArgs(s, ts, args, 2)
	want := argv[1:]
	if want[0] == "END" {
		want = endStates
	}
	ts.Check(s.await("job "+argv[0]+" to be "+strings.Join(want, " or "), func() (bool, string, error) {
		stdout, stderr, _, err := s.run("/", []string{"scontrol", "show", "job", "-o", argv[0]})
		if err != nil {
			return false, "", err
		}
		found := jobState.FindAllSubmatch(stdout, -1)
		for _, m := range found {
			if !slices.Contains(want, string(m[1])) {
				return false, string(stdout), nil
			}
		}
		return len(found) > 0, string(stdout) + string(stderr), nil
	}))
}

func cmdAwaitAcct(s *session, ts *testscript.TestScript, _ bool, args []string) {
	argv := expandArgs(s, ts, args, 2)
	ts.Check(s.await("sacct to show "+argv[0]+" as "+argv[1], func() (bool, string, error) {
		stdout, stderr, _, err := s.run("/", []string{"sacct", "-X", "-n", "-P", "-a", "-o", "state,jobname", "-j", argv[0]})
		// Slurm's database may know of a short job's end before it knows its
		// name: such a record is not complete yet.
		state, name, _ := strings.Cut(strings.TrimSpace(string(stdout)), "|")
		state, _, _ = strings.Cut(state, " ")
		return state == argv[1] && name != "allocation", string(stdout) + string(stderr), err
	}))
}

func cmdAwaitReason(s *session, ts *testscript.TestScript, _ bool, args []string) {
	argv := expandArgs(s, ts, args, 2)
	ts.Check(s.await("job "+argv[0]+" to have the reason "+strings.Join(argv[1:], " or "), func() (bool, string, error) {
		stdout, stderr, _, err := s.run("/", []string{"squeue", "-h", "-o", "%r", "-j", argv[0]})
		lines := splitLines(string(stdout))
		other := slices.ContainsFunc(lines, func(l string) bool { return !slices.Contains(argv[1:], l) })
		return len(lines) > 0 && !other, string(stdout) + string(stderr), err
	}))
}

func cmdAwaitIdle(s *session, ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(s.await("idle nodes", func() (bool, string, error) {
		stdout, stderr, _, err := s.run("/", []string{"sinfo", "-h", "-N", "-o", "%T"})
		lines := splitLines(string(stdout))
		busy := slices.ContainsFunc(lines, func(l string) bool { return l != "idle" })
		return len(lines) > 0 && !busy, string(stdout) + string(stderr), err
	}))
}

func cmdAwaitFile(s *session, ts *testscript.TestScript, _ bool, args []string) {
	argv := expandArgs(s, ts, args, 1)
	text := strings.Join(argv[1:], " ")
	ts.Check(s.await("file "+argv[0]+" with "+text, func() (bool, string, error) {
		data, err := os.ReadFile(ts.MkAbs(argv[0]))
		if err != nil {
			return false, err.Error(), nil
		}
		return strings.Contains(string(data), text), string(data), nil
	}))
}

func cmdMatch(s *session, ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("match wants a file")
	}
	got := s.transcript.String()
	s.transcript.Reset()
	s.unmatched = false
	name := s.c.wantFile(args[0], s.target)
	want := ""
	if s.c.files[name] {
		text, err := expand(ts.ReadFile(name), s.vars)
		ts.Check(err)
		want = text
	}
	diff, err := compare(want, got)
	ts.Check(err)
	if diff == "" {
		return
	}
	if os.Getenv("CONFORMANCE_UPDATE") != "" {
		ts.Check(updateCase(s.c.File, name, autoMask(got, s.vars, s.c.ExactNodes)))
		return
	}
	ts.Fatalf("the transcript is not %s:\n%s", name, diff)
}
