package acctmgr

import (
	"slices"
	"strconv"
	"strings"

	"muster/internal/command"
	"muster/internal/command/flags"
	"muster/internal/command/format"
)

// query is what follows `sacctmgr show ENTITY`.
type query struct {
	entity    *entity
	format    string
	withAssoc bool
	tree      bool
	where     map[string][]string // which values are wanted, any of each
}

// parseQuery reads the words after the entity. A false says that what is wrong
// was said.
func parseQuery(p *command.Program, e *entity, words []string) (*query, bool) {
	q := &query{entity: e, where: map[string][]string{}}
	for _, word := range words {
		if !q.take(p, word) {
			return nil, false
		}
	}
	return q, true
}

func (q *query) take(p *command.Program, word string) bool {
	name, value, given := strings.Cut(word, "=")
	switch {
	case !given && matches(name, "where", 5), !given && matches(name, "set", 3):
	case !given && matches(name, "withassoc", 5):
		q.withAssoc = true
	case !given && matches(name, "tree", 4):
		q.tree = true
	case !given && matches(name, "withdeleted", 5), !given && matches(name, "wopinfo", 4), !given && matches(name, "woplimits", 4),
		!given && matches(name, "withcoordinators", 5), !given && matches(name, "wolimits", 3), !given && matches(name, "onlydefaults", 4):
		if matches(name, "withcoordinators", 5) {
			q.format = q.entity.format + ",Coordinators"
		}
	case !given:
		q.where[q.entity.key] = append(q.where[q.entity.key], flags.Words(word)...)
	case matches(name, "format", 1):
		q.format = value
	default:
		key, ok := q.entity.condition(strings.TrimRight(name, "+-!<>"))
		if !ok {
			p.Raw(" Unknown condition: %s\n Use keyword 'set' to modify value", word)
			return false
		}
		q.where[key] = append(q.where[key], flags.Words(value)...)
	}
	return true
}

// keeps tells whether a row has one of the wanted values for each condition.
func (q *query) keeps(r row) bool {
	for key, values := range q.where {
		have := strings.ToLower(strings.TrimSpace(r[key]))
		if !slices.ContainsFunc(values, func(v string) bool {
			return key == "adminlevel" && strings.HasPrefix(have, strings.ToLower(v)) || strings.ToLower(v) == have
		}) {
			return false
		}
	}
	return true
}

// report reads the columns.
func (q *query) report(p *command.Program) (format.Report[row], bool) {
	list := q.format
	if list == "" {
		list = q.entity.format
		if q.withAssoc && q.entity.withAsso != "" {
			list = q.entity.withAsso
		}
	}
	var out format.Report[row]
	for _, word := range flags.Words(list) {
		name, size, sized := strings.Cut(word, "%")
		f := findField(name)
		if f == nil {
			p.Raw("Unknown field '%s'", strings.ToLower(name))
			return nil, false
		}
		c := f.column()
		if q.tree && f.name == "Account" {
			c.Width, c.Left = 20, true
		}
		if n, _ := strconv.Atoi(size); sized && n != 0 { // 0 and what is no number leave the width
			c.Sized(n)
		}
		out = append(out, c)
	}
	return out, true
}
