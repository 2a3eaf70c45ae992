package lint

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Same input, same decision: these packages get time and randomness as
// arguments and have no I/O.
var pure = strings.Fields("wire model hostlist size batchscript sched controller " + deciding)

// notPure are the files of a pure package that drive it for real.
var notPure = map[string]string{
	"internal/controller/loop*.go":    "the goroutine that owns the reducer: it has the clock's timers and the log",
	"internal/controller/commit.go":   "the goroutine that commits: it pauses between tries",
	"internal/controller/passrun.go":  "the goroutine that plans: it measures passes",
	"internal/controller/watchdog.go": "it watches the others by the clock and logs",
	"internal/wire/gen/*.go":          "the generator of the package's files",
}

// forbidden imports; a name stands for all below it, too.
var forbiddenImports = []string{
	"math/rand", "crypto/rand", "log", "net", "os", "syscall", "database/sql", "github.com/jackc", "golang.org/x/sys",
}

// forbiddenUses are those that read or wait for the clock; time.Duration and
// the like are welcome.
var forbiddenUses = []string{
	"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc", "time.Tick", "time.NewTimer", "time.NewTicker",
	"time.Local",
}

func TestPurePackages(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || f.generated || !anyWithin(strings.TrimPrefix(f.dir, "internal/"), strings.Join(pure, " ")) || excepted(f.path) {
			continue
		}
		for _, i := range f.imports() {
			for _, bad := range forbiddenImports {
				assert.False(t, within(i, bad), "%s imports %s: %s is pure", f.path, i, f.dir)
			}
		}
		f.uses(func(selector string, line int) {
			assert.NotContains(t, forbiddenUses, selector, "%s:%d: %s is pure: time is an argument", f.path, line, f.dir)
		})
	}
}

func excepted(path string) bool {
	for pattern := range notPure {
		if ok, _ := filepath.Match(pattern, path); ok {
			return true
		}
	}
	return false
}

// TestNoSleepInTests: a test awaits what it waits for. Faults strike at random
// moments, which no event tells.
func TestNoSleepInTests(t *testing.T) {
	for _, f := range sources(t) {
		if !f.test || f.dir == "test/faults" {
			continue
		}
		f.uses(func(selector string, line int) {
			assert.NotEqual(t, "time.Sleep", selector, "%s:%d: wait for the event, or use require.Eventually", f.path, line)
		})
	}
}
