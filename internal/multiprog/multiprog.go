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

// Error is a configuration that cannot be used: one or two lines that say why.
type Error struct{ Lines []string }

func (e *Error) Error() string { return strings.Join(e.Lines, "\n") }

// Parse returns the words of each of a step's tasks. In them %t is the task and
// %o its place in the range of its line. extra words follow those of every
// line. name is the file's for messages.
func Parse(name string, text []byte, tasks int, extra []string) ([][]string, error) {
	words := make([][]string, tasks)
	for number, line := range strings.Split(join(string(text)), "\n") {
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		if err := enter(words, line, extra); err != nil {
			return nil, &Error{append(err, fmt.Sprintf("Line %d of configuration file %s invalid", number+1, name))}
		}
	}
	for rank, w := range words {
		if w == nil {
			return nil, &Error{[]string{fmt.Sprintf("Configuration file %s invalid, no record for task id %d", name, rank)}}
		}
	}
	return words, nil
}

// enter gives the tasks of one line their words; it returns what is wrong with
// the line, which may be nothing more than that it is.
func enter(words [][]string, line string, extra []string) (wrong []string) {
	list, program, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(line, "\t", " ")), " ")
	if strings.TrimSpace(program) == "" {
		return []string{}
	}
	ranks, wrong := taskRanks(list, words)
	if wrong != nil {
		return wrong
	}
	for place, rank := range ranks {
		if words[rank] != nil {
			return []string{fmt.Sprintf("Duplicate record for task %d", rank)}
		}
		// No words: the task has none to run, and says so when it starts.
		words[rank] = []string{}
		if own := split(program, rank, place); len(own) > 0 {
			words[rank] = append(own, extra...)
		}
	}
	return nil
}

// join puts continued lines together.
func join(text string) string { return strings.ReplaceAll(text, "\\\n", "") }

// taskRanks reads `0`, `1-3`, `1,5-6`, `*` (every task that has no words yet).
func taskRanks(list string, words [][]string) (ranks []int, wrong []string) {
	if list == "*" {
		for rank, w := range words {
			if w == nil {
				ranks = append(ranks, rank)
			}
		}
		return ranks, nil
	}
	for word := range strings.SplitSeq(list, ",") {
		low, high, ranged := strings.Cut(word, "-")
		if !ranged {
			high = low
		}
		first, err := strconv.Atoi(low)
		last, err2 := strconv.Atoi(high)
		switch {
		case err != nil || err2 != nil || first < 0 || last < first:
			return nil, []string{fmt.Sprintf("Invalid task range specification (%s)", list)}
		case last >= len(words):
			return nil, []string{fmt.Sprintf("Invalid task id, %d >= ntasks", last)}
		}
		for rank := first; rank <= last; rank++ {
			ranks = append(ranks, rank)
		}
	}
	return ranks, nil
}

// split cuts a line into the words of one task. Single quotes hold a word
// together and keep %t and %o as they are; a quote that is not closed leaves
// nothing. Double quotes mean nothing here.
func split(line string, rank, place int) []string {
	var out []string
	var word strings.Builder
	quoted, begun := false, false
	end := func() {
		if begun {
			out = append(out, word.String())
		}
		word.Reset()
		begun = false
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\'':
			quoted, begun = !quoted, true
		case quoted:
			word.WriteByte(c)
		case c == ' ' || c == '\t':
			end()
		case c == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			begun = true
		case c == '%' && i+1 < len(line) && (line[i+1] == 't' || line[i+1] == 'o'):
			i++
			word.WriteString(strconv.Itoa(map[byte]int{'t': rank, 'o': place}[line[i]]))
			begun = true
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if quoted {
		return nil
	}
	end()
	return out
}
