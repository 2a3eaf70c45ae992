package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const skipList = `
# package  test   missing
muster/a   TestRoot     root
muster/b   TestCases/.* another cluster
`

func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		events string
		ok     bool
		wants  []string
	}{
		"subtests count, their parents do not": {`
			{"Action":"run","Package":"muster/a","Test":"TestX"}
			{"Action":"run","Package":"muster/a","Test":"TestX/one"}
			{"Action":"pass","Package":"muster/a","Test":"TestX/one"}
			{"Action":"run","Package":"muster/a","Test":"TestX/two"}
			{"Action":"pass","Package":"muster/a","Test":"TestX/two"}
			{"Action":"pass","Package":"muster/a","Test":"TestX"}
			{"Action":"pass","Package":"muster/a","Elapsed":1.5}`,
			true, []string{"ok   muster/a", "2 passed, 0 failed, 0 skipped"}},
		"a listed skip": {`
			{"Action":"run","Package":"muster/a","Test":"TestRoot"}
			{"Action":"skip","Package":"muster/a","Test":"TestRoot"}
			{"Action":"pass","Package":"muster/a"}`,
			true, []string{"skip muster/a TestRoot: root", "0 passed, 0 failed, 1 skipped"}},
		"a skip of the same name in another package": {`
			{"Action":"run","Package":"muster/b","Test":"TestRoot"}
			{"Action":"output","Package":"muster/b","Test":"TestRoot","Output":"no reason\n"}
			{"Action":"skip","Package":"muster/b","Test":"TestRoot"}
			{"Action":"pass","Package":"muster/b"}`,
			false, []string{"no reason", "FAIL muster/b TestRoot is skipped but not listed", "0 passed, 1 failed, 1 skipped"}},
		"a failing subtest": {`
			{"Action":"run","Package":"muster/b","Test":"TestCases"}
			{"Action":"run","Package":"muster/b","Test":"TestCases/x"}
			{"Action":"output","Package":"muster/b","Test":"TestCases/x","Output":"wrong\n"}
			{"Action":"fail","Package":"muster/b","Test":"TestCases/x"}
			{"Action":"fail","Package":"muster/b","Test":"TestCases"}
			{"Action":"fail","Package":"muster/b"}`,
			false, []string{"    wrong", "FAIL muster/b TestCases/x", "0 passed, 1 failed, 0 skipped"}},
		"a test cut off": {`
			{"Action":"run","Package":"muster/a","Test":"TestX"}
			{"Action":"output","Package":"muster/a","Test":"TestX","Output":"panic: test timed out\n"}
			{"Action":"fail","Package":"muster/a"}`,
			false, []string{"panic: test timed out", "FAIL muster/a TestX", "0 passed, 1 failed, 0 skipped"}},
		"a package that does not build": {`
			{"Action":"build-output","ImportPath":"muster/a [muster/a.test]","Output":"undefined: x\n"}
			{"Action":"build-fail","ImportPath":"muster/a [muster/a.test]"}
			{"Action":"fail","Package":"muster/a","FailedBuild":"muster/a [muster/a.test]"}`,
			false, []string{"undefined: x", "FAIL muster/a does not build", "0 passed, 1 failed, 0 skipped"}},
	} {
		t.Run(name, func(t *testing.T) {
			skips, err := parseSkips("skips.txt", skipList)
			require.NoError(t, err)
			var out strings.Builder
			r := newReport(&out)
			require.NoError(t, read(strings.NewReader(c.events), r))
			assert.Equal(t, c.ok, r.finish(skips))
			for _, want := range c.wants {
				assert.Contains(t, out.String(), want)
			}
		})
	}
}

func TestParseSkips(t *testing.T) {
	for text, want := range map[string]string{
		"a TestX":           "skips.txt:1: want a package, a test and what is missing",
		"\na Test( nothing": "skips.txt:2: error parsing regexp",
	} {
		_, err := parseSkips("skips.txt", text)
		require.ErrorContains(t, err, want)
	}
}
