package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// skip is a test that may be skipped, and what is missing where it is.
type skip struct {
	pkg, test *regexp.Regexp
	missing   string
}

// readSkips reads the list: a package, a pattern of whole test names, what is
// missing; "#" begins a comment.
func readSkips(path string) ([]skip, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the list of skips: %w", err)
	}
	return parseSkips(path, string(text))
}

func parseSkips(path, text string) ([]skip, error) {
	var out []skip
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) < 3 {
			return nil, fmt.Errorf("%s:%d: want a package, a test and what is missing", path, i+1)
		}
		pkg, err := regexp.Compile("^(?:" + words[0] + ")$")
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
		test, err := regexp.Compile("^(?:" + words[1] + ")$")
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
		out = append(out, skip{pkg, test, strings.Join(words[2:], " ")})
	}
	return out, nil
}

// listed says what is missing for a test that may be skipped.
func listed(skips []skip, pkg, test string) (missing string, ok bool) {
	for _, s := range skips {
		if s.pkg.MatchString(pkg) && s.test.MatchString(test) {
			return s.missing, true
		}
	}
	return "", false
}
