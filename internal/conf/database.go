package conf

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Database names an external PostgreSQL. Its String tells all but passwords.
type Database struct {
	File    string // that names it
	URL     Secret // as given in muster.conf; empty when the parts below were given
	Hosts   []string
	Port    int
	Name    string
	User    string
	Pass    Secret
	Script  string // prints the password
	Params  Options
	Purge   map[string]Retention // by kind: Job, Step, Event ...; absent: kept for ever
	Notices []string
}

// Given tells whether a database is named at all; if not, the controller starts its
// own.
func (d *Database) Given() bool { return d != nil && (!d.URL.Empty() || len(d.Hosts) > 0) }

// ConnString is what pgx connects with. It holds the password.
func (d *Database) ConnString() Secret {
	if !d.URL.Empty() {
		return d.URL
	}
	hosts := make([]string, len(d.Hosts))
	for i, h := range d.Hosts {
		hosts[i] = net.JoinHostPort(h, strconv.Itoa(d.Port))
	}
	u := url.URL{Scheme: "postgres", Host: strings.Join(hosts, ","), Path: "/" + d.Name}
	q := url.Values{}
	if len(d.Hosts) == 1 && strings.HasPrefix(d.Hosts[0], "/") { // a socket's folder
		u.Host = ""
		q.Set("host", d.Hosts[0])
		q.Set("port", strconv.Itoa(d.Port))
	}
	for _, o := range d.Params {
		if key, ok := sslParams[strings.ToUpper(o.Name)]; ok {
			q.Set(key, o.Value)
		}
	}
	u.RawQuery = q.Encode()
	u.User = url.User(d.User)
	if !d.Pass.Empty() {
		u.User = url.UserPassword(d.User, d.Pass.Reveal())
	}
	return NewSecret(u.String())
}

// sslParams turn StorageParameters into libpq's names.
var sslParams = map[string]string{"SSL_CERT": "sslcert", "SSL_KEY": "sslkey", "SSL_CA": "sslrootcert", "SSL_MODE": "sslmode"}

func (d *Database) String() string {
	if !d.Given() {
		return "none"
	}
	if !d.URL.Empty() {
		return "the database of " + d.File
	}
	return fmt.Sprintf("%s@%s:%d/%s", d.User, strings.Join(d.Hosts, ","), d.Port, d.Name)
}

// LoadDatabase reads muster.conf and slurmdbd.conf in dir, for the controller only.
// Each that exists must have mode 0600 and belong to ownerUID. The result is never
// nil without error; without either file it names no database. A DatabaseURL in
// muster.conf goes before what slurmdbd.conf says.
func LoadDatabase(dir string, ownerUID int) (*Database, error) {
	d := &Database{Purge: map[string]Retention{}}
	rep := &report{}
	own, err := readPrivate(filepath.Join(dir, "muster.conf"), ownerUID, rep)
	if err != nil {
		return nil, err
	}
	dbd, err := readPrivate(filepath.Join(dir, "slurmdbd.conf"), ownerUID, rep)
	if err != nil {
		return nil, err
	}
	d.readDBD(filepath.Join(dir, "slurmdbd.conf"), dbd, rep)
	d.readOwn(filepath.Join(dir, "muster.conf"), own, rep)
	d.Notices = rep.notices
	if err := rep.err(); err != nil {
		return nil, err
	}
	return d, nil
}

// readPrivate reads a file that holds a password; nil when it does not exist.
func readPrivate(path string, ownerUID int, rep *report) ([]line, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the database's configuration: %w", err)
	}
	if err := CheckPrivate(path, info, ownerUID); err != nil {
		return nil, err
	}
	return readFile(path, rep)
}

// CheckPrivate refuses a file that others could read or that belongs to somebody
// else, and names the remedy.
func CheckPrivate(path string, info os.FileInfo, ownerUID int) error {
	if mode := info.Mode().Perm(); mode != 0o600 && mode != 0o400 {
		return fmt.Errorf("%s may hold a password and must have mode 0600, it has %04o: chmod 600 %s", path, mode, path)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: the owner cannot be told", path)
	}
	if int(stat.Uid) != ownerUID {
		return fmt.Errorf("%s may hold a password and must belong to SlurmUser (uid %d), it belongs to uid %d: chown %d %s",
			path, ownerUID, stat.Uid, ownerUID, path)
	}
	return nil
}

var musterParams = [...]Param{
	{"DatabaseURL", KString, "", acts | secret, "", "", ""},
}

func (d *Database) readOwn(path string, lines []line, rep *report) {
	t := readTable(lines, musterParams[:], "muster.conf", rep)
	text := t.str("DatabaseURL")
	if text == "" {
		return
	}
	at := t.values["databaseurl"].Pos
	if !strings.HasPrefix(text, "postgres://") && !strings.HasPrefix(text, "postgresql://") {
		rep.errorf(at, "DatabaseURL: wanted postgres://user:password@host:port/name")
		return
	}
	if d.Given() {
		rep.noticef(at, "DatabaseURL is used, the database of slurmdbd.conf is not")
	}
	d.File, d.URL = path, NewSecret(text)
}

func (d *Database) readDBD(path string, lines []line, rep *report) {
	t := readTable(lines, dbdParams[:], "slurmdbd.conf", rep)
	d.readPurge(t, rep)
	kind := strings.TrimPrefix(strings.ToLower(t.str("StorageType")), "accounting_storage/")
	switch kind {
	case "mysql":
		rep.noticef(t.values["storagetype"].Pos, "StorageType=accounting_storage/mysql is Slurm's MySQL or MariaDB and is not used; "+
			"name a PostgreSQL with StorageType=accounting_storage/postgresql, or leave the file away to have one started")
		return
	case "none":
		return
	case "": // a file that only says how long records are kept
		if !t.given("StorageHost") {
			return
		}
	}
	d.File = path
	d.Hosts = []string{t.str("StorageHost")}
	if b := t.str("StorageBackupHost"); b != "" {
		d.Hosts = append(d.Hosts, b)
	}
	d.Port = t.integer("StoragePort")
	d.Name = t.str("StorageLoc")
	d.User = t.str("StorageUser")
	d.Pass = NewSecret(t.str("StoragePass"))
	d.Script = t.str("StoragePassScript")
	d.Params = parseOptions(t.str("StorageParameters"))
	if d.Port < 1 || d.Port > 65535 {
		rep.errorf(t.values["storageport"].Pos, "StoragePort: %s is no port", t.str("StoragePort"))
	}
	if !d.Pass.Empty() && d.Script != "" {
		rep.errorf(t.values["storagepassscript"].Pos, "StoragePass and StoragePassScript exclude each other")
	}
}
