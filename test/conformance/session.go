package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	commandLimit = 60 * time.Second
	awaitLimit   = 45 * time.Second
	patientLimit = 150 * time.Second // in cases that are marked slow
)

// session is the state of one running case.
type session struct {
	c          Case
	target     string
	dir        string
	path       string
	user       string
	env        map[string]string // set by the case
	clusterEnv []string
	vars       map[string]string
	transcript strings.Builder
	unmatched  bool
	jobs       []string
	last       []byte // stdout of the last command
}

var submitted = regexp.MustCompile(`(?m)^Submitted batch job ([0-9]+)`)

// run executes a command as the current user in dir.
func (s *session) run(dir string, argv []string) (stdout, stderr []byte, exit int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	env, cred, err := s.identity()
	if err != nil {
		return nil, nil, 0, err
	}
	path, err := lookPath(argv[0], s.path)
	if err != nil {
		return nil, nil, 0, err
	}
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Dir, cmd.Env = dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred, Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, nil, 0, fmt.Errorf("%s did not end within %s; it said: %s%s", strings.Join(argv, " "), commandLimit, out.Bytes(), errOut.Bytes())
	case err == nil:
	case errors.As(err, &failed) && failed.Exited():
		exit = failed.ExitCode()
	case errors.As(err, &failed):
		exit = 128 + int(failed.Sys().(syscall.WaitStatus).Signal())
	default:
		return nil, nil, 0, fmt.Errorf("run %s: %w", argv[0], err)
	}
	for _, m := range submitted.FindAllSubmatch(out.Bytes(), -1) {
		s.jobs = append(s.jobs, string(m[1]))
	}
	s.last = out.Bytes()
	return out.Bytes(), errOut.Bytes(), exit, nil
}

// identity makes the environment and the credential of the current user: that
// of a fresh login, so that what a job inherits is the same everywhere.
func (s *session) identity() ([]string, *syscall.Credential, error) {
	u, err := user.Lookup(s.user)
	if err != nil {
		return nil, nil, fmt.Errorf("user of the case: %w", err)
	}
	env := append([]string{
		"PATH=" + s.path, "HOME=" + u.HomeDir, "USER=" + u.Username, "LOGNAME=" + u.Username,
		"SHELL=/bin/bash", "LANG=C.UTF-8", "TZ=UTC",
	}, s.clusterEnv...)
	names := make([]string, 0, len(s.env))
	for name := range s.env {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		env = append(env, name+"="+s.env[name])
	}
	if os.Geteuid() != 0 {
		return env, nil, nil
	}
	cred, err := credential(u)
	return env, cred, err
}

func credential(u *user.User) (*syscall.Credential, error) {
	number := func(text string) uint32 {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return 65534
		}
		return uint32(n)
	}
	groups, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("groups of %s: %w", u.Username, err)
	}
	cred := &syscall.Credential{Uid: number(u.Uid), Gid: number(u.Gid)}
	for _, g := range groups {
		cred.Groups = append(cred.Groups, number(g))
	}
	return cred, nil
}

func lookPath(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for dir := range strings.SplitSeq(path, ":") {
		full := dir + "/" + name
		if info, err := os.Stat(full); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return full, nil
		}
	}
	return "", fmt.Errorf("%s: not found in %s", name, path)
}

// add runs a command and appends it to the transcript.
func (s *session) add(dir, shown string, argv []string) error {
	stdout, stderr, exit, err := s.run(dir, argv)
	if err != nil {
		return err
	}
	if s.transcript.Len() > 0 {
		s.transcript.WriteString("\n")
	}
	s.transcript.WriteString(entry(shown, stdout, stderr, exit))
	s.unmatched = true
	return nil
}

// await polls every 50 ms until check says true or the limit has passed.
func (s *session) await(what string, check func() (bool, string, error)) error {
	limit := awaitLimit
	if s.c.Slow {
		limit = patientLimit
	}
	deadline := time.Now().Add(limit)
	for {
		ok, seen, err := check()
		if err != nil || ok {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s for %s; last seen: %s", limit, what, seen)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// cleanUp cancels what the case has left running; one that had the cluster to
// itself may also have failed with nodes drained.
func (s *session) cleanUp() {
	s.user = "root"
	s.env = nil
	if s.c.Serial {
		_, _, _, _ = s.run("/", []string{"scontrol", "update", "NodeName=ALL", "State=RESUME"})
	}
	if len(s.jobs) == 0 {
		return
	}
	_, _, _, _ = s.run("/", append([]string{"scancel"}, s.jobs...))
}
