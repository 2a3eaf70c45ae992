package embedded

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// settingsFile is included by postgresql.conf and written anew at each start.
// What an administrator sets by ALTER SYSTEM comes after it and wins.
const settingsFile = "muster.conf"

// settings are for one controller with a few dozen connections and rows that
// are rewritten all the time. Durability is never traded: the store checks it.
// Statements and row contents stay out of the log: they hold users' text.
const settings = `# Written by ctld at each start; change settings by ALTER SYSTEM.
listen_addresses = ''
unix_socket_directories = '%s'
unix_socket_permissions = 0700
port = %d
max_connections = 30
superuser_reserved_connections = 3

fsync = on
full_page_writes = on
synchronous_commit = on

shared_buffers = 64MB
work_mem = 8MB
maintenance_work_mem = 64MB
max_parallel_workers_per_gather = 0
jit = off
max_wal_size = 1GB
min_wal_size = 80MB
checkpoint_timeout = 15min
checkpoint_completion_target = 0.9
autovacuum_naptime = 20s
autovacuum_vacuum_cost_limit = 1000

logging_collector = off
log_destination = stderr
log_line_prefix = '%%m [%%p] '
log_min_messages = warning
log_min_error_statement = panic
log_error_verbosity = terse
log_statement = none
log_checkpoints = off
log_timezone = UTC
timezone = UTC
`

const port = 5432 // only part of the socket's name

// socketMax is what sun_path can hold, less the name of the socket in it.
const socketMax = 107 - len("/.s.PGSQL.5432.lock")

// socketFolder is beside the data where that is short enough, else a short
// name made of the data folder's path.
func socketFolder(state string) string {
	dir := filepath.Join(state, "pg")
	if len(dir) <= socketMax && !strings.ContainsAny(dir, `'",\`) {
		return dir
	}
	sum := sha256.Sum256([]byte(state))
	name := "muster-" + hex.EncodeToString(sum[:6])
	if os.Geteuid() == 0 {
		return filepath.Join("/run", name)
	}
	return filepath.Join("/tmp", fmt.Sprintf("%s-%d", name, os.Geteuid()))
}

func writeSettings(o owner, data, socket string) error {
	path := filepath.Join(data, settingsFile)
	tmp := path + ".new"
	if err := os.WriteFile(tmp, fmt.Appendf(nil, settings, socket, port), 0o600); err != nil {
		return err
	}
	if err := o.give(tmp); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// includeSettings makes postgresql.conf read our file.
func includeSettings(data string) error {
	f, err := os.OpenFile(filepath.Join(data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "\ninclude = '%s'\n", settingsFile)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
