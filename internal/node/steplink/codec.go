package steplink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
)

// The encoding is positional: fields in their order, numbers as varints, text
// and lists after their length. A struct stands after its length in bytes, so
// that fields may be added at its end: a reader takes what is missing as zero
// and skips what it does not know.

var errShort = errors.New("message is cut short")

// Marshal encodes a struct (or a pointer to one).
func Marshal(v any) []byte {
	return appendValue(make([]byte, 0, 256), reflect.Indirect(reflect.ValueOf(v)))
}

// Unmarshal decodes into the struct that v points to.
func Unmarshal(data []byte, v any) error {
	target := reflect.ValueOf(v).Elem()
	if _, err := readValue(data, target); err != nil {
		return fmt.Errorf("decoding %s: %w", target.Type().Name(), err)
	}
	return nil
}

func appendValue(to []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(to, 1)
		}
		return append(to, 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(to, v.Int())
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(to, v.Uint())
	case reflect.String:
		to = binary.AppendUvarint(to, uint64(v.Len()))
		return append(to, v.String()...)
	case reflect.Slice:
		to = binary.AppendUvarint(to, uint64(v.Len()))
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return append(to, v.Bytes()...)
		}
		for i := range v.Len() {
			to = appendValue(to, v.Index(i))
		}
		return to
	case reflect.Struct:
		var body []byte
		for i := range v.NumField() {
			body = appendValue(body, v.Field(i))
		}
		to = binary.AppendUvarint(to, uint64(len(body)))
		return append(to, body...)
	}
	panic("steplink: cannot encode " + v.Type().String())
}

func readValue(from []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64:
		n, size := binary.Varint(from)
		if size <= 0 || v.OverflowInt(n) {
			return nil, errShort
		}
		v.SetInt(n)
		return from[size:], nil
	}
	n, size := binary.Uvarint(from)
	if size <= 0 {
		return nil, errShort
	}
	from = from[size:]
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(n != 0)
		return from, nil
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		if v.OverflowUint(n) {
			return nil, errShort
		}
		v.SetUint(n)
		return from, nil
	}
	if n > uint64(len(from)) { // an element takes at least a byte
		return nil, errShort
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(string(from[:n]))
		return from[n:], nil
	case reflect.Slice:
		return readSlice(from, int(n), v)
	case reflect.Struct:
		return from[n:], readStruct(from[:n], v)
	}
	panic("steplink: cannot decode " + v.Type().String())
}

func readSlice(from []byte, n int, v reflect.Value) ([]byte, error) {
	if n == 0 {
		return from, nil
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		v.SetBytes(append([]byte(nil), from[:n]...))
		return from[n:], nil
	}
	list := reflect.MakeSlice(v.Type(), n, n)
	var err error
	for i := range n {
		if from, err = readValue(from, list.Index(i)); err != nil {
			return nil, err
		}
	}
	v.Set(list)
	return from, nil
}

func readStruct(body []byte, v reflect.Value) error {
	var err error
	for i := 0; i < v.NumField() && len(body) > 0; i++ {
		if body, err = readValue(body, v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}
