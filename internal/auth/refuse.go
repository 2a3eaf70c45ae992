package auth

import (
	"errors"
	"fmt"
)

// RefusedError is the server's "no" as the client sees it.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "authentication refused: " + e.Reason }

// Refuse makes an error whose text may be told to the peer that was refused.
// The text of every other error stays in the server's log, because it may name
// what a stranger should not learn.
func Refuse(format string, args ...any) error {
	return &publicError{text: fmt.Sprintf(format, args...)}
}

type publicError struct{ text string }

func (e *publicError) Error() string { return e.text }

// publicText is what the peer is told about an error.
func publicText(err error) string {
	var public *publicError
	if errors.As(err, &public) {
		return public.text
	}
	return "the server could not verify the credentials; its log says why"
}
