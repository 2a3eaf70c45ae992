package auth

import (
	"crypto/tls"
	"errors"
	"fmt"
)

// BindingSize is the length of a channel binding.
const BindingSize = 32

const bindingLabel = "EXPORTER-muster-auth"

// Binding returns the value that only the two ends of this one TLS connection
// know. A token names it, so the token cannot be used on another connection,
// not even by the server that received it.
func Binding(conn *tls.Conn) ([]byte, error) {
	state := conn.ConnectionState()
	if !state.HandshakeComplete || state.Version < tls.VersionTLS13 {
		return nil, errors.New("channel binding needs a completed TLS 1.3 handshake")
	}
	value, err := state.ExportKeyingMaterial(bindingLabel, nil, BindingSize)
	if err != nil {
		return nil, fmt.Errorf("channel binding: %w", err)
	}
	return value, nil
}
