package client

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimeOfTheCommandDoesNotCount(t *testing.T) {
	const limit = 30 * time.Millisecond
	ctx, cancel := withPatience(context.Background(), limit)
	defer cancel()
	for range 3 { // more than the limit, together and each
		require.NoError(t, Use(ctx, func() error {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(2 * limit):
				return nil
			}
		}))
	}
	select {
	case <-ctx.Done():
		require.ErrorIs(t, context.Cause(ctx), ErrTimeout)
	case <-time.After(10 * time.Second):
		t.Fatal("a controller that says nothing is waited for without end")
	}
	called := false
	require.NoError(t, Use(ctx, func() error { called = true; return nil }))
	require.True(t, called)
}
