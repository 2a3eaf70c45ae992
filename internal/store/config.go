package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Config says where the database is and how to use it.
type Config struct {
	// URL is a connection URL or string, of several hosts perhaps. Without it
	// the parts count, which slurmdbd.conf names.
	URL      string
	Host     string // StorageHost; a comma list, or a socket's folder
	Port     int
	Database string
	User     string
	Password string

	PoolSize      int           // connections for reading; 0 = 8
	CommitTimeout time.Duration // after it a commit is Unknown; 0 = 30 s
	PurgeAfter    time.Duration // age at which months of history go; 0 = never
	KeepContents  bool          // AccountingStoreFlags: scripts and environments outlive their jobs
	Log           *slog.Logger
}

// minServer is the oldest server whose SQL we speak (server_version_num).
const minServer = 130000

// NotDurableError says that the server may lose what it acknowledged.
type NotDurableError struct{ Setting string }

func (e *NotDurableError) Error() string {
	return fmt.Sprintf("the database has %s off and would lose acknowledged jobs in a crash: set %s = on in postgresql.conf", e.Setting, e.Setting)
}

// ErrServerTooOld says that the server's version is not supported.
var ErrServerTooOld = errors.New("the database server is older than PostgreSQL 13")

// errBadURL replaces the parser's errors, which may quote a password.
var errBadURL = errors.New("the database's URL cannot be read (wanted: postgres://USER:PASSWORD@HOST:PORT/DATABASE)")

// connConfig makes the settings of every connection.
func (c Config) connConfig() (*pgx.ConnConfig, error) {
	url := c.URL
	if url == "" {
		url = c.parts()
	}
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errBadURL
	}
	if c.URL == "" {
		cfg.Password = c.Password
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 5 * time.Second
	}
	if cfg.ValidateConnect == nil { // of several hosts the one that may write
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	for name, value := range map[string]string{
		"application_name": "ctld", "search_path": "muster", "timezone": "UTC", "lock_timeout": "10s",
		"statement_timeout": "60s", "idle_in_transaction_session_timeout": "60s", "client_min_messages": "warning",
	} {
		cfg.RuntimeParams[name] = value
	}
	if cfg.RuntimeParams["synchronous_commit"] != "remote_apply" {
		cfg.RuntimeParams["synchronous_commit"] = "on"
	}
	cfg.AfterConnect = checkServer
	return cfg, nil
}

// parts makes a connection string; the password is set apart from it.
func (c Config) parts() string {
	var b strings.Builder
	add := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s='%s' ", name, strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value))
		}
	}
	add("host", c.Host)
	if c.Port != 0 {
		add("port", strconv.Itoa(c.Port))
	}
	add("dbname", c.Database)
	add("user", c.User)
	return b.String()
}

// checkServer refuses a server that is too old or does not keep what it
// acknowledges. It runs on each new connection: settings change.
func checkServer(ctx context.Context, conn *pgconn.PgConn) error {
	const ask = "SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'), current_setting('server_version_num')"
	results, err := conn.Exec(ctx, ask).ReadAll()
	if err != nil {
		return fmt.Errorf("asking for the database's settings: %w", err)
	}
	row := results[0].Rows[0]
	if version, err := strconv.Atoi(string(row[3])); err != nil || version < minServer {
		return ErrServerTooOld
	}
	for i, setting := range []string{"fsync", "full_page_writes"} {
		if string(row[i]) != "on" {
			return &NotDurableError{setting}
		}
	}
	if v := string(row[2]); v != "on" && v != "remote_apply" {
		return &NotDurableError{"synchronous_commit"}
	}
	return nil
}

// secretError keeps a password out of an error's text.
type secretError struct {
	err    error
	secret string
}

func (e *secretError) Error() string { return strings.ReplaceAll(e.err.Error(), e.secret, "***") }
func (e *secretError) Unwrap() error { return e.err }

// hide wraps an error of a connection. Short passwords are hidden too: a
// mangled message is better than a known password.
func hide(err error, password string) error {
	if err == nil || password == "" || !strings.Contains(err.Error(), password) {
		return err
	}
	return &secretError{err, password}
}
