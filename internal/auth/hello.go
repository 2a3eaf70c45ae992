package auth

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The frames of the preamble, numbers big-endian:
//
//	hello:  "MUSTER1" method(1) length(4) token
//	answer: "MUSTER1" code(1)   length(4) text     code 0: welcome, no text
//
// The server reads exactly one hello and the client exactly one answer, so
// nothing of what follows on the connection is swallowed.
const (
	magic      = "MUSTER1"
	headerSize = len(magic) + 1 + 4

	maxToken = 16 << 10 // a munge credential with our payload takes some 300 bytes
	maxText  = 1 << 10
)

const (
	answerWelcome = 0
	answerRefused = 1
)

// ErrNotMuster says that the peer does not speak this protocol at all.
var ErrNotMuster = errors.New("the peer does not speak Muster's protocol")

func appendFrame(to []byte, code uint8, body []byte) []byte {
	to = append(to, magic...)
	to = append(to, code)
	to = binary.BigEndian.AppendUint32(to, uint32(len(body)))
	return append(to, body...)
}

// readFrame reads one frame and nothing after it.
func readFrame(r io.Reader, limit int) (code uint8, body []byte, err error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	if string(header[:len(magic)]) != magic {
		return 0, nil, ErrNotMuster
	}
	size := binary.BigEndian.Uint32(header[len(magic)+1:])
	if uint64(size) > uint64(limit) {
		return 0, nil, fmt.Errorf("%w: a frame of %d bytes, at most %d are allowed", ErrNotMuster, size, limit)
	}
	body = make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, err
	}
	return header[len(magic)], body, nil
}

func readHello(r io.Reader) (Method, []byte, error) {
	code, token, err := readFrame(r, maxToken)
	return Method(code), token, err
}

// readAnswer returns nil for a welcome and a RefusedError for a refusal.
func readAnswer(r io.Reader) error {
	code, body, err := readFrame(r, maxText)
	switch {
	case err != nil:
		return err
	case code == answerWelcome && len(body) == 0:
		return nil
	case code == answerRefused:
		return &RefusedError{Reason: printable(string(body))}
	}
	return fmt.Errorf("%w: answer code %d", ErrNotMuster, code)
}

func refusal(text string) []byte {
	text = printable(text)
	if len(text) > maxText {
		text = text[:maxText]
	}
	return appendFrame(nil, answerRefused, []byte(text))
}

// printable makes a peer's text safe for a terminal and a log.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
