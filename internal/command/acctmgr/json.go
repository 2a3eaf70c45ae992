package acctmgr

import (
	"context"
	"strconv"
	"strings"

	"muster/internal/command/client"
	"muster/internal/command/dataparser"
)

// dump is how an entity is written in the layout of data_parser.
type dump struct {
	list string // the answer's member
	row  func(w *dataparser.Writer, c *cluster, q *query, r row)
}

var dumps = map[string]dump{
	"accounts":     {"accounts", writeAccount},
	"associations": {"associations", writeAssociation},
	"clusters":     {"clusters", writeCluster},
	"qos":          {"qos", writeQOS},
	"tres":         {"TRES", writeTRES},
	"users":        {"users", writeUser},
	"wckeys":       {"wckeys", nil},
}

// dump answers with all that is known, whatever format= asks for.
func (s *session) dump(ctx context.Context, words []string, c *cluster, q *query, conf *client.Client) int {
	d := dumps[q.entity.name]
	w := s.data.Begin(s.p)
	one := *q
	one.withAssoc, one.tree = false, false // a record has its associations inside
	w.List(d.list)
	for _, r := range q.entity.rows(c, &one) {
		if q.keeps(r) {
			d.row(w, c, q, r)
		}
	}
	w.End()
	return dataparser.Finish(ctx, s.p, w, conf.Meta(words))
}

func (r row) number(key string) int64 {
	n, err := strconv.ParseInt(r[key], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// short writes an association as other records name it.
func short(w *dataparser.Writer, key string, r row) {
	w.Object(key)
	w.String("account", r["account"])
	w.String("cluster", r["cluster"])
	w.String("partition", r["partition"])
	w.String("user", r["user"])
	w.Int("id", r.number("id"))
	w.End()
}

func writeAccount(w *dataparser.Writer, c *cluster, q *query, r row) {
	w.Object("")
	w.List("associations")
	if q.withAssoc {
		short(w, "", root(c, ""))
		short(w, "", root(c, "root"))
	}
	w.End()
	w.Strings("coordinators", nil)
	w.String("description", r["description"])
	w.String("name", r["account"])
	w.String("organization", r["organization"])
	w.Strings("flags", nil)
	w.End()
}

func writeUser(w *dataparser.Writer, c *cluster, q *query, r row) {
	w.Object("")
	w.Strings("administrator_level", []string{r["adminlevel"]})
	w.List("associations")
	if q.withAssoc {
		short(w, "", root(c, r["user"]))
	}
	w.End()
	w.Strings("coordinators", nil)
	w.Object("default")
	w.Int("qos", 0)
	w.String("account", r["defaultaccount"])
	w.String("wckey", "")
	w.End()
	w.Strings("flags", []string{"NONE"})
	w.String("name", r["user"])
	w.String("old_name", "")
	w.Strings("wckeys", nil)
	w.End()
}

func writeAssociation(w *dataparser.Writer, c *cluster, _ *query, r row) {
	w.Object("")
	w.Strings("accounting", nil)
	w.String("account", r["account"])
	w.String("cluster", r["cluster"])
	w.String("comment", "")
	w.Object("default")
	w.String("qos", "")
	w.End()
	w.Strings("flags", nil)
	writeLimits(w, "max", "jobs.per.count", "jobs.per.accruing", "jobs.per.submitted", "jobs.per.wall_clock", "jobs.active", "jobs.accruing",
		"jobs.total", "tres.total:", "tres.group.minutes:", "tres.group.active:", "tres.minutes.total:", "tres.minutes.per.job:",
		"tres.per.job:", "tres.per.node:", "per.account.wall_clock")
	w.Int("id", r.number("id"))
	w.Bool("is_default", r["user"] != "")
	w.String("lineage", r["lineage"])
	writeLimits(w, "min", "priority_threshold")
	w.String("parent_account", r["parentname"])
	w.String("partition", r["partition"])
	w.Number("priority", false, 0)
	w.Strings("qos", []string{r["qoslevel"]})
	w.Int("shares_raw", r.number("share"))
	w.String("user", r["user"])
	w.End()
}

func writeCluster(w *dataparser.Writer, c *cluster, _ *query, r row) {
	w.Object("")
	w.Object("controller")
	w.String("host", r["controlhost"])
	w.Int("port", r.number("controlport"))
	w.End()
	w.Strings("flags", nil)
	w.String("name", r["cluster"])
	w.String("nodes", r["clusternodes"])
	w.Object("associations")
	short(w, "root", root(c, ""))
	w.End()
	w.Int("rpc_version", r.number("rpc"))
	w.TRES("tres", r["tres"], dataparser.TRESNames(c.storage))
	w.End()
}

func writeQOS(w *dataparser.Writer, _ *cluster, _ *query, r row) {
	w.Object("")
	w.String("description", r["description"])
	w.Strings("flags", nil)
	w.Int("id", r.number("id"))
	w.Object("limits")
	w.Int("grace_time", 0)
	writeLimits(w, "max", "active_jobs.accruing", "active_jobs.count", "jobs.count", "jobs.active_jobs.per.account",
		"jobs.active_jobs.per.user", "jobs.per.account", "jobs.per.user", "tres.total:", "tres.minutes.total:",
		"tres.minutes.per.qos:", "tres.minutes.per.job:", "tres.minutes.per.account:", "tres.minutes.per.user:",
		"tres.per.account:", "tres.per.job:", "tres.per.node:", "tres.per.user:", "wall_clock.per.qos", "wall_clock.per.job",
		"accruing.per.account", "accruing.per.user")
	w.FloatNumber("factor", false, 0)
	writeLimits(w, "min", "priority_threshold", "tres.per.job:")
	w.End()
	w.String("name", r["name"])
	w.Object("preempt")
	w.Strings("list", nil)
	w.Strings("mode", []string{"DISABLED"})
	w.Number("exempt_time", false, 0)
	w.End()
	w.Number("priority", true, uint64(r.number("priority")))
	w.FloatNumber("usage_factor", true, 1)
	w.FloatNumber("usage_threshold", false, 0)
	w.End()
}

func writeTRES(w *dataparser.Writer, _ *cluster, _ *query, r row) {
	w.Object("")
	w.String("type", r["type"])
	w.String("name", r["name"])
	w.Int("id", r.number("id"))
	w.Int("count", 0)
	w.End()
}

// writeLimits writes an object of limits, none of which is set: numbers, and with
// a colon at the end lists of TRES. Paths that begin alike stand together.
func writeLimits(w *dataparser.Writer, key string, paths ...string) {
	w.Object(key)
	var open []string
	for _, path := range paths {
		words := strings.Split(strings.TrimSuffix(path, ":"), ".")
		leaf, in := words[len(words)-1], words[:len(words)-1]
		same := 0
		for same < len(open) && same < len(in) && open[same] == in[same] {
			same++
		}
		for range open[same:] {
			w.End()
		}
		for _, name := range in[same:] {
			w.Object(name)
		}
		open = in
		if strings.HasSuffix(path, ":") {
			w.Strings(leaf, nil)
		} else {
			w.AtMost(leaf, 0)
		}
	}
	for range open {
		w.End()
	}
	w.End()
}
