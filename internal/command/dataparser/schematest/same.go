package schematest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"muster/internal/command/dataparser"
)

// Same writes an object in every notation and fails the test unless all of them
// say the same and its members are those of the layout, each of its schema.
func Same(t testing.TB, members map[string]string, write func(*dataparser.Writer)) map[string]any {
	t.Helper()
	written := func(format dataparser.Format) []byte {
		var out bytes.Buffer
		w := dataparser.NewWriter(&out, format)
		write(w)
		require.NoError(t, w.Close())
		return out.Bytes()
	}
	pretty := written(dataparser.JSON)
	value := checkMembers(t, members, pretty)
	compact := written(dataparser.CompactJSON)
	require.JSONEq(t, string(pretty), string(compact))
	require.Equal(t, 1, bytes.Count(compact, []byte("\n")), "%s", compact)
	for _, format := range []dataparser.Format{dataparser.YAML, dataparser.CompactYAML} {
		text := written(format)
		var read any
		require.NoError(t, yaml.Unmarshal(text, &read), "%s", text)
		again, err := json.Marshal(read)
		require.NoError(t, err)
		require.JSONEq(t, string(pretty), string(again), "%s", text)
	}
	return value
}
