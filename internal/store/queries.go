package store

import (
	"embed"
	"fmt"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

//go:embed migrations/*.sql
var migrationFiles embed.FS

// query reads the statement of a file in sql/.
func query(name string) string {
	raw, err := sqlFiles.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(fmt.Sprintf("store: no statement %q: %v", name, err))
	}
	return string(raw)
}

// writes are the statements of a commit, prepared on the writing connection.
var writes = []string{
	"fence", "job_new", "job_change", "job_request_put", "job_purge", "step_put", "step_gone",
	"node_put", "node_gone", "partition_put", "partition_gone", "content_put", "content_touch",
	"request_put", "run_put", "run_move",
}
