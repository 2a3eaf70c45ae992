package slurm

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"muster/internal/auth"
)

// A token, numbers big-endian, texts with a length byte before them:
//
//	version(1) cluster uid(4) gid(4) host issued(8) expires(8) nonce(16)
//	binding(32) mac(32)
//
// Times are milliseconds since 1970. The mac is HMAC-SHA256 over all that is
// before it, under a key derived from slurm.key for this use and cluster.
type token struct {
	cluster         string
	uid, gid        uint32
	host            string
	issued, expires time.Time
	nonce           [nonceSize]byte
	binding         [auth.BindingSize]byte
}

const (
	version   = 1
	nonceSize = 16
	macSize   = sha256.Size
	maxName   = 255
)

var errMalformed = errors.New("the token is malformed")

// macKey derives the key for one cluster's tokens, so that the same slurm.key
// used for two clusters or for another purpose gives unrelated keys.
func macKey(key Key, cluster string) ([]byte, error) {
	if len(key.secret) < minKey {
		return nil, errors.New("auth/slurm: no key is loaded")
	}
	return hkdf.Key(sha256.New, key.secret, nil, "muster auth/slurm token 1 "+cluster, sha256.Size)
}

func (t *token) seal(key []byte) ([]byte, error) {
	if len(t.cluster) > maxName || len(t.host) > maxName {
		return nil, fmt.Errorf("cluster or host name is longer than %d bytes", maxName)
	}
	b := make([]byte, 0, 128+len(t.cluster)+len(t.host))
	b = append(b, version, byte(len(t.cluster)))
	b = append(b, t.cluster...)
	b = binary.BigEndian.AppendUint32(b, t.uid)
	b = binary.BigEndian.AppendUint32(b, t.gid)
	b = append(b, byte(len(t.host)))
	b = append(b, t.host...)
	b = binary.BigEndian.AppendUint64(b, uint64(t.issued.UnixMilli()))
	b = binary.BigEndian.AppendUint64(b, uint64(t.expires.UnixMilli()))
	b = append(b, t.nonce[:]...)
	b = append(b, t.binding[:]...)
	return append(b, mac(key, b)...), nil
}

func mac(key, content []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(content)
	return h.Sum(nil)
}

// open checks the mac before it looks at anything else.
func open(key, sealed []byte) (*token, error) {
	if len(sealed) < macSize {
		return nil, errMalformed
	}
	content, sum := sealed[:len(sealed)-macSize], sealed[len(sealed)-macSize:]
	if !hmac.Equal(sum, mac(key, content)) {
		return nil, errors.New("the token was not made with this cluster's slurm.key")
	}
	return parse(content)
}

func parse(content []byte) (*token, error) {
	r := reader{rest: content}
	if r.bytes(1)[0] != version {
		return nil, errMalformed
	}
	t := &token{cluster: r.text(), uid: r.uint32(), gid: r.uint32(), host: r.text()}
	t.issued = time.UnixMilli(int64(r.uint64()))
	t.expires = time.UnixMilli(int64(r.uint64()))
	copy(t.nonce[:], r.bytes(nonceSize))
	copy(t.binding[:], r.bytes(auth.BindingSize))
	if r.short || len(r.rest) != 0 {
		return nil, errMalformed
	}
	return t, nil
}

// reader cuts fields off. Once the content is too short it yields zeros, and
// short says so at the end.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) bytes(n int) []byte {
	if len(r.rest) < n {
		r.short, r.rest = true, nil
		return make([]byte, n)
	}
	field := r.rest[:n]
	r.rest = r.rest[n:]
	return field
}

func (r *reader) uint32() uint32 { return binary.BigEndian.Uint32(r.bytes(4)) }
func (r *reader) uint64() uint64 { return binary.BigEndian.Uint64(r.bytes(8)) }
func (r *reader) text() string   { return string(r.bytes(int(r.bytes(1)[0]))) }
