// Package environ decides what of a caller's environment goes along with a job
// or a step (--export, --export-file). Variables are bytes: exported functions,
// newlines and any encoding pass unchanged.
package environ

import (
	"bytes"
	"strings"
)

// Export returns what of the caller's environment the job gets, and whether the node is to add that of a login.
//
// Without --export, and with ALL, that is everything. A list gives the named
// ones and sets others; every SLURM_ variable goes along all the same. NONE
// gives only those. Lists and NONE ask for a login's beside, NIL does not.
//
// The variables of a file (--export-file) take the place of the caller's: without
// --export, and with ALL, the job gets all of them, with a list those it names.
// With NONE it gets none of them.
func Export(environ []string, export string, given bool, file []byte) (env *Variables, login bool) {
	vars := New()
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
			login = true
			words = append(words, word)
		}
	}
	if file != nil {
		environ = variables(file)
	}
	named := make(map[string]bool)
	for _, word := range words {
		name, _, _ := strings.Cut(word, "=")
		named[name] = true
	}
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if all || named[name] || strings.HasPrefix(name, "SLURM_") {
			vars.Set(variable)
		}
	}
	for _, word := range words {
		if strings.Contains(word, "=") {
			vars.Set(word)
		}
	}
	return vars, login
}

// variables cuts the text of a file apart; what is no assignment is left out.
func variables(file []byte) []string {
	var out []string
	for variable := range bytes.SplitSeq(file, []byte{0}) {
		if bytes.IndexByte(variable, '=') > 0 {
			out = append(out, string(variable))
		}
	}
	return out
}

// Variables is an environment. It keeps the order in which they came; a later value replaces.
type Variables struct {
	at   map[string]int
	list []string
}

// New returns an empty environment.
func New() *Variables { return &Variables{at: make(map[string]int)} }

// Set enters NAME=value.
func (v *Variables) Set(variable string) {
	name, _, _ := strings.Cut(variable, "=")
	if i, ok := v.at[name]; ok {
		v.list[i] = variable
		return
	}
	v.at[name] = len(v.list)
	v.list = append(v.list, variable)
}

// Bytes returns them, each ended by NUL.
func (v *Variables) Bytes() []byte {
	var out bytes.Buffer
	for _, variable := range v.list {
		out.WriteString(variable)
		out.WriteByte(0)
	}
	return out.Bytes()
}

// List returns them in order.
func (v *Variables) List() []string { return v.list }
