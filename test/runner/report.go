package main

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"time"
)

// event is one line of `go test -json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of output and failure of a build
	Test        string
	Output      string
	Elapsed     float64 // seconds
	FailedBuild string
}

// report collects what became of the tests and tells it as packages end.
type report struct {
	out      io.Writer
	begun    time.Time
	tests    map[key]*result
	packages map[string]*result
	builds   map[string]*strings.Builder
	broken   []string // packages that failed without a failed test
}

type key struct{ pkg, test string }

type result struct {
	status string // pass, fail, skip; empty while it runs
	output strings.Builder
	parent bool // has subtests
	failed bool // a subtest failed
}

func newReport(out io.Writer) *report {
	return &report{out: out, begun: time.Now(), tests: map[key]*result{}, packages: map[string]*result{}, builds: map[string]*strings.Builder{}}
}

func (r *report) add(e event) {
	switch {
	case e.Action == "build-output":
		b := r.builds[e.ImportPath]
		if b == nil {
			b = &strings.Builder{}
			r.builds[e.ImportPath] = b
		}
		b.WriteString(e.Output)
	case e.Action == "build-fail" || e.Package == "":
	case e.Test == "":
		r.addPackage(e)
	default:
		r.addTest(e)
	}
}

func (r *report) addTest(e event) {
	t := r.tests[key{e.Package, e.Test}]
	if t == nil {
		t = &result{}
		r.tests[key{e.Package, e.Test}] = t
		for name := e.Test; ; {
			cut := strings.LastIndex(name, "/")
			if cut < 0 {
				break
			}
			name = name[:cut]
			if p := r.tests[key{e.Package, name}]; p != nil {
				p.parent = true
			}
		}
	}
	switch e.Action {
	case "output":
		t.output.WriteString(e.Output)
	case "pass", "skip":
		t.status = e.Action
	case "fail":
		t.status = e.Action
		for name := e.Test; strings.Contains(name, "/"); {
			name = name[:strings.LastIndex(name, "/")]
			if p := r.tests[key{e.Package, name}]; p != nil {
				p.failed = true
			}
		}
	}
}

func (r *report) addPackage(e event) {
	p := r.packages[e.Package]
	if p == nil {
		p = &result{}
		r.packages[e.Package] = p
	}
	switch e.Action {
	case "output":
		p.output.WriteString(e.Output)
	case "pass":
		fmt.Fprintf(r.out, "ok   %-45s %6.1fs\n", e.Package, e.Elapsed)
	case "fail":
		fmt.Fprintf(r.out, "FAIL %-45s %6.1fs\n", e.Package, e.Elapsed)
		r.tell(e, p)
	}
	// "skip" is a package without tests.
}

// tell shows the output of what failed in a package, tests cut off included.
func (r *report) tell(e event, p *result) {
	told := false
	for _, k := range r.sorted(e.Package) {
		t := r.tests[k]
		if t.status == "" {
			t.status = "fail"
		}
		if t.status == "fail" {
			told = true
			fmt.Fprint(r.out, indent(t.output.String()))
		}
	}
	if !told {
		r.broken = append(r.broken, e.Package)
	}
	if b := r.builds[e.FailedBuild]; b != nil {
		fmt.Fprint(r.out, indent(b.String()))
	}
	fmt.Fprint(r.out, indent(p.output.String()))
}

func (r *report) sorted(pkg string) []key {
	var keys []key
	for k := range r.tests {
		if pkg == "" || k.pkg == pkg {
			keys = append(keys, k)
		}
	}
	sort.Slice(keys, func(i, j int) bool {
		if keys[i].pkg != keys[j].pkg {
			return keys[i].pkg < keys[j].pkg
		}
		return keys[i].test < keys[j].test
	})
	return keys
}

func indent(text string) string {
	if text == "" {
		return ""
	}
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}

// finish lists skips and failures and says whether all is well. A test with
// subtests counts only where it failed by itself.
func (r *report) finish(skips []skip) bool {
	passed, skipped := 0, 0
	var failures []string
	for _, k := range r.sorted("") {
		t := r.tests[k]
		switch {
		case t.status == "pass" && !t.parent:
			passed++
		case t.status == "skip":
			skipped++
			if missing, ok := listed(skips, k.pkg, k.test); ok {
				fmt.Fprintf(r.out, "skip %s %s: %s\n", k.pkg, k.test, missing)
			} else {
				failures = append(failures, fmt.Sprintf("%s %s is skipped but not listed in test/skips.txt", k.pkg, k.test))
				fmt.Fprint(r.out, indent(t.output.String()))
			}
		case (t.status == "fail" || t.status == "") && !t.failed:
			failures = append(failures, k.pkg+" "+k.test)
		}
	}
	for _, pkg := range r.broken {
		failures = append(failures, pkg+" does not build, or ended outside of a test")
	}
	for _, f := range failures {
		fmt.Fprintln(r.out, "FAIL", f)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped in %.0f s\n", passed, len(failures), skipped, time.Since(r.begun).Seconds())
	return len(failures) == 0
}
