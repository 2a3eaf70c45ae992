package control

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"muster/internal/command/commandtest"
	"muster/internal/command/dataparser/schematest"
)

// Every answer is one document of its schema, also one that says what failed.
func TestAnswersAsData(t *testing.T) {
	commandtest.Controller(t, "AccountingStorageType=accounting_storage/slurmdbd\n", &ctld{})
	for _, c := range []struct {
		schema, list string
		count        int
		words        []string
		failed       string
	}{
		{"openapi_job_info_resp", "jobs", 1, []string{"show", "job", "5"}, ""},
		{"openapi_job_info_resp", "jobs", 0, []string{"show", "jobs"}, ""},
		{"openapi_job_info_resp", "jobs", 0, []string{"show", "job", "99"}, "Invalid job id specified"},
		{"openapi_nodes_resp", "nodes", 1, []string{"show", "nodes"}, ""},
		{"openapi_nodes_resp", "nodes", 1, []string{"show", "node", "n[1-2]"}, "Node n2 not found"},
		{"openapi_partition_resp", "partitions", 1, []string{"show", "part"}, ""},
		{"openapi_partition_resp", "partitions", 0, []string{"show", "part", "none"}, "Partition none not found"},
		{"openapi_ping_array_resp", "pings", 1, []string{"ping"}, ""},
	} {
		out, errs, code := commandtest.Run(t, scontrol, "scontrol", "", append(c.words, "--json")...)
		answer := schematest.Check(t, c.schema, []byte(out))
		assert.Len(t, answer[c.list], c.count, "%v", c.words)
		failures := answer["errors"].([]any)
		if c.failed == "" {
			assert.Empty(t, failures)
			assert.Zero(t, code)
			assert.Empty(t, errs)
		} else {
			require.Len(t, failures, 1, "%v", c.words)
			assert.Equal(t, c.failed, failures[0].(map[string]any)["error"])
			assert.Equal(t, 1, code)
			assert.Contains(t, errs, c.failed)
		}
		meta := answer["meta"].(map[string]any)
		assert.Len(t, meta["command"], len(c.words), "the words without the options")
		assert.Equal(t, "test", meta["slurm"].(map[string]any)["cluster"])
		assert.Equal(t, "data_parser/v0.0.45", meta["plugin"].(map[string]any)["data_parser"])
		assert.Equal(t, "accounting_storage/slurmdbd", meta["plugin"].(map[string]any)["accounting_storage"])
	}
}

func TestNotationsOfAnswers(t *testing.T) {
	commandtest.Controller(t, "", &ctld{})
	show := func(option string) string {
		out, _, code := commandtest.Run(t, scontrol, "scontrol", "", "show", "part", option)
		require.Zero(t, code)
		return out
	}
	partitions := func(value any) string {
		text, err := json.Marshal(value.(map[string]any)["partitions"])
		require.NoError(t, err)
		return string(text)
	}
	pretty := show("--json")
	t.Setenv("SLURM_JSON", "compact")
	compact := show("--json=v0.0.45")
	assert.Less(t, len(compact), len(pretty))
	want := partitions(schematest.Check(t, "openapi_partition_resp", []byte(pretty)))
	assert.JSONEq(t, want, partitions(schematest.Check(t, "openapi_partition_resp", []byte(compact))))
	for _, terse := range []string{"compact", "pretty"} {
		t.Setenv("SLURM_YAML", terse)
		var value any
		require.NoError(t, yaml.Unmarshal([]byte(show("--yaml")), &value))
		assert.JSONEq(t, want, partitions(value))
	}
}

func TestVersionsOfData(t *testing.T) {
	commandtest.Controller(t, "", &ctld{})
	for _, c := range []struct {
		option, out, errs string
		code              int
	}{
		{"--json=list", "Possible data_parser plugins:\ndata_parser/v0.0.45\n", "", 0},
		{"--yaml=list", "Possible data_parser plugins:\ndata_parser/v0.0.45\n", "", 0},
		{"--json=v0.0.44", "", "scontrol: error: not supported: --json=v0.0.44 (data_parser/v0.0.45 is what there is)\n", 1},
		{"--yaml=nosuch", "", "scontrol: error: not supported: --yaml=nosuch (data_parser/v0.0.45 is what there is)\n", 1},
		{"--json=v0.0.45+spec_only", "", "scontrol: error: not supported yet: --json=v0.0.45+spec_only\n", 1},
		{"--json=v0.0.45+foo", "", "scontrol: error: data_parser/v0.0.45 has no flag foo\n", 1},
	} {
		out, errs, code := commandtest.Run(t, scontrol, "scontrol", "", "show", "part", c.option)
		assert.Equal(t, c.out, out)
		assert.Equal(t, c.errs, errs)
		assert.Equal(t, c.code, code)
	}
	for _, ok := range []string{"--json", "--json=latest", "--json=data_parser/v0.0.45", "--json=v0.0.45+fast", "--json=v0.0.45+NONE"} {
		out, _, code := commandtest.Run(t, scontrol, "scontrol", "", "show", "part", ok)
		assert.Zero(t, code, ok)
		schematest.Check(t, "openapi_partition_resp", []byte(out))
	}
	_, errs, code := commandtest.Run(t, scontrol, "scontrol", "", "show", "config", "--json")
	assert.Equal(t, 1, code)
	assert.Equal(t, "scontrol: error: not supported yet: show config as JSON or YAML\n", errs)
}
