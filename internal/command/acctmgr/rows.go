package acctmgr

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"muster/internal/command/dataparser"
	"muster/internal/model"
	"muster/internal/wire"
)

// cluster is what is known of the cluster: until accounts can be added, every
// cluster has the account and the user root and the QOS normal, as a fresh Slurm.
type cluster struct {
	name, host, port string
	nodes            []*wire.NodeInfo
	storage          string // AccountingStorageTRES
}

// protocol is the number of 26.05's protocol, which RPC shows.
const protocol = "11520"

// root is the association of everything, or with a user that user's.
func root(c *cluster, user string) row {
	r := row{"cluster": c.name, "account": "root", "user": user, "share": "1", "qoslevel": "normal", "qosraw": "1", "id": "1", "parentid": "0",
		"lft": "1", "rgt": "4", "lineage": "/"}
	if user != "" {
		maps.Copy(r, row{"id": "2", "parentid": "1", "lft": "2", "rgt": "3", "lineage": "/0-" + user + "/"})
	}
	return r
}

func accountRows(c *cluster, q *query) []row {
	account := row{"account": "root", "description": "default root account", "organization": "root"}
	if !q.withAssoc {
		return []row{account}
	}
	return joined(account, root(c, ""), root(c, "root"))
}

// joined makes a row of each association, with what its owner has of its own.
func joined(owner row, associations ...row) []row {
	for _, a := range associations {
		maps.Copy(a, owner)
	}
	return associations
}

func assocRows(c *cluster, q *query) []row {
	all, one := root(c, ""), root(c, "root")
	if q.tree {
		one["account"] = " " + one["account"]
	}
	return []row{all, one}
}

func userRows(c *cluster, q *query) []row {
	user := row{"user": "root", "defaultaccount": "root", "adminlevel": "Administrator"}
	if !q.withAssoc {
		return []row{user}
	}
	return joined(user, root(c, "root"))
}

func clusterRows(c *cluster, _ *query) []row {
	names := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		names[i] = n.State.Name
	}
	return []row{{
		"cluster": c.name, "controlhost": c.host, "controlport": c.port, "rpc": protocol, "share": "1", "qoslevel": "normal", "qosraw": "1",
		"account": "root", "fedstate": "NA", "fedstateraw": "0", "id": "0", "nodecount": strconv.Itoa(len(names)),
		"clusternodes": compress(names), "tres": clusterTRES(c), "lft": "1", "rgt": "4",
	}}
}

// clusterTRES is all that the nodes have together.
func clusterTRES(c *cluster) string {
	sum := map[string]uint64{}
	memory := uint64(0)
	for _, n := range c.nodes {
		sum["cpu"] += uint64(n.Cpus)
		memory += n.RealMemory
		for name, count := range gresOf(n.Gres) {
			sum[name] += count
		}
	}
	sum["node"], sum["billing"] = uint64(len(c.nodes)), sum["cpu"]
	var parts []string
	for name := range dataparser.TRESNames(c.storage) {
		value := strconv.FormatUint(sum[name], 10)
		if name == "mem" {
			value = string(model.AppendMiB(nil, memory))
		}
		parts = append(parts, name+"="+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// gresOf counts what "gpu:a100:8(S:0),nic:2" names, by name and by name and type.
func gresOf(text string) map[string]uint64 {
	out := map[string]uint64{}
	for word := range strings.SplitSeq(text, ",") {
		word, _, _ = strings.Cut(word, "(")
		parts := strings.Split(word, ":")
		if len(parts) < 2 {
			continue
		}
		n, err := strconv.ParseUint(parts[len(parts)-1], 10, 64)
		if err != nil {
			continue
		}
		out["gres/"+parts[0]] += n
		if len(parts) == 3 {
			out["gres/"+parts[0]+":"+parts[1]] += n
		}
	}
	return out
}

func qosRows(_ *cluster, _ *query) []row {
	return []row{{"name": "normal", "id": "1", "description": "Normal QOS default", "priority": "0", "gracetime": "00:00:00",
		"preemptmode": "cluster", "usagefactor": "1.000000"}}
}

func tresRows(c *cluster, _ *query) []row {
	ids := dataparser.TRESNames(c.storage)
	names := slices.SortedFunc(maps.Keys(ids), func(a, b string) int { return cmp.Compare(ids[a], ids[b]) })
	rows := make([]row, len(names))
	for i, name := range names {
		kind, rest, _ := strings.Cut(name, "/")
		rows[i] = row{"type": kind, "name": rest, "id": strconv.FormatInt(ids[name], 10)}
	}
	return rows
}

func nothing(*cluster, *query) []row { return nil }
