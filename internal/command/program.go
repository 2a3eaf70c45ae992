// Package command is the frame of the programs that users run: how their words
// reach them, how they speak (`sbatch: error: …`) and how they end.
//
// It connects to nothing and knows no command's options; package client opens
// the connection, package getopt reads words, package option knows what sbatch,
// srun and salloc may be told.
package command

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/urfave/cli/v2"
)

// Version is the release whose behaviour the commands have; programs parse it
// in `sbatch --version`.
const Version = "26.05.0"

// Exit codes of a command's own errors.
const (
	ExitError = 1
	ExitUsage = 255 // a bad option
)

// Program is one running command.
type Program struct {
	Name   string
	Args   []string // without the program's name
	Getenv func(string) string
	Stdin  *os.File
	Stdout *bufio.Writer // flushed at the end, and before anything goes to Stderr
	Stderr io.Writer
	// Through is standard output without the buffer, for what passes through as
	// it comes. It is not to be mixed with Stdout.
	Through io.Writer
	// Level is how much is said: 0 as usual, -v adds one, -Q makes it negative.
	Level int
}

// Main runs a command and ends the process with what it returns.
func Main(name string, run func(p *Program) int) {
	code := 0
	app := &cli.App{
		Name:            name,
		Version:         Version,
		HideHelp:        true, // the option tables have --help and --version themselves
		HideVersion:     true,
		SkipFlagParsing: true,
		Action: func(c *cli.Context) error {
			p := New(name, c.Args().Slice())
			code = run(p)
			if err := p.Stdout.Flush(); err != nil && code == 0 {
				p.Error("writing to standard output: %v", err)
				code = ExitError
			}
			return nil
		},
	}
	if err := app.Run(os.Args); err != nil {
		fmt.Fprintf(os.Stderr, "%s: error: %v\n", name, err)
		code = ExitError
	}
	os.Exit(code)
}

// New returns the program on the process's own streams and environment.
func New(name string, args []string) *Program {
	return &Program{
		Name: name, Args: args, Getenv: os.Getenv,
		Stdin: os.Stdin, Stdout: bufio.NewWriterSize(os.Stdout, 64<<10), Stderr: os.Stderr, Through: os.Stdout,
	}
}

// Print writes to standard output.
func (p *Program) Print(format string, args ...any) { fmt.Fprintf(p.Stdout, format, args...) }

// Say writes a line to standard error that -Q silences.
func (p *Program) Say(format string, args ...any) {
	if p.Level >= 0 {
		p.line("", format, args)
	}
}

// Verbose writes a line to standard error when -v was given that often.
func (p *Program) Verbose(level int, format string, args ...any) {
	if p.Level >= level {
		p.line("", format, args)
	}
}

// Error writes a line that says what went wrong.
func (p *Program) Error(format string, args ...any) { p.line("error: ", format, args) }

// ErrorCode is the exit code of an error of the command itself.
func (p *Program) ErrorCode() int {
	if n, err := strconv.Atoi(p.Getenv("SLURM_EXIT_ERROR")); err == nil {
		return n
	}
	return ExitError
}

// Failed is Error with the exit code that goes with it.
func (p *Program) Failed(format string, args ...any) int {
	p.Error(format, args...)
	return p.ErrorCode()
}

// Fatal is Error for what ends the program; it returns the exit code.
func (p *Program) Fatal(format string, args ...any) int {
	p.line("fatal: ", format, args)
	return ExitError
}

// Raw writes a line to standard error without the program's name.
func (p *Program) Raw(format string, args ...any) {
	_ = p.Stdout.Flush()
	fmt.Fprintf(p.Stderr, format+"\n", args...)
}

// Usage reports a command line that getopt cannot read; it returns the exit code.
func (p *Program) Usage(err error) int {
	p.line("", "%s", []any{err})
	p.Raw(`Try "%s --help" for more information`, p.Name)
	return ExitUsage
}

// PrintVersion writes what --version shows.
func (p *Program) PrintVersion() int {
	p.Print("slurm %s\n", Version)
	return 0
}

func (p *Program) line(kind, format string, args []any) {
	_ = p.Stdout.Flush() // in the order in which it was said
	fmt.Fprintf(p.Stderr, "%s: %s%s\n", p.Name, kind, fmt.Sprintf(format, args...))
}
