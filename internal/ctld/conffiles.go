package ctld

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"muster/internal/auth/pki"
	"muster/internal/conf"
	"muster/internal/wire"
)

// confFiles are the files that configless hosts get. None of them is secret.
type confFiles struct {
	hash string
	list []*wire.ConfFile
}

// readConfFiles takes slurm.conf and all that it names in its own folder:
// included files, gres.conf, cgroup.conf, and the hooks of nodes.
func readConfFiles(c *conf.Config) confFiles {
	var f confFiles
	sum := sha256.New()
	seen := map[string]bool{}
	add := func(path string, executable bool) {
		name := filepath.Base(path)
		if path == c.Path {
			name = "slurm.conf" // whatever it is called here
		}
		if filepath.Dir(path) != filepath.Clean(c.Dir()) || seen[name] {
			return // a file elsewhere is each host's own
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return // it need not exist
		}
		seen[name] = true
		f.list = append(f.list, &wire.ConfFile{Name: name, Content: text, Executable: executable})
		fmt.Fprintf(sum, "%q %d %t\n", name, len(text), executable)
		sum.Write(text)
	}
	for _, path := range c.Files {
		add(path, false)
	}
	for _, name := range []string{"gres.conf", "cgroup.conf", "topology.conf", pki.PublicFile} {
		add(filepath.Join(c.Dir(), name), false)
	}
	for _, hooks := range [][]string{c.Prolog, c.Epilog, {c.TaskProlog}, {c.TaskEpilog}} {
		paths, err := conf.ExpandPrograms(c.Dir(), hooks)
		if err != nil {
			continue // the node that runs it says so
		}
		for _, path := range paths {
			add(path, true)
		}
	}
	f.hash = hex.EncodeToString(sum.Sum(nil))[:32]
	return f
}
