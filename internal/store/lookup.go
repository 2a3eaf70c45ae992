package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrNoContent says that a script or an environment is not kept (any more).
var ErrNoContent = errors.New("the script or environment is not kept any more")

// Content reads a script or an environment. Its owner is the uid of the
// request (JobSpec.uid) that names it.
func (s *Store) Content(ctx context.Context, uid uint32, hash []byte) ([]byte, error) {
	var data []byte
	err := s.read(ctx, func() error {
		return s.pool.QueryRow(ctx, query("content_get"), int64(uid), hash).Scan(&data)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, ErrNoContent
	}
	if err != nil {
		return nil, fmt.Errorf("reading a script or environment: %w", hide(err, s.conn.Password))
	}
	return data, nil
}

// Request finds the answer that a request got.
func (s *Store) Request(ctx context.Context, id string, uid uint32) (reply []byte, found bool, err error) {
	err = s.read(ctx, func() error {
		return s.pool.QueryRow(ctx, query("request_get"), []byte(id), int64(uid)).Scan(&reply)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("looking for a request's answer: %w", hide(err, s.conn.Password))
	}
	return reply, true, nil
}

// read does something that may be done twice. The connections of the pool may
// have died unnoticed, all of them when the server was restarted: then they are
// dropped and it is done again, once.
func (s *Store) read(ctx context.Context, f func() error) error {
	err := f()
	if err == nil || ctx.Err() != nil || errors.Is(err, pgx.ErrNoRows) || errors.Is(err, ErrFenced) {
		return err
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && !strings.HasPrefix(pg.Code, "57P") {
		return err
	}
	s.pool.Reset()
	return f()
}
