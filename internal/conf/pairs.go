package conf

import (
	"errors"
	"fmt"
	"strings"
)

// pair is Key=Value as written, with its place.
type pair struct {
	Pos
	key, value string
}

// splitPairs reads "Key=Value Key2="two words" ...". Blanks may stand around '='.
func splitPairs(l line) ([]pair, error) {
	var out []pair
	s := l.text
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" {
			return out, nil
		}
		i := 0
		for i < len(s) && isKeyByte(s[i]) {
			i++
		}
		key := s[:i]
		after := strings.TrimLeft(s[i:], " \t")
		if key == "" || !strings.HasPrefix(after, "=") {
			word, _, _ := strings.Cut(s, " ")
			return out, fmt.Errorf("expected Key=Value, found %q", word)
		}
		after = strings.TrimLeft(after[1:], " \t")
		value, rest, err := cutValue(after)
		if err != nil {
			return out, fmt.Errorf("%s: %w", key, err)
		}
		out = append(out, pair{l.Pos, key, value})
		s = rest
	}
}

func cutValue(s string) (value, rest string, err error) {
	if strings.HasPrefix(s, `"`) {
		end := strings.IndexByte(s[1:], '"')
		if end < 0 {
			return "", "", fmt.Errorf(`'"' is not closed`)
		}
		return s[1 : 1+end], s[2+end:], nil
	}
	if s == "" {
		return "", "", errors.New("the value is missing")
	}
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], s[i:], nil
	}
	return s, "", nil
}

func isKeyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// attrs are the pairs of one line by lower-case key, the later of two winning.
type attrs map[string]pair

// withDefaults gives a's pairs over those of a DEFAULT line.
func (a attrs) withDefaults(d attrs) attrs {
	out := make(attrs, len(a)+len(d))
	for k, v := range d {
		out[k] = v
	}
	for k, v := range a {
		out[k] = v
	}
	return out
}

// collect checks the keys of a line against the known ones and gives them by
// lower-case name.
func collect(pairs []pair, known []string, what string, r *report) attrs {
	out := make(attrs, len(pairs))
	for _, p := range pairs {
		if !containsFold(known, p.key) {
			r.errorf(p.Pos, "unknown %s attribute %q%s", what, p.key, suggest(p.key, known))
			continue
		}
		out[strings.ToLower(p.key)] = p
	}
	return out
}

func containsFold(list []string, s string) bool {
	for _, v := range list {
		if strings.EqualFold(v, s) {
			return true
		}
	}
	return false
}
