package batchscript

import (
	"bytes"
	"fmt"
)

// The directives that sbatch knows. PBS and LSF ones are honoured beside its own.
const (
	SBATCH = "#SBATCH"
	PBS    = "#PBS"
	BSUB   = "#BSUB"
)

// Directive is one line with words in it.
type Directive struct {
	Line  int // from 1
	Words []string
}

// UnmatchedError is a quote without its other end.
type UnmatchedError struct {
	Line  int
	Quote byte
	Text  string // of the line, from the blanks before the word on
}

func (e *UnmatchedError) Error() string {
	return fmt.Sprintf("line %d: Unmatched `%c` in [%s]", e.Line, e.Quote, e.Text)
}

// Directives returns the lines of one kind in the head of a script: the
// comments and blank lines before its first command. It stops at the first
// line that cannot be split; what stands before it is returned too.
func Directives(body []byte, kind string) ([]Directive, error) {
	var found []Directive
	for number := 1; len(body) > 0; number++ {
		var line []byte
		line, body, _ = bytes.Cut(body, []byte{'\n'})
		if rest, ok := bytes.CutPrefix(line, []byte(kind)); ok {
			words, err := split(number, rest)
			if err != nil {
				return found, err
			}
			if len(words) > 0 {
				found = append(found, Directive{number, words})
			}
			continue
		}
		if text := bytes.TrimLeft(line, blanks); len(text) > 0 && text[0] != '#' {
			break
		}
	}
	return found, nil
}

const blanks = " \t\v\f\r"

func blank(c byte) bool { return bytes.IndexByte([]byte(blanks), c) >= 0 }

// split cuts a directive into words. An empty word (” too) ends the line.
func split(number int, text []byte) ([]string, error) {
	text = bytes.TrimLeft(text, blanks)
	var words []string
	for {
		word, rest, err := next(number, text)
		if err != nil {
			return words, err
		}
		if word == "" {
			return words, nil
		}
		words = append(words, word)
		text = rest
	}
}

// next reads one word. Quotes of either kind hold a word together and are
// dropped; a backslash is dropped and takes the meaning from a quote, a # or a
// backslash behind it, not from a blank outside of quotes; # begins a comment.
func next(number int, text []byte) (word string, rest []byte, err error) {
	var out []byte
	var quote byte
	i := 0
	for i < len(text) && blank(text[i]) {
		i++
	}
	for ; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\':
			if i+1 < len(text) && (quote != 0 || !blank(text[i+1])) {
				i++
				out = append(out, text[i])
			}
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			out = append(out, c)
		case c == '"' || c == '\'':
			quote = c
		case c == '#':
			return string(out), nil, nil
		case blank(c):
			return string(out), text[i:], nil
		default:
			out = append(out, c)
		}
	}
	if quote != 0 {
		return "", nil, &UnmatchedError{number, quote, string(text)}
	}
	return string(out), nil, nil
}
