package sbatch

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// environment returns what of the caller's environment the job gets, each
// variable ended by NUL, and whether the node is to add that of a login.
//
// Without --export, and with ALL, that is everything. A list gives the named
// ones and sets others; every SLURM_ variable goes along all the same. NONE
// gives only those and asks for a login's, NIL only those.
func environment(environ []string, export string, given bool, file []byte) (env []byte, login bool) {
	vars := newVariables()
	all := !given
	var words []string
	for word := range strings.SplitSeq(export, ",") {
		switch {
		case !given:
		case strings.EqualFold(word, "ALL"):
			all = true
		case strings.EqualFold(word, "NONE"):
			login = true
		case strings.EqualFold(word, "NIL"):
		default:
			words = append(words, word)
		}
	}
	named := make(map[string]bool)
	for _, word := range words {
		name, _, _ := strings.Cut(word, "=")
		named[name] = true
	}
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if all || named[name] || strings.HasPrefix(name, "SLURM_") {
			vars.set(variable)
		}
	}
	for _, word := range words {
		if strings.Contains(word, "=") {
			vars.set(word)
		}
	}
	for variable := range bytes.SplitSeq(file, []byte{0}) {
		if bytes.IndexByte(variable, '=') > 0 {
			vars.set(string(variable))
		}
	}
	return vars.bytes(), login
}

// variables keeps the order in which they came; a later value replaces.
type variables struct {
	at   map[string]int
	list []string
}

func newVariables() *variables { return &variables{at: make(map[string]int)} }

func (v *variables) set(variable string) {
	name, _, _ := strings.Cut(variable, "=")
	if i, ok := v.at[name]; ok {
		v.list[i] = variable
		return
	}
	v.at[name] = len(v.list)
	v.list = append(v.list, variable)
}

func (v *variables) bytes() []byte {
	var out bytes.Buffer
	for _, variable := range v.list {
		out.WriteString(variable)
		out.WriteByte(0)
	}
	return out.Bytes()
}

const maxEnvironmentFile = 16 << 20

// readExportFile reads the file of --export-file, or the open descriptor that
// its value numbers.
func readExportFile(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	var file *os.File
	if fd, err := strconv.ParseUint(name, 10, 31); err == nil {
		file = os.NewFile(uintptr(fd), "descriptor "+name)
	} else if file, err = os.Open(name); err != nil {
		return nil, fmt.Errorf("Could not open user environment file %s", name)
	}
	if file == nil {
		return nil, fmt.Errorf("Could not open user environment file %s", name)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxEnvironmentFile))
	if err != nil {
		return nil, fmt.Errorf("Could not read user environment file %s: %w", name, err)
	}
	return text, nil
}
