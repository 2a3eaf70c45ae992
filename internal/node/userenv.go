package node

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// userEnvTimeout is how long a login shell may take for --get-user-env.
const userEnvTimeout = 20 * time.Second

// userEnv adds what a login shell of the user has in its environment; what the
// job's own environment says wins.
func (r *run) userEnv(env []string) ([]string, error) {
	name := r.order.Spec.UserName
	if name == "" {
		return nil, fmt.Errorf("--get-user-env needs a user name, and uid %d has none", r.order.Spec.Uid)
	}
	ctx, cancel := context.WithTimeout(r.node.ctx, userEnvTimeout)
	defer cancel()
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
	have := make(map[string]bool, len(env))
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		have[name] = true
	}
	for _, e := range strings.Split(text, "\x00") {
		if name, _, ok := strings.Cut(e, "="); ok && !have[name] {
			env = append(env, e)
		}
	}
	return env, nil
}
