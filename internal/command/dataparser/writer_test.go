package dataparser_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"muster/internal/command/dataparser"
	"muster/internal/command/dataparser/schematest"
)

func sample(w *dataparser.Writer) {
	w.List("jobs")
	w.Object("")
	w.String("name", "a/b")
	w.NonZero("cpus", 3)
	w.Object("empty")
	w.End()
	w.Strings("none", nil)
	w.Strings("some", []string{"x", "y"})
	w.FloatNumber("billing", true, 2)
	w.Null("nothing")
	w.End()
	w.Object("")
	w.Limit("limit", math.MaxUint32)
	w.Bool("ok", true)
	w.End()
	w.End()
	w.Int("n", -1)
}

func TestNotations(t *testing.T) {
	for _, c := range []struct {
		format dataparser.Format
		want   string
	}{
		{dataparser.JSON, `{
  "jobs": [
    {
      "name": "a\/b",
      "cpus": {
        "set": true,
        "infinite": false,
        "number": 3
      },
      "empty": {},
      "none": [],
      "some": [
        "x",
        "y"
      ],
      "billing": {
        "set": true,
        "infinite": false,
        "number": 2.0
      },
      "nothing": null
    },
    {
      "limit": {
        "set": false,
        "infinite": true,
        "number": 0
      },
      "ok": true
    }
  ],
  "n": -1
}
`},
		{dataparser.CompactJSON, `{"jobs":[{"name":"a\/b","cpus":{"set":true,"infinite":false,"number":3},"empty":{},"none":[],` +
			`"some":["x","y"],"billing":{"set":true,"infinite":false,"number":2.0},"nothing":null},` +
			`{"limit":{"set":false,"infinite":true,"number":0},"ok":true}],"n":-1}` + "\n"},
		{dataparser.YAML, `---
jobs:
  - name: "a/b"
    cpus:
      set: true
      infinite: false
      number: 3
    empty: {}
    none: []
    some:
      - "x"
      - "y"
    billing:
      set: true
      infinite: false
      number: 2.0
    nothing: null
  - limit:
      set: false
      infinite: true
      number: 0
    ok: true
n: -1
`},
		{dataparser.CompactYAML, "---\n" + `{"jobs": [{"name": "a/b","cpus": {"set": true,"infinite": false,"number": 3},"empty": {},"none": [],` +
			`"some": ["x","y"],"billing": {"set": true,"infinite": false,"number": 2.0},"nothing": null},` +
			`{"limit": {"set": false,"infinite": true,"number": 0},"ok": true}],"n": -1}` + "\n"},
	} {
		var out bytes.Buffer
		w := dataparser.NewWriter(&out, c.format)
		sample(w)
		require.NoError(t, w.Close())
		require.Equal(t, c.want, out.String())
	}
}

// Whatever is written, JSON and YAML say the same, and a text comes back as it
// was but for what is no UTF-8.
func TestAnyTreeReadsBackTheSame(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		tree := randomObject(r, 0)
		want, err := json.Marshal(tree) // it replaces what is no UTF-8, too
		require.NoError(t, err)
		for _, format := range []dataparser.Format{dataparser.JSON, dataparser.CompactJSON, dataparser.YAML, dataparser.CompactYAML} {
			var out bytes.Buffer
			w := dataparser.NewWriter(&out, format)
			writeMembers(w, tree)
			require.NoError(t, w.Close())
			got := out.Bytes()
			if format == dataparser.YAML || format == dataparser.CompactYAML {
				var value any
				require.NoError(t, yaml.Unmarshal(got, &value), "seed %d: %s", seed, got)
				got, err = json.Marshal(value)
				require.NoError(t, err)
			}
			require.JSONEq(t, string(want), string(got), "seed %d", seed)
		}
	}
}

var keys = [...]string{"set", "n", "CPUs", "nodes", "a_b"}

func randomObject(r *rand.Rand, depth int) map[string]any {
	object := map[string]any{}
	for range r.IntN(5) {
		object[keys[r.IntN(len(keys))]] = randomValue(r, depth+1)
	}
	return object
}

func randomValue(r *rand.Rand, depth int) any {
	switch kind := r.IntN(7); {
	case kind == 0 && depth < 5:
		return randomObject(r, depth)
	case kind == 1 && depth < 5:
		list := []any{}
		for range r.IntN(4) {
			switch r.IntN(2) { // the layout has no list in a list
			case 0:
				list = append(list, randomObject(r, depth+1))
			default:
				list = append(list, schematest.Text(r))
			}
		}
		return list
	case kind == 2:
		return r.IntN(2) == 0
	case kind == 3:
		return r.Int64N(1<<40) - 1<<39
	case kind == 4:
		return nil
	}
	return schematest.Text(r)
}

func writeMembers(w *dataparser.Writer, object map[string]any) {
	for key, value := range object {
		writeValue(w, key, value)
	}
}

func writeValue(w *dataparser.Writer, key string, value any) {
	switch v := value.(type) {
	case map[string]any:
		w.Object(key)
		writeMembers(w, v)
		w.End()
	case []any:
		w.List(key)
		for _, item := range v {
			writeValue(w, "", item)
		}
		w.End()
	case bool:
		w.Bool(key, v)
	case int64:
		w.Int(key, v)
	case nil:
		w.Null(key)
	case string:
		w.String(key, v)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a/b", "\xff", "\"\\", "\u2028\ufeff\x7f", "é\x00", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value := schematest.Same(t, map[string]string{"text": "string"}, func(w *dataparser.Writer) { w.String("text", text) })
		require.Equal(t, strings.ToValidUTF8(text, "\ufffd"), oneMark(value["text"].(string), text))
	})
}

// oneMark makes one replacement of a run of them: ToValidUTF8 replaces runs, the
// Writer each byte.
func oneMark(got, text string) string {
	if strings.Contains(text, "\ufffd") {
		return strings.ToValidUTF8(text, "\ufffd") // the marks of both cannot be told apart
	}
	for strings.Contains(got, "\ufffd\ufffd") {
		got = strings.ReplaceAll(got, "\ufffd\ufffd", "\ufffd")
	}
	return got
}

func TestLongListsLeaveInPieces(t *testing.T) {
	out := &pieces{}
	w := dataparser.NewWriter(out, dataparser.JSON)
	w.List("jobs")
	for range 10_000 {
		w.String("", strings.Repeat("x", 100))
		w.Object("")
		w.End()
	}
	w.End()
	require.NoError(t, w.Close())
	require.Greater(t, out.count, 10)
	require.Less(t, out.longest, 128<<10)
}

type pieces struct{ count, longest int }

func (p *pieces) Write(b []byte) (int, error) {
	p.count++
	p.longest = max(p.longest, len(b))
	return len(b), nil
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestAFullDiskIsReported(t *testing.T) {
	w := dataparser.NewWriter(full{}, dataparser.JSON)
	w.String("a", "b")
	require.EqualError(t, w.Close(), "no space")
	require.EqualError(t, w.Err(), "no space")
}
