// Package schematest checks that an answer has the layout of the data_parser: each
// field is there, has its type, and none is too many.
//
// The layout, in v0.0.45.txt, is names and types alone.
package schematest

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed v0.0.45.txt
var text string

// field is a type: a name of one, or the fields of an object.
type field struct {
	of     string
	fields map[string]*field
}

var schemas = sync.OnceValue(func() map[string]*field {
	all := make(map[string]*field)
	var last *field
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		name, of, alias := strings.Cut(line, " = ")
		switch {
		case strings.HasPrefix(line, "#"):
		case alias:
			all[name] = &field{of: of}
		case line[0] != '\t':
			last = &field{fields: make(map[string]*field)}
			all[line] = last
		default:
			path, of, _ := strings.Cut(line[1:], " ")
			last.add(strings.Split(path, "."), of)
		}
	}
	return all
})

func (f *field) add(path []string, of string) {
	next := f.fields[path[0]]
	if next == nil {
		next = &field{}
		f.fields[path[0]] = next
	}
	if len(path) == 1 {
		next.of = of
		return
	}
	if next.fields == nil {
		next.fields = make(map[string]*field)
	}
	next.add(path[1:], of)
}

// maybeNull may be null instead of an object: a job that holds nothing has no
// resources, and a Slurm client expects this.
var maybeNull = []string{"job_res"}

// Check fails the test unless data is one value of the schema. It returns it,
// decoded.
func Check(t testing.TB, schema string, data []byte) map[string]any {
	t.Helper()
	value, err := decode(data)
	require.NoError(t, err, "%s", data)
	s := schemas()[schema]
	require.NotNil(t, s, "no schema %s", schema)
	require.Empty(t, s.check(schema, value), "%s", schema)
	return value.(map[string]any)
}

func checkMembers(t testing.TB, members map[string]string, data []byte) map[string]any {
	t.Helper()
	value, err := decode(data)
	require.NoError(t, err, "%s", data)
	f := &field{fields: make(map[string]*field)}
	for name, of := range members {
		f.fields[name] = &field{of: of}
	}
	require.Empty(t, f.check("", value))
	return value.(map[string]any)
}

// decode reads one JSON value and nothing after it, and refuses keys given twice,
// of which encoding/json would keep the last.
func decode(data []byte) (any, error) {
	if err := noDoubles(json.NewDecoder(strings.NewReader(string(data)))); err != nil {
		return nil, err
	}
	var value any
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one value")
	}
	return value, nil
}

func noDoubles(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		seen := make(map[string]bool)
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return err
			}
			if seen[key.(string)] {
				return fmt.Errorf("the key %s stands twice", key)
			}
			seen[key.(string)] = true
			if err := noDoubles(d); err != nil {
				return err
			}
		}
		_, err = d.Token()
	case json.Delim('['):
		for d.More() {
			if err := noDoubles(d); err != nil {
				return err
			}
		}
		_, err = d.Token()
	}
	return err
}

func (f *field) check(path string, value any) (wrong []string) {
	if f.fields == nil {
		return checkType(path, f.of, value)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return []string{fmt.Sprintf("%s: %v is no object", path, value)}
	}
	for name, sub := range f.fields {
		if v, there := object[name]; there {
			wrong = append(wrong, sub.check(path+"."+name, v)...)
		} else {
			wrong = append(wrong, path+"."+name+" is missing")
		}
	}
	for name := range object {
		if f.fields[name] == nil {
			wrong = append(wrong, path+"."+name+" is not in the schema")
		}
	}
	slices.Sort(wrong)
	return wrong
}

func checkType(path, of string, value any) []string {
	if s := schemas()[of]; s != nil {
		if value == nil && slices.Contains(maybeNull, of) {
			return nil
		}
		return s.check(path, value)
	}
	if element, ok := strings.CutPrefix(of, "list "); ok {
		list, ok := value.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s: %v is no list", path, value)}
		}
		var wrong []string
		for i, v := range list {
			wrong = append(wrong, checkType(fmt.Sprintf("%s[%d]", path, i), element, v)...)
		}
		return wrong
	}
	if !simple(of, value) {
		return []string{fmt.Sprintf("%s: %v is no %s", path, value, of)}
	}
	return nil
}

func simple(of string, value any) bool {
	switch of {
	case "string":
		_, ok := value.(string)
		return ok
	case "bool":
		_, ok := value.(bool)
		return ok
	case "int32", "int64":
		n, ok := value.(json.Number)
		if !ok {
			return false
		}
		i, err := n.Int64()
		return err == nil && (of == "int64" || i >= math.MinInt32 && i <= math.MaxUint32)
	case "double":
		n, ok := value.(json.Number)
		return ok && strings.ContainsAny(n.String(), ".e")
	}
	word, ok := value.(string)
	return ok && slices.Contains(strings.Split(of, "|"), word)
}
