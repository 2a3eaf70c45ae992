package node

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"muster/internal/users"
)

// userEnvTimeout is how long a login shell may take for --get-user-env.
const userEnvTimeout = 20 * time.Second

// userEnv adds what a login shell of the user has in its environment; what the
// job's own environment says wins. A user whose shell is no shell (nologin), or
// hangs, gets what the users' database says.
func (r *run) userEnv(env []string) ([]string, error) {
	name := r.order.Spec.UserName
	if name == "" {
		return nil, fmt.Errorf("--get-user-env needs a user name, and uid %d has none", r.order.Spec.Uid)
	}
	ctx, cancel := context.WithTimeout(r.node.ctx, userEnvTimeout)
	defer cancel()
	login, err := r.loginEnv(ctx, name)
	if err != nil {
		r.node.log.Warn("no login environment", "job", r.order.JobId, "err", err)
		if login, err = databaseEnv(ctx, name); err != nil {
			return nil, err
		}
	}
	have := make(map[string]bool, len(env))
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		have[name] = true
	}
	for _, e := range login {
		if name, _, ok := strings.Cut(e, "="); ok && !have[name] {
			env = append(env, e)
		}
	}
	return env, nil
}

// databaseEnv is what a login would begin with.
func databaseEnv(ctx context.Context, name string) ([]string, error) {
	u, err := users.NewResolver(users.Options{}).Lookup(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("getting the environment of user %s: %w", name, err)
	}
	return []string{"USER=" + name, "LOGNAME=" + name, "HOME=" + u.Home, "SHELL=" + u.Shell, "PATH=/usr/local/bin:/usr/bin:/bin"}, nil
}

// loginEnv asks a login shell of the user for its environment.
func (r *run) loginEnv(ctx context.Context, name string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "su", "-", "--", name)
	if !r.node.cfg.Privileged {
		cmd = exec.CommandContext(ctx, "/bin/sh", "-l")
	}
	const begin = "MUSTER-ENVIRONMENT-FOLLOWS"
	cmd.Stdin = strings.NewReader("printf '\\0" + begin + "\\0'; exec env -0\n")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("getting the environment of user %s: %w", name, err)
	}
	_, text, ok := strings.Cut(string(out), begin+"\x00")
	if !ok {
		return nil, fmt.Errorf("the login shell of user %s does not run commands from its standard input", name)
	}
	return strings.Split(text, "\x00"), nil
}
