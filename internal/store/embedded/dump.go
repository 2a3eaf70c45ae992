package embedded

import (
	"bytes"
	"context"
	"fmt"
	neturl "net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Dump writes the database that url names into a file that only its owner can
// read, with the pg_dump of the server's version or a newer one. binDir is as
// in Config. The file appears whole or not at all.
func Dump(ctx context.Context, url, binDir, file string) error {
	tmp := file + ".new"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	defer f.Close()
	cmd, err := tool(ctx, url, binDir, "pg_dump", "-Fc", "--no-owner", "--no-privileges")
	if err != nil {
		os.Remove(tmp)
		return fmt.Errorf("dump: %w", err)
	}
	cmd.Stdout = f
	if err := runTool(cmd); err != nil {
		os.Remove(tmp)
		return fmt.Errorf("dump: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("dump: writing %s: %w", tmp, err)
	}
	if err := os.Rename(tmp, file); err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	return nil
}

// Restore fills the database that url names, which must not hold a cluster
// yet, from a file that Dump wrote. All of it or nothing.
func Restore(ctx context.Context, url, binDir, file string) error {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	var there bool
	err = c.QueryRow(ctx, "SELECT to_regnamespace('muster') IS NOT NULL").Scan(&there)
	c.Close(ctx)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if there {
		return fmt.Errorf("restore: the database already holds a cluster: name an empty one, or move the database's folder away first")
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer f.Close()
	cfg, err := pgconn.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("restore: the database's URL cannot be read")
	}
	cmd, err := tool(ctx, url, binDir, "pg_restore", "--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction", "-d", cfg.Database)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	cmd.Stdin = f
	if err := runTool(cmd); err != nil {
		return fmt.Errorf("restore from %s: %w", file, err)
	}
	return nil
}

// tool prepares a client program of the newest installed version. How to
// connect is passed in the environment, where `ps` does not show it.
func tool(ctx context.Context, url, binDir, program string, args ...string) (*exec.Cmd, error) {
	cfg, err := pgconn.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("the database's URL cannot be read")
	}
	path := ""
	if found, err := Find(binDir); err == nil {
		path = found[0].path(program)
	} else if path, err = exec.LookPath(program); err != nil {
		return nil, fmt.Errorf("%s is not installed: install the package postgresql-client", program)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(serverEnvironment(), "PGHOST="+cfg.Host, "PGPORT="+strconv.Itoa(int(cfg.Port)),
		"PGUSER="+cfg.User, "PGDATABASE="+cfg.Database, "PGPASSWORD="+cfg.Password, "PGCONNECT_TIMEOUT=10")
	for _, name := range []string{"sslmode", "sslrootcert", "sslcert", "sslkey"} {
		if v := parameter(url, name); v != "" {
			cmd.Env = append(cmd.Env, "PG"+strings.ToUpper(name)+"="+v)
		}
	}
	return cmd, nil
}

// parameter takes one plain setting out of a connection string or URL, so that
// the tools verify a server no less than the store does.
func parameter(conn, name string) string {
	if u, err := neturl.Parse(conn); err == nil && u.Scheme != "" {
		return u.Query().Get(name)
	}
	for _, word := range strings.Fields(conn) {
		if v, ok := strings.CutPrefix(word, name+"="); ok {
			return strings.Trim(v, "'")
		}
	}
	return ""
}

func runTool(cmd *exec.Cmd) error {
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd.Path, err, lastLine(complaint.String()))
	}
	return nil
}

// quote puts a value of a connection string into quotes.
func quote(v string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v) + "'"
}
