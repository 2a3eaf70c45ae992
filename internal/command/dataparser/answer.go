package dataparser

import (
	"context"
	"os"
	"strconv"
	"strings"

	"muster/internal/command"
	"muster/internal/users"
)

// Begin begins the answer of a command on its standard output.
func (c *Choice) Begin(p *command.Program) *Writer { return NewWriter(p.Stdout, c.Format) }

// Meta is what an answer says of itself.
type Meta struct {
	Cluster string
	Storage string   // AccountingStorageType
	Command []string // nil = all words of the command line
}

// Failure is an entry of an answer's errors.
type Failure struct {
	Code   uint32 // Slurm's error number, 0 = none
	Text   string
	Source string // the call that failed
}

// Finish writes what stands at the end of every answer, and ends it. It returns
// the command's exit code, which is an error if anything failed.
func Finish(ctx context.Context, p *command.Program, w *Writer, meta Meta, failures ...Failure) int {
	writeMeta(ctx, p, w, meta)
	w.List("errors")
	for _, f := range failures {
		w.Object("")
		w.String("description", f.Text)
		w.Uint("error_number", uint64(f.Code))
		w.String("error", f.Text)
		w.String("source", f.Source)
		w.End()
	}
	w.End()
	w.List("warnings")
	w.End()
	if err := w.Close(); err != nil {
		p.Error("writing to standard output: %v", err)
		return command.ExitError
	}
	if len(failures) > 0 {
		return command.ExitError
	}
	return 0
}

// Lost is Finish for a connection that failed with err. An answer of which
// nothing has left yet is dropped; another is closed, so that it can be read.
func Lost(ctx context.Context, p *command.Program, w *Writer, meta Meta, source string, err error) int {
	if !w.sent {
		return command.ExitError
	}
	return Finish(ctx, p, w, meta, Failure{Text: err.Error(), Source: source})
}

// writeMeta says who answered whom.
func writeMeta(ctx context.Context, p *command.Program, w *Writer, meta Meta) {
	w.Object("meta")
	w.Object("plugin")
	w.String("type", "")
	w.String("name", "")
	w.String("data_parser", "data_parser/"+Name)
	w.String("accounting_storage", plugin("accounting_storage/", meta.Storage))
	w.End()
	w.Object("client")
	w.String("source", source())
	user, group := names(ctx, uint32(os.Getuid()), uint32(os.Getgid()))
	w.String("user", user)
	w.String("group", group)
	w.End()
	words := meta.Command
	if words == nil {
		words = append([]string{p.Name}, p.Args...)
	}
	w.Strings("command", words)
	w.Object("slurm")
	w.Object("version")
	major, rest, _ := strings.Cut(command.Version, ".")
	minor, micro, _ := strings.Cut(rest, ".")
	w.String("major", major)
	w.String("micro", micro)
	w.String("minor", minor)
	w.End()
	w.String("release", command.Version)
	w.String("cluster", meta.Cluster)
	w.End()
	w.End()
}

// plugin is the whole name of a plugin; none has none.
func plugin(kind, name string) string {
	if name = strings.TrimPrefix(strings.ToLower(name), kind); name == "" || name == "none" {
		return ""
	}
	return kind + name
}

// source is the terminal that the command was given on, "" without one.
func source() string {
	name, err := os.Readlink("/proc/self/fd/0")
	if err != nil || name == os.DevNull || !strings.HasPrefix(name, "/dev/") {
		return ""
	}
	return name
}

// names are those of the caller; without one, the number.
func names(ctx context.Context, uid, gid uint32) (user, group string) {
	resolver := users.NewResolver(users.Options{})
	user, group = strconv.Itoa(int(uid)), strconv.Itoa(int(gid))
	if name := resolver.NamesOf(ctx, []uint32{uid})[uid]; name != "" {
		user = name
	}
	if name := resolver.GroupNamesOf(ctx, []uint32{gid})[gid]; name != "" {
		group = name
	}
	return user, group
}
