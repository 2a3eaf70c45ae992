package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// daemons are the programs that stay; all others are commands, which must start
// in milliseconds.
var daemons = []string{"ctld", "noded", "sackd", "gpuprobe"}

// tools are neither: nobody waits for their start.
var tools = []string{"devcluster", "ssim"}

// notInCommands are what a command must not link.
var notInCommands = []string{
	"github.com/jackc", "github.com/opencontainers/cgroups", "github.com/NVIDIA/go-nvml", "github.com/coreos/go-systemd",
	"github.com/godbus/dbus", "github.com/prometheus", "net/http", "database/sql",
	"muster/internal/store", "muster/internal/controller", "muster/internal/sched", "muster/internal/node", "muster/internal/api",
	"muster/internal/ctld",
}

// links lists all packages in a program.
func links(t *testing.T, program string) []string {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "./cmd/"+program)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	return strings.Fields(string(out))
}

func TestWhatCommandsLink(t *testing.T) {
	mains, err := filepath.Glob(filepath.Join(root, "cmd", "*", "main.go"))
	require.NoError(t, err)
	require.NotEmpty(t, mains)
	for _, m := range mains {
		name := filepath.Base(filepath.Dir(m))
		if name == "stepd" || slices.Contains(daemons, name) || slices.Contains(tools, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, pkg := range links(t, name) {
				assert.False(t, anyWithin(pkg, strings.Join(notInCommands, " ")), "%s links %s", name, pkg)
			}
		})
	}
}

// TestWhatStepdLinks: one is started for each step, so it is small.
func TestWhatStepdLinks(t *testing.T) {
	for _, pkg := range links(t, "stepd") {
		first, _, _ := strings.Cut(pkg, "/")
		std := !strings.Contains(first, ".")
		assert.True(t, std || within(pkg, "golang.org/x/sys"), "stepd links %s: the standard library and x/sys are enough", pkg)
	}
}
