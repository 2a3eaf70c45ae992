// Command runner runs `go test`, shows what failed whole and the rest in a line
// a package, and holds every skipped test against a list: one that is skipped
// without being listed fails the run.
//
//	runner SKIPS GO-TEST-ARGUMENT...
//
// It must not decide what is tested; `test/run` does.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/run:", err)
		code = 2
	}
	os.Exit(code)
}

func run(args []string) (int, error) {
	if len(args) < 2 {
		return 0, errors.New("usage: runner SKIPS GO-TEST-ARGUMENT...")
	}
	skips, err := readSkips(args[0])
	if err != nil {
		return 0, err
	}
	// go test gets the interrupt of a terminal itself, and we report what it did.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	cmd := exec.Command("go", append([]string{"test", "-json"}, args[1:]...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return 0, fmt.Errorf("reading go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("starting go test: %w", err)
	}
	r := newReport(os.Stdout)
	readErr := read(events, r)
	end := cmd.Wait()
	if readErr != nil {
		return 0, readErr
	}
	ok := r.finish(skips)
	if end != nil && ok {
		fmt.Fprintln(os.Stdout, "FAIL go test:", end)
		ok = false
	}
	if !ok {
		return 1, nil
	}
	return 0, nil
}

func read(events io.Reader, r *report) error {
	for d := json.NewDecoder(events); ; {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading go test: %w", err)
		}
		r.add(e)
	}
}
