package placement

import (
	"fmt"
	"slices"
	"strings"
)

// Constraint is a parsed --constraint. One of Alternatives must hold for every
// node of the job; several stand there for `[a|b]`, where all nodes must agree.
type Constraint struct {
	Alternatives []Expr
	Names        []string // features that occur
}

// Expr is an OR of ANDs of features.
type Expr [][]string

// ParseConstraint reads feature expressions: `a&b`, `a|b`, `(a|b)&c`, `[a|b]`.
// Counts (`a*2`) and brackets beside other terms are refused.
func ParseConstraint(s string) (*Constraint, error) {
	c := &Constraint{}
	if strings.ContainsRune(s, '*') {
		return nil, fmt.Errorf("not supported yet: node counts in --constraint=%s", s)
	}
	if s == "" {
		c.Alternatives = []Expr{{{}}}
		return c, nil
	}
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		for _, alt := range strings.Split(s[1:len(s)-1], "|") {
			e, err := c.parse(alt)
			if err != nil {
				return nil, err
			}
			c.Alternatives = append(c.Alternatives, e)
		}
		return c, nil
	}
	e, err := c.parse(s)
	if err != nil {
		return nil, err
	}
	c.Alternatives = []Expr{e}
	return c, nil
}

func (c *Constraint) parse(s string) (Expr, error) {
	p := &exprParser{text: s, names: &c.Names}
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.pos != len(s) {
		return nil, fmt.Errorf("invalid constraint %q at position %d", s, p.pos+1)
	}
	return e, nil
}

type exprParser struct {
	text  string
	pos   int
	names *[]string
}

func (p *exprParser) or() (Expr, error) {
	e, err := p.and()
	for err == nil && p.take('|') {
		var f Expr
		if f, err = p.and(); err == nil {
			e = append(e, f...)
		}
	}
	return e, err
}

func (p *exprParser) and() (Expr, error) {
	e, err := p.term()
	for err == nil && p.take('&') {
		var f Expr
		if f, err = p.term(); err == nil {
			e = product(e, f)
		}
	}
	return e, err
}

func (p *exprParser) term() (Expr, error) {
	if p.take('(') {
		e, err := p.or()
		if err == nil && !p.take(')') {
			err = fmt.Errorf("invalid constraint %q: ')' is missing", p.text)
		}
		return e, err
	}
	start := p.pos
	for p.pos < len(p.text) && !strings.ContainsRune("&|()[]", rune(p.text[p.pos])) {
		p.pos++
	}
	name := p.text[start:p.pos]
	if name == "" {
		return nil, fmt.Errorf("invalid constraint %q at position %d", p.text, start+1)
	}
	if !slices.Contains(*p.names, name) {
		*p.names = append(*p.names, name)
	}
	return Expr{{name}}, nil
}

func (p *exprParser) take(c byte) bool {
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func product(a, b Expr) Expr {
	var out Expr
	for _, x := range a {
		for _, y := range b {
			out = append(out, append(slices.Clone(x), y...))
		}
	}
	return out
}

// Holds tells whether a node with these features satisfies the expression.
func (e Expr) Holds(features []string) bool {
next:
	for _, all := range e {
		for _, f := range all {
			if !slices.Contains(features, f) {
				continue next
			}
		}
		return true
	}
	return false
}
