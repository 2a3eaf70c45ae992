package munge

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"
)

// The wire format, numbers big-endian. Every message has the header
// magic(4) version(1) type(1) retry(1) length(4); a connection carries one
// request and its answer.
const (
	magic           = 0x00606D4B
	protocolVersion = 4
	headerSize      = 11
	maxMessage      = 1 << 20 // munged's own bound

	typeEncodeRequest = 2
	typeEncodeAnswer  = 3
	typeDecodeRequest = 4
	typeDecodeAnswer  = 5

	useDefault = 1 // cipher, mac, zip: as munged is configured
	anybody    = ^uint32(0)
)

var errMalformed = errors.New("munged's answer is malformed")

// Credential is what munged says about a credential it decoded.
type Credential struct {
	UID, GID uint32
	Host     netip.Addr // of the munged that made it
	Encoded  time.Time
	Decoded  time.Time
	TTL      time.Duration
	Payload  []byte
}

func message(kind uint8, body []byte) []byte {
	b := make([]byte, 0, headerSize+len(body))
	b = binary.BigEndian.AppendUint32(b, magic)
	b = append(b, protocolVersion, kind, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	return append(b, body...)
}

func encodeRequest(payload []byte, ttl time.Duration) []byte {
	b := []byte{useDefault, useDefault, useDefault, 0} // no realm
	b = binary.BigEndian.AppendUint32(b, uint32(ttl/time.Second))
	b = binary.BigEndian.AppendUint32(b, anybody)
	b = binary.BigEndian.AppendUint32(b, anybody)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	return message(typeEncodeRequest, append(b, payload...))
}

func decodeRequest(credential []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(credential)))
	return message(typeDecodeRequest, append(b, credential...))
}

// readMessage reads one message of the wanted type and returns its body.
func readMessage(r io.Reader, want uint8) ([]byte, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(header[7:])
	if binary.BigEndian.Uint32(header[:]) != magic || header[4] != protocolVersion || header[5] != want || size > maxMessage {
		return nil, errMalformed
	}
	body := make([]byte, size)
	_, err := io.ReadFull(r, body)
	return body, err
}

func parseEncodeAnswer(body []byte) ([]byte, error) {
	r := reader{rest: body}
	if err := r.status(); err != nil {
		return nil, err
	}
	credential := r.bytes(r.uint32())
	if r.short || len(credential) == 0 {
		return nil, errMalformed
	}
	if credential[len(credential)-1] == 0 { // a C string
		credential = credential[:len(credential)-1]
	}
	return credential, nil
}

// parseDecodeAnswer returns what the credential holds. A credential that is
// authentic but expired or replayed comes back with an error.
func parseDecodeAnswer(body []byte) (*Credential, error) {
	r := reader{rest: body}
	if err := r.status(); err != nil {
		return nil, err
	}
	r.bytes(3)                 // cipher, mac, zip
	r.bytes(uint32(r.uint8())) // realm
	c := &Credential{TTL: time.Duration(r.uint32()) * time.Second}
	if addr, ok := netip.AddrFromSlice(r.bytes(uint32(r.uint8()))); ok {
		c.Host = addr
	}
	c.Encoded = time.Unix(int64(r.uint32()), 0)
	c.Decoded = time.Unix(int64(r.uint32()), 0)
	c.UID, c.GID = r.uint32(), r.uint32()
	r.bytes(8) // who may decode it
	c.Payload = r.bytes(r.uint32())
	if r.short {
		return nil, errMalformed
	}
	return c, nil
}

// reader cuts fields off the body. Once it is too short it yields zeros, and
// short says so at the end.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) bytes(n uint32) []byte {
	if uint64(len(r.rest)) < uint64(n) {
		r.short, r.rest = true, nil
		return nil
	}
	field := r.rest[:n]
	r.rest = r.rest[n:]
	return field
}

func (r *reader) uint8() uint8 {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// status reads the error number and text that every answer begins with.
func (r *reader) status() error {
	code := r.uint8()
	text := r.bytes(uint32(r.uint8()))
	if r.short {
		return errMalformed
	}
	if code == 0 {
		return nil
	}
	for len(text) > 0 && text[len(text)-1] == 0 {
		text = text[:len(text)-1]
	}
	return &Error{Code: code, Text: string(text)}
}

// Codes of munged that callers tell apart.
const (
	CodeInvalid  = 8  // the credential is not one, or was tampered with
	CodeExpired  = 15 // its life is over
	CodeRewound  = 16 // it was made in the future
	CodeReplayed = 17 // this munged has decoded it before
)

// Error is munged's refusal.
type Error struct {
	Code uint8
	Text string
}

func (e *Error) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("munged: error %d", e.Code)
	}
	return "munged: " + e.Text
}
