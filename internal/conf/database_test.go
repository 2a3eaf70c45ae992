package conf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func loadDB(t *testing.T, files ...string) (*Database, error) {
	t.Helper()
	return LoadDatabase(filepath.Dir(write(t, files...)), os.Getuid())
}

func TestDatabase(t *testing.T) {
	d, err := loadDB(t)
	require.NoError(t, err)
	assert.False(t, d.Given())

	d, err = loadDB(t, "slurmdbd.conf", `StorageType=accounting_storage/postgresql
StorageHost=db1
StorageBackupHost=db2
StorageUser=u
StoragePass="p@ss/word"
StorageLoc=jobs
StorageParameters=SSL_CA=/etc/ca.pem
PurgeJobAfter=12months
PurgeStepAfter=3
PurgeEventAfter=48hours
DbdHost=x
`)
	require.NoError(t, err)
	assert.True(t, d.Given())
	assert.Equal(t, "postgres://u:p%40ss%2Fword@db1:5432,db2:5432/jobs?sslrootcert=%2Fetc%2Fca.pem", d.ConnString().Reveal())
	assert.Equal(t, "u@db1,db2:5432/jobs", d.String())
	assert.Equal(t, map[string]Retention{"Job": {12, "month"}, "Step": {3, "month"}, "Event": {48, "hour"}}, d.Purge)
	assert.Len(t, d.Notices, 1)

	d, err = loadDB(t, "muster.conf", "DatabaseURL=postgres://u:pw@h/d\n")
	require.NoError(t, err)
	assert.Equal(t, "postgres://u:pw@h/d", d.ConnString().Reveal())
	assert.NotContains(t, d.String(), "pw")

	d, err = loadDB(t, "slurmdbd.conf", "StorageHost=/run/postgresql\nStorageUser=u\nStorageLoc=x\n")
	require.NoError(t, err)
	assert.Equal(t, "postgres://u@/x?host=%2Frun%2Fpostgresql&port=5432", d.ConnString().Reveal())
}

func TestMySQLIsNotTakenForPostgreSQL(t *testing.T) {
	d, err := loadDB(t, "slurmdbd.conf", "StorageType=accounting_storage/mysql\nStorageHost=db\nStoragePass=x\n")
	require.NoError(t, err)
	assert.False(t, d.Given())
	assert.Contains(t, d.Notices[0], "is not used")
}

func TestDatabaseMistakes(t *testing.T) {
	_, err := loadDB(t, "muster.conf", "DatabaseURL=mysql://u:topsecret@h/d\n")
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "topsecret")
	_, err = loadDB(t, "slurmdbd.conf", "StorageHost=h\nStoragePass=topsecret\nStoragePassScript=/x\nPurgeJobAfter=soon\nStoragePas=topsecret\nStoragePort=0\n")
	var errs Errors
	require.ErrorAs(t, err, &errs)
	assert.Len(t, errs, 4)
	assert.NotContains(t, err.Error(), "topsecret")
}

func TestDatabaseFileMustBePrivate(t *testing.T) {
	dir := filepath.Dir(write(t, "muster.conf", "DatabaseURL=postgres://u:pw@h/d\n"))
	path := filepath.Join(dir, "muster.conf")
	require.NoError(t, os.Chmod(path, 0o640))
	_, err := LoadDatabase(dir, os.Getuid())
	assert.EqualError(t, err, path+" may hold a password and must have mode 0600, it has 0640: chmod 600 "+path)
	require.NoError(t, os.Chmod(path, 0o600))
	_, err = LoadDatabase(dir, os.Getuid()+4242)
	require.Error(t, err)
	assert.Contains(t, err.Error(), fmt.Sprintf("chown %d %s", os.Getuid()+4242, path))
}

func TestSecretNeverShows(t *testing.T) {
	d := Database{Pass: NewSecret("topsecret"), URL: NewSecret("topsecret"), Hosts: []string{"h"}}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "d", d, "s", d.Pass)
	j, err := json.Marshal(d)
	require.NoError(t, err)
	for _, out := range []string{
		fmt.Sprint(d), fmt.Sprintf("%+v", d), fmt.Sprintf("%#v", d), fmt.Sprintf("%x", d.Pass), fmt.Sprintf("%q", &d.Pass),
		fmt.Sprintf("%s", d.Pass), log.String(), string(j), fmt.Sprintf("%v", &d),
	} {
		assert.NotContains(t, out, "topsecret")
		assert.NotContains(t, out, fmt.Sprintf("%x", "topsecret"))
	}
	assert.Equal(t, "topsecret", d.Pass.Reveal())
}
