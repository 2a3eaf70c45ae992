package controller

import (
	"context"

	"muster/internal/model"
)

// Store keeps the state. Its calls come from one goroutine at a time.
type Store interface {
	// Load reads everything that a leader needs.
	Load(ctx context.Context) (*model.Tables, error)
	// Commit writes a batch whole or not at all. The error explains an outcome
	// that is not Committed.
	Commit(ctx context.Context, b *model.Batch) (model.Outcome, error)
	// LastBatch reads the number of the last batch written.
	LastBatch(ctx context.Context) (uint64, error)
}
