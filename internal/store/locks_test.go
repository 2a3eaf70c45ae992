package store_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// hold runs sql in a transaction that stays open until the function returned
// is called.
func hold(t *testing.T, url, sql string) func() {
	t.Helper()
	c, err := pgx.Connect(context.Background(), url)
	require.NoError(t, err)
	_, err = c.Exec(context.Background(), "BEGIN")
	require.NoError(t, err)
	_, err = c.Exec(context.Background(), sql)
	require.NoError(t, err)
	closed := false
	release := func() {
		if !closed {
			closed = true
			c.Close(context.Background())
		}
	}
	t.Cleanup(release)
	return release
}

func lockLease(t *testing.T, url string) func() {
	return hold(t, url, "SELECT FROM muster.lease FOR UPDATE")
}
