// Package multiprog reads the file of `srun --multi-prog`: which task of a step
// runs what.
//
// It is pure text work; it opens no file and starts nothing.
package multiprog

import (
	"fmt"
	"strconv"
	"strings"
)

// Error is a configuration that cannot be used.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// Parse returns the words of each of a step's tasks. In them %t is the task and
// %o its place in the range of its line. extra words follow those of every
// line. name is the file's for messages.
func Parse(name string, text []byte, tasks int, extra []string) ([][]string, error) {
	words := make([][]string, tasks)
	for number, line := range strings.Split(join(string(text)), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		fields, err := split(line)
		if err != nil || len(fields) < 2 {
			return nil, &Error{fmt.Sprintf("Line %d of configuration file %s invalid: %s", number+1, name, line)}
		}
		ranks, err := ranks(fields[0], tasks)
		if err != nil {
			return nil, &Error{fmt.Sprintf("Line %d of configuration file %s invalid: %v", number+1, name, err)}
		}
		for place, rank := range ranks {
			if words[rank] != nil {
				return nil, &Error{fmt.Sprintf("Configuration file %s invalid, task %d has two records", name, rank)}
			}
			words[rank] = append(expand(fields[1:], rank, place), extra...)
		}
	}
	for rank, w := range words {
		if w == nil {
			return nil, &Error{fmt.Sprintf("Configuration file %s invalid, no record for task id %d", name, rank)}
		}
	}
	return words, nil
}

// join puts continued lines together.
func join(text string) string { return strings.ReplaceAll(text, "\\\n", "") }

// ranks reads `0`, `1-3`, `1,5-6`, `*` (every task).
func ranks(list string, tasks int) ([]int, error) {
	if list == "*" {
		list = "0-" + strconv.Itoa(tasks-1)
	}
	var out []int
	for word := range strings.SplitSeq(list, ",") {
		low, high, ranged := strings.Cut(word, "-")
		if !ranged {
			high = low
		}
		first, err := strconv.Atoi(low)
		if err != nil || first < 0 {
			return nil, fmt.Errorf("task %q", word)
		}
		last, err := strconv.Atoi(high)
		if err != nil || last < first {
			return nil, fmt.Errorf("tasks %q", word)
		}
		for rank := first; rank <= min(last, tasks-1); rank++ {
			out = append(out, rank)
		}
	}
	return out, nil
}

func expand(words []string, rank, place int) []string {
	out := make([]string, len(words))
	for i, word := range words {
		word = strings.ReplaceAll(word, "%t", strconv.Itoa(rank))
		out[i] = strings.ReplaceAll(word, "%o", strconv.Itoa(place))
	}
	return out
}

// split cuts a line into words; quotes of either kind hold one together.
func split(line string) ([]string, error) {
	var out []string
	var word []byte
	var quote byte
	begun := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word = append(word, c)
		case c == '\'' || c == '"':
			quote, begun = c, true
		case c == '\\' && i+1 < len(line):
			i++
			word, begun = append(word, line[i]), true
		case c == ' ' || c == '\t':
			if begun || len(word) > 0 {
				out = append(out, string(word))
			}
			word, begun = word[:0], false
		default:
			word = append(word, c)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("unmatched %c", quote)
	}
	if begun || len(word) > 0 {
		out = append(out, string(word))
	}
	return out, nil
}
