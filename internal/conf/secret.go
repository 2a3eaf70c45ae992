package conf

import (
	"fmt"
	"log/slog"
)

// Secret is text that must not be printed. However it is formatted, logged or
// marshalled, it shows as ***; Reveal is the only way to its content.
type Secret struct{ text string }

const hiddenText = "***"

// NewSecret wraps a text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal gives the text itself, for the one place that needs it.
func (s Secret) Reveal() string { return s.text }

// Empty tells whether there is no text.
func (s Secret) Empty() bool { return s.text == "" }

func (s Secret) String() string { return hiddenText }

// GoString serves %#v.
func (s Secret) GoString() string { return hiddenText }

// Format serves every verb, so that %x or %q of a surrounding struct tell nothing.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hiddenText)) }

// MarshalText serves encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hiddenText), nil }

// LogValue serves slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(hiddenText) }
