// Package pattern expands the symbols in the names of a job's standard
// streams, as sbatch and srun document them (%j, %A, %a, %x …).
//
// It must import the standard library only; it knows nothing of jobs beyond
// the values it is given, and touches no file.
package pattern

import (
	"strconv"
	"strings"
)

// NoTask is what %a becomes outside of an array.
const NoTask = 0xfffffffe

// Values stand behind the symbols.
type Values struct {
	JobID      uint32 // %j
	ArrayJobID uint32 // %A; 0: the job's own
	ArrayTask  uint32 // %a, %b; NoTask outside of an array
	Step       string // %s: 0, batch
	StepID     string // %J: 12.0; empty: the job id
	Host       string // %N, short
	Node       uint32 // %n, relative to the job
	Rank       uint32 // %t
	User       string // %u
	JobName    string // %x
}

// longest is the largest width a number is filled to.
const longest = 10

// Expand replaces the symbols. A backslash anywhere switches them off and is
// itself taken away; two stand for one.
func Expand(pattern string, v *Values) string {
	if strings.IndexByte(pattern, '\\') >= 0 {
		return unescape(pattern)
	}
	if strings.IndexByte(pattern, '%') < 0 {
		return pattern
	}
	var out strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			out.WriteByte(pattern[i])
			continue
		}
		j := i + 1
		for j < len(pattern) && pattern[j] >= '0' && pattern[j] <= '9' {
			j++
		}
		if j == len(pattern) {
			out.WriteString(pattern[i:])
			break
		}
		text, numeric, known := v.symbol(pattern[j])
		if !known {
			out.WriteString(pattern[i : j+1])
		} else {
			if numeric {
				text = fill(text, pattern[i+1:j])
			}
			out.WriteString(text)
		}
		i = j
	}
	return out.String()
}

// PerTask tells whether the name differs between the tasks of a step on a node.
func PerTask(pattern string) bool {
	const a, b = 1, 2
	return Expand(pattern, &Values{Rank: a}) != Expand(pattern, &Values{Rank: b})
}

func (v *Values) symbol(letter byte) (text string, numeric, known bool) {
	switch letter {
	case '%':
		return "%", false, true
	case 'A':
		if v.ArrayJobID != 0 {
			return number(v.ArrayJobID), true, true
		}
		return number(v.JobID), true, true
	case 'a':
		return number(v.ArrayTask), true, true
	case 'b':
		return number(v.ArrayTask % 10), true, true
	case 'J':
		if v.StepID != "" {
			return v.StepID, false, true
		}
		return number(v.JobID), true, true
	case 'j':
		return number(v.JobID), true, true
	case 'N':
		return v.Host, false, true
	case 'n':
		return number(v.Node), true, true
	case 's':
		return v.Step, true, true
	case 't':
		return number(v.Rank), true, true
	case 'u':
		return v.User, false, true
	case 'x':
		return v.JobName, false, true
	}
	return "", false, false
}

func number(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

func fill(text, width string) string {
	n, err := strconv.Atoi(width)
	if err != nil {
		return text
	}
	n = min(n, longest)
	if len(text) >= n || len(text) > 0 && (text[0] < '0' || text[0] > '9') {
		return text
	}
	return strings.Repeat("0", n-len(text)) + text
}

func unescape(pattern string) string {
	var out strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			i++
		} else if pattern[i] == '\\' {
			break
		}
		out.WriteByte(pattern[i])
	}
	return out.String()
}
