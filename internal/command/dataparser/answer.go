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

// Finish writes what stands at the end of every answer, and ends it. It returns
// the command's exit code.
func Finish(ctx context.Context, p *command.Program, w *Writer, cluster string) int {
	writeMeta(ctx, p, w, cluster)
	w.List("errors")
	w.End()
	w.List("warnings")
	w.End()
	if err := w.Close(); err != nil {
		p.Error("writing to standard output: %v", err)
		return command.ExitError
	}
	return 0
}

// writeMeta says who answered whom.
func writeMeta(ctx context.Context, p *command.Program, w *Writer, cluster string) {
	w.Object("meta")
	w.Object("plugin")
	w.String("type", "")
	w.String("name", "")
	w.String("data_parser", "data_parser/"+Name)
	w.String("accounting_storage", "accounting_storage/slurmdbd")
	w.End()
	w.Object("client")
	w.String("source", source())
	user, group := names(ctx, uint32(os.Getuid()), uint32(os.Getgid()))
	w.String("user", user)
	w.String("group", group)
	w.End()
	w.Strings("command", append([]string{p.Name}, p.Args...))
	w.Object("slurm")
	w.Object("version")
	major, rest, _ := strings.Cut(command.Version, ".")
	minor, micro, _ := strings.Cut(rest, ".")
	w.String("major", major)
	w.String("micro", micro)
	w.String("minor", minor)
	w.End()
	w.String("release", command.Version)
	w.String("cluster", cluster)
	w.End()
	w.End()
}

// source is the terminal or file that standard input is.
func source() string {
	name, err := os.Readlink("/proc/self/fd/0")
	if err != nil {
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
