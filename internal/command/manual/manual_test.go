package manual

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func page(t *testing.T, name string) *Page {
	t.Helper()
	for _, p := range Pages() {
		if p.Name == name {
			return &p
		}
	}
	t.Fatalf("no page of %s", name)
	return nil
}

func TestEveryCommandHasItsPage(t *testing.T) {
	programs, err := filepath.Glob("../../../cmd/*")
	require.NoError(t, err)
	require.NotEmpty(t, programs)
	for _, dir := range programs {
		name := filepath.Base(dir)
		if name == "devcluster" {
			continue // a tool of the developers
		}
		p := page(t, name)
		text := p.Roff()
		assert.True(t, strings.HasPrefix(text, ".TH "+strings.ToUpper(name)+" "+section(name)+" "), name)
		assert.Contains(t, text, ".SH NAME\n"+name+` \- `, name)
		for _, o := range p.Options {
			assert.NotEmpty(t, o.Help, "%s --%s", name, o.Long)
			assert.Contains(t, text, ".TP\n"+o.roff()+"\n", "%s --%s", name, o.Long)
		}
		for _, line := range strings.Split(text, "\n") {
			assert.False(t, strings.HasPrefix(line, "'"), "%s: a text line that troff takes for a request: %s", name, line)
		}
	}
}

func TestRefusedOptionsAreNotOffered(t *testing.T) {
	for _, o := range page(t, "sbatch").Options {
		assert.NotEqual(t, "container", o.Long)
		assert.NotEqual(t, "nosuch", o.Long)
	}
	words := page(t, "scontrol").Words
	assert.Contains(t, words, "show")
	assert.NotContains(t, words, "reboot")
}

// complete asks bash what may follow a command line.
func complete(t *testing.T, name string, words ...string) []string {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, "completion")
	require.NoError(t, os.WriteFile(script, []byte(page(t, name).Bash()), 0o600))
	for program, answer := range map[string]string{
		"sinfo": `[ "$3" = %R ] && echo debug && echo long || echo node1`, "squeue": "echo 12; echo 13",
		"sacctmgr": "echo normal",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\n"+answer+"\n"), 0o755))
	}
	line := `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _muster_` + name + `; printf '%s\n' "${COMPREPLY[@]}"`
	cmd := exec.Command("bash", append([]string{"-c", line, "bash", script, name}, words...)...)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return strings.Fields(string(out))
}

func TestBash(t *testing.T) {
	assert.Equal(t, []string{"--partition="}, complete(t, "sbatch", "--part"))
	assert.Equal(t, []string{"debug", "long"}, complete(t, "sbatch", "-p", ""))
	assert.Equal(t, []string{"long"}, complete(t, "squeue", "--partition", "=", "lo"))
	assert.Equal(t, []string{"debug,long"}, complete(t, "squeue", "-p", "debug,l"))
	assert.Equal(t, []string{"12", "13"}, complete(t, "scancel", ""))
	assert.Equal(t, []string{"PENDING", "PREEMPTED"}, complete(t, "squeue", "-t", "P"))
	assert.Equal(t, []string{"normal"}, complete(t, "sbatch", "--qos", "=", "n"))
	assert.Contains(t, complete(t, "scontrol", "sho"), "show")
	assert.Equal(t, []string{"--json"}, complete(t, "sacct", "--js"))
}

func TestOtherShells(t *testing.T) {
	p := page(t, "squeue")
	assert.Contains(t, p.Zsh(), "#compdef squeue\n")
	assert.Contains(t, p.Zsh(), `'*--partition=[only jobs in these partitions]:`)
	assert.Contains(t, p.Fish(), "complete -c squeue -s p -l partition -r -f -a '(sinfo -h -o %R 2>/dev/null)' -d 'only jobs in these partitions'\n")
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, Write(dir))
	for _, name := range []string{"man/man1/sbatch.1", "man/man8/ctld.8", "bash-completion/completions/squeue", "zsh/site-functions/_sinfo",
		"fish/vendor_completions.d/scontrol.fish"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.NotEmpty(t, text)
	}
	assert.Error(t, Write("/dev/null/x"))
}
