package wire

import "fmt"

// message is what every message of this package is: its encoding is generated
// code. The protobuf library's own works through tables that it makes of each
// type at its first use, which costs a command more than its whole request.
type message interface {
	MarshalVT() ([]byte, error)
	MarshalToSizedBufferVT([]byte) (int, error)
	SizeVT() int
	UnmarshalVT([]byte) error
}

// Marshal encodes a message of this package.
func Marshal(m any) ([]byte, error) {
	v, ok := m.(message)
	if !ok {
		return nil, fmt.Errorf("%T is no message of ours", m)
	}
	return v.MarshalVT()
}

// MarshalAppend encodes a message behind what stands in buf.
func MarshalAppend(buf []byte, m any) ([]byte, error) {
	v, ok := m.(message)
	if !ok {
		return nil, fmt.Errorf("%T is no message of ours", m)
	}
	size := v.SizeVT()
	start := len(buf)
	if cap(buf)-start < size {
		buf = append(make([]byte, 0, start+max(size, start)), buf...)
	}
	buf = buf[:start+size]
	_, err := v.MarshalToSizedBufferVT(buf[start:])
	return buf, err
}

// Unmarshal decodes into an empty message of this package.
func Unmarshal(data []byte, m any) error {
	v, ok := m.(message)
	if !ok {
		return fmt.Errorf("%T is no message of ours", m)
	}
	return v.UnmarshalVT(data)
}
