package wire

import (
	"context"

	"storj.io/drpc/drpcmetadata"
)

// retryKey travels with a call that is made again.
const retryKey = "retry"

// WithRetry marks a call as a repeat: its first try may have been carried out
// though its reply was lost.
func WithRetry(ctx context.Context) context.Context {
	return drpcmetadata.Add(ctx, retryKey, "1")
}

// IsRetry tells a server whether the call is a repeat.
func IsRetry(ctx context.Context) bool {
	data, _ := drpcmetadata.Get(ctx)
	return data[retryKey] != ""
}
