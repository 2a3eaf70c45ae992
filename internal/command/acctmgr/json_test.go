package acctmgr

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"muster/internal/command"
	"muster/internal/command/commandtest"
	"muster/internal/command/dataparser"
	"muster/internal/command/dataparser/schematest"
	"muster/internal/wire"
)

type ctld struct {
	wire.DRPCCtldUnimplementedServer
}

func (*ctld) Nodes(_ *wire.NodesRequest, stream wire.DRPCCtld_NodesStream) error {
	return stream.Send(&wire.NodesPage{Nodes: []*wire.NodeInfo{
		{State: &wire.NodeState{Name: "n1"}, Cpus: 4, RealMemory: 1000, Gres: "gpu:2"},
		{State: &wire.NodeState{Name: "n2"}, Cpus: 4, RealMemory: 1000},
	}})
}

func TestAnswersAsData(t *testing.T) {
	commandtest.Controller(t, "AccountingStorageTRES=gres/gpu\n", &ctld{})
	show := func(schema, list string, count int, words ...string) []any {
		run := func(p *command.Program) int { return Run(context.Background(), p) }
		out, errs, code := commandtest.Run(t, run, "sacctmgr", "", append([]string{"--json", "show"}, words...)...)
		require.Zero(t, code, errs)
		answer := schematest.Check(t, schema, []byte(out))
		records := answer[list].([]any)
		require.Len(t, records, count, "%v", words)
		require.Equal(t, len(words)+1, len(answer["meta"].(map[string]any)["command"].([]any)))
		return records
	}
	show("openapi_users_resp", "users", 1, "user", "format=user")
	user := show("openapi_users_resp", "users", 1, "user", "withassoc")[0].(map[string]any)
	require.Len(t, user["associations"], 1)
	show("openapi_users_resp", "users", 0, "user", "where", "user=alice")
	account := show("openapi_accounts_resp", "accounts", 1, "account", "withassoc")[0].(map[string]any)
	require.Len(t, account["associations"], 2)
	require.Equal(t, "root", account["organization"])
	show("openapi_assocs_resp", "associations", 2, "assoc")
	show("openapi_assocs_resp", "associations", 1, "assoc", "user=root", "tree")
	show("openapi_slurmdbd_qos_resp", "qos", 1, "qos")
	show("openapi_wckey_resp", "wckeys", 0, "wckey")
	cluster := show("openapi_clusters_resp", "clusters", 1, "cluster")[0].(map[string]any)
	require.Equal(t, "n[1-2]", cluster["nodes"])
	tres := show("openapi_tres_resp", "TRES", 9, "tres")
	require.Equal(t, "gres", tres[8].(map[string]any)["type"])
}

func TestDataIsTheSameInYAML(t *testing.T) {
	c := &cluster{name: "c"}
	schematest.Same(t, map[string]string{"associations": "assoc_list", "qos": "qos_list"}, func(w *dataparser.Writer) {
		for name, rows := range map[string][]row{"associations": assocRows(c, &query{}), "qos": qosRows(c, &query{})} {
			w.List(name)
			for _, r := range rows {
				dumps[name].row(w, c, &query{}, r)
			}
			w.End()
		}
	})
}
