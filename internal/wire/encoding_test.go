package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// fill sets every field of a message, lists twice, messages to some depth.
func fill(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.IsMap():
			continue
		case f.IsList():
			list := m.Mutable(f).List()
			for n := range 2 {
				if f.Message() == nil {
					list.Append(scalar(f, n))
				} else if depth > 0 {
					fill(list.AppendMutable().Message(), depth-1)
				}
			}
		case f.Message() != nil:
			if depth > 0 {
				fill(m.Mutable(f).Message(), depth-1)
			}
		default:
			m.Set(f, scalar(f, i))
		}
	}
}

func scalar(f protoreflect.FieldDescriptor, n int) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(f.Enum().Values().Get(f.Enum().Values().Len() - 1).Number())
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(-int32(n) - 1)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(-int64(n) - 1<<40)
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(0xffffffff - uint32(n))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(1<<63 + uint64(n))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("not UTF-8: \xff\x00" + string(rune('a'+n%26)))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{0, 0xff, byte(n)})
	}
	panic("a kind that no message here has: " + f.Kind().String())
}

// TestEncodingIsProtobuf: the generated encoding of every message is the
// library's, in both directions.
func TestEncodingIsProtobuf(t *testing.T) {
	count := 0
	protoregistry.GlobalTypes.RangeMessages(func(mt protoreflect.MessageType) bool {
		if mt.Descriptor().FullName().Parent() != "muster" {
			return true
		}
		count++
		t.Run(string(mt.Descriptor().Name()), func(t *testing.T) {
			m := mt.New()
			fill(m, 3)
			theirs, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Interface())
			require.NoError(t, err)
			ours, err := Marshal(m.Interface())
			require.NoError(t, err)

			back := mt.New().Interface()
			require.NoError(t, proto.Unmarshal(ours, back))
			assert.True(t, proto.Equal(m.Interface(), back), "the library reads something else")
			back = mt.New().Interface()
			require.NoError(t, Unmarshal(theirs, back))
			assert.True(t, proto.Equal(m.Interface(), back), "something else is read")

			appended, err := MarshalAppend([]byte("before"), m.Interface())
			require.NoError(t, err)
			assert.Equal(t, "before"+string(ours), string(appended))
		})
		return true
	})
	assert.Greater(t, count, 50)
}

func TestNoMessage(t *testing.T) {
	_, err := Marshal("text")
	assert.Error(t, err)
	_, err = MarshalAppend(nil, 1)
	assert.Error(t, err)
	assert.Error(t, Unmarshal(nil, nil))
}
