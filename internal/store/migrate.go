package store

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	ternmigrate "github.com/jackc/tern/v2/migrate"
)

const versionTable = "muster.schema_version"

// SchemaNewerError says that a newer program has changed the tables.
type SchemaNewerError struct{ Found, Known int }

func (e *SchemaNewerError) Error() string {
	return fmt.Sprintf("the database's schema is version %d and this ctld knows up to %d: start a newer ctld", e.Found, e.Known)
}

func migrationFolder() fs.FS {
	sub, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	return sub
}

// checkSchema refuses tables that a newer program made. It is asked before the
// lease is taken, so that an old program never leads, not even for a moment.
func checkSchema(ctx context.Context, c *pgx.Conn) error {
	known, err := ternmigrate.FindMigrations(migrationFolder())
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	var there bool
	if err := c.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", versionTable).Scan(&there); err != nil {
		return fmt.Errorf("reading the schema's version: %w", err)
	}
	if !there {
		return nil
	}
	var found int
	if err := c.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM "+versionTable).Scan(&found); err != nil {
		return fmt.Errorf("reading the schema's version: %w", err)
	}
	if found > len(known) {
		return &SchemaNewerError{Found: found, Known: len(known)}
	}
	return nil
}

func migrate(ctx context.Context, c *pgx.Conn) error {
	m, err := ternmigrate.NewMigrator(ctx, c, versionTable)
	if err != nil {
		return fmt.Errorf("preparing the migrations: %w", err)
	}
	if err := m.LoadMigrations(migrationFolder()); err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	if err := m.Migrate(ctx); err != nil {
		return fmt.Errorf("migrating the database: %w", err)
	}
	return nil
}
