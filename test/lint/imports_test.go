package lint

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Groups of packages, for the table below. A name stands for the package and
// all below it.
const (
	vocabulary = "wire model hostlist size slurmtime"
	formats    = "batchscript conf pattern multiprog"
	deciding   = "priority fairshare limits placement topology gres backfill preempt"
)

// mayImport says for every package of internal/ which others it may import. The
// longest name that fits counts. Imports point one way: programs, edges,
// controller and store, the pass, the deciding packages, the vocabulary.
var mayImport = map[string]string{
	// The vocabulary and the formats that users write.
	"wire":        "",
	"model":       "wire",
	"hostlist":    "",
	"size":        "",
	"slurmtime":   "",
	"batchscript": "",
	"pattern":     "",
	"multiprog":   "",
	"conf":        vocabulary,
	"version":     "",
	"users":       "",
	"supervisor":  "",
	"startlimit":  "",

	// Deciding: none knows the inside of another; placement asks gres for the
	// devices inside a node that it has chosen.
	"priority":  vocabulary,
	"fairshare": vocabulary,
	"limits":    vocabulary,
	"placement": vocabulary + " gres",
	"topology":  vocabulary,
	"gres":      vocabulary,
	"backfill":  vocabulary,
	"preempt":   vocabulary,
	"sched":     vocabulary + " " + deciding,

	"controller": vocabulary + " sched placement", // placement: the defaults of memory are one rule
	// The simulation drives the reducer with the real pass and a store of its own.
	"controller/simtest": vocabulary + " controller sched " + deciding,
	"store":              vocabulary,

	// Who is it, and what may they do.
	"auth": vocabulary + " users",

	// The edges.
	"api":     vocabulary + " " + formats + " auth users controller sched version",
	"command": vocabulary + " " + formats + " auth users version startlimit",
	"node":    vocabulary + " " + formats + " auth users version supervisor startlimit",
	"rest":    vocabulary + " " + formats + " auth users version command",
	"metrics": vocabulary,
	"web":     vocabulary,

	// What the programs are wired of, where that is more than a main.go.
	"ctld":       vocabulary + " " + formats + " auth users version supervisor api controller sched store",
	"devcluster": vocabulary + " " + formats + " auth version command/client node/daemon node/hollow",
	"sim":        vocabulary + " " + formats + " sched controller " + deciding,
}

// rule finds the entry of the table for a package of internal/.
func rule(pkg string) (name, allowed string, ok bool) {
	for name := pkg; ; {
		if allowed, ok := mayImport[name]; ok {
			return name, allowed, true
		}
		cut := strings.LastIndex(name, "/")
		if cut < 0 {
			return "", "", false
		}
		name = name[:cut]
	}
}

func within(pkg, name string) bool { return pkg == name || strings.HasPrefix(pkg, name+"/") }

// TestImportDirections holds every import of internal/ against the table.
func TestImportDirections(t *testing.T) {
	for _, f := range sources(t) {
		pkg, ok := strings.CutPrefix(f.dir, "internal/")
		if !ok || f.test {
			continue
		}
		name, allowed, ok := rule(pkg)
		if !assert.True(t, ok, "%s: internal/%s has no place in the table of test/lint/imports_test.go", f.path, pkg) {
			continue
		}
		for _, i := range f.imports() {
			other, ours := strings.CutPrefix(i, "muster/internal/")
			if ours {
				assert.True(t, within(other, name) || anyWithin(other, allowed), "%s imports %s: internal/%s may import only: %s",
					f.path, i, name, allowed)
			} else {
				assert.False(t, i == "muster" || strings.HasPrefix(i, "muster/"), "%s imports %s: only tests and programs do", f.path, i)
			}
		}
	}
}

func anyWithin(pkg, names string) bool {
	for _, name := range strings.Fields(names) {
		if within(pkg, name) {
			return true
		}
	}
	return false
}

// TestOneKnowsSQL: one package knows it, so that the schema has one reader.
func TestOneKnowsSQL(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || within(f.dir, "internal/store") || within(f.dir, "test") {
			continue
		}
		for _, i := range f.imports() {
			assert.False(t, within(i, "github.com/jackc") || within(i, "database/sql"), "%s imports %s: only internal/store knows SQL", f.path, i)
		}
	}
}
