package schematest

import (
	"math/rand/v2"
	"reflect"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Fill sets every field of a message, and of those in it, to something of its
// type: texts in no encoding, numbers of any size, enumerations that exist.
func Fill(r *rand.Rand, message protoreflect.ProtoMessage) {
	fill(r, reflect.ValueOf(message).Elem(), 0)
}

// deepest is how far messages in messages are filled.
const deepest = 6

func fill(r *rand.Rand, v reflect.Value, depth int) {
	if e, ok := v.Interface().(protoreflect.Enum); ok {
		values := e.Descriptor().Values()
		v.SetInt(int64(values.Get(r.IntN(values.Len())).Number()))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && strings.Contains(f.Tag.Get("protobuf"), ",") {
				fill(r, v.Field(i), depth+1)
			}
		}
	case reflect.Pointer:
		if depth < deepest {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth)
		}
	case reflect.Slice:
		n := r.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(r, v.Index(i), depth+1)
		}
	case reflect.String:
		v.SetString(Text(r))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(number(r)))
	case reflect.Uint32, reflect.Uint64, reflect.Uint8:
		v.SetUint(number(r))
	}
}

// number is often one of those at which something changes.
func number(r *rand.Rand) uint64 {
	switch r.IntN(4) {
	case 0:
		return 0
	case 1:
		return uint64(r.IntN(8))
	}
	return uint64(r.Int64N(1 << 31))
}

// Text is a text as users have them: in any encoding, with what has a meaning in
// JSON or YAML, and empty.
func Text(r *rand.Rand) string {
	pieces := []string{"a", "job", "é", "\xff\xfe", "\x00", "\x7f", "\u0085", "\u2028", "\ufeff", "\ufffe", "\U0001f600", "\"", "\\", "/", "\n",
		"\r\n", "\t", "\b", ": ", "- ", "#", " ", "yes", "null", "~", "1e3", "0x1f", "{}", "[", "'", "%", "@", "&", "*", "!", "|", ">", ",", "=", "\xed\xa0\x80"}
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}
