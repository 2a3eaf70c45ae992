// Package getopt reads command lines the way GNU getopt_long does, because
// scripts depend on its habits: `-N4` and `-n 4`, `--gpus=2` and `--gpus 2`,
// unambiguous prefixes of long names, options after operands where the program
// permutes, and the very texts of its errors.
//
// It knows nothing about what an option means and it prints nothing.
package getopt

import (
	"fmt"
	"strings"
)

// Arg says whether an option takes a value.
type Arg uint8

// An optional value is only taken when it is glued to its option: `--nice=5`,
// `-k1`, never from the next word.
const (
	None Arg = iota
	Required
	Optional
)

// Option is one name of an option. Names with the same Key mean the same thing
// (aliases), so an abbreviation that fits only them is not ambiguous.
type Option struct {
	Long  string // without the dashes; empty = only a letter
	Short byte   // 0 = only a long name
	Arg   Arg
	Key   int
}

// Mode says what happens at the first word that is no option.
type Mode uint8

const (
	// Stop ends the options there: the rest belongs to another program.
	Stop Mode = iota
	// Permute collects such words and goes on.
	Permute
)

// Match is an option that was found.
type Match struct {
	Option   *Option
	Value    string
	HasValue bool
}

// Error is a command line that cannot be read. Its text is getopt's, without
// the program's name.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// Parse returns the options in their order and the operands. With an error,
// the options that stand before it are returned as well.
func Parse(options []Option, args []string, mode Mode) (found []Match, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == "--":
			return found, append(rest, args[i+1:]...), nil
		case strings.HasPrefix(word, "--"):
			match, used, err := long(options, word[2:], args[i+1:])
			if err != nil {
				return found, rest, err
			}
			found = append(found, match)
			i += used
		case len(word) > 1 && word[0] == '-':
			matches, used, err := letters(options, word[1:], args[i+1:])
			found = append(found, matches...)
			if err != nil {
				return found, rest, err
			}
			i += used
		case mode == Stop:
			return found, append(rest, args[i:]...), nil
		default:
			rest = append(rest, word)
		}
	}
	return found, rest, nil
}

// long reads `name`, `name=value` or `name` with its value in the next word.
func long(options []Option, text string, next []string) (Match, int, error) {
	name, value, glued := strings.Cut(text, "=")
	option, err := lookup(options, name, text)
	if err != nil {
		return Match{}, 0, err
	}
	switch {
	case glued && option.Arg == None:
		return Match{}, 0, &Error{fmt.Sprintf("option '--%s' doesn't allow an argument", option.Long)}
	case glued:
		return Match{option, value, true}, 0, nil
	case option.Arg != Required:
		return Match{Option: option}, 0, nil
	case len(next) == 0:
		return Match{}, 0, &Error{fmt.Sprintf("option '--%s' requires an argument", option.Long)}
	}
	return Match{option, next[0], true}, 1, nil
}

// lookup finds the option that a long name, whole or abbreviated, stands for.
func lookup(options []Option, name, text string) (*Option, error) {
	var hit *Option
	var possible []string
	ambiguous := false
	for i := range options {
		o := &options[i]
		if o.Long == "" || !strings.HasPrefix(o.Long, name) {
			continue
		}
		if o.Long == name {
			return o, nil
		}
		possible = append(possible, "'--"+o.Long+"'")
		switch {
		case hit == nil:
			hit = o
		case hit.Key != o.Key || hit.Arg != o.Arg:
			ambiguous = true
		}
	}
	if hit == nil {
		return nil, &Error{fmt.Sprintf("unrecognized option '--%s'", text)}
	}
	if ambiguous {
		return nil, &Error{fmt.Sprintf("option '--%s' is ambiguous; possibilities: %s", text, strings.Join(possible, " "))}
	}
	return hit, nil
}

// letters reads a word of short options, the last of which may have a value.
func letters(options []Option, word string, next []string) (found []Match, used int, err error) {
	for i := 0; i < len(word); i++ {
		option := letter(options, word[i])
		if option == nil {
			return found, 0, &Error{fmt.Sprintf("invalid option -- '%c'", word[i])}
		}
		if option.Arg == None {
			found = append(found, Match{Option: option})
			continue
		}
		if glued := word[i+1:]; glued != "" {
			return append(found, Match{option, glued, true}), 0, nil
		}
		if option.Arg == Optional {
			return append(found, Match{Option: option}), 0, nil
		}
		if len(next) == 0 {
			return found, 0, &Error{fmt.Sprintf("option requires an argument -- '%c'", word[i])}
		}
		return append(found, Match{option, next[0], true}), 1, nil
	}
	return found, 0, nil
}

func letter(options []Option, c byte) *Option {
	for i := range options {
		if options[i].Short == c && c != 0 {
			return &options[i]
		}
	}
	return nil
}
