package api

import (
	"reflect"
	"strconv"
	"strings"
	"sync"

	"muster/internal/wire"
)

// mask copies the fields that a client asked for. Its fields are positions in
// the Go struct; it is made once a request.
type mask struct {
	all         bool
	spec, state []int
}

var fieldTables = sync.OnceValues(func() (spec, state map[uint32]int) {
	return fieldTable(reflect.TypeFor[wire.JobSpec]()), fieldTable(reflect.TypeFor[wire.JobState]())
})

// fieldTable maps the field numbers of a message to positions in its struct.
func fieldTable(t reflect.Type) map[uint32]int {
	out := map[uint32]int{}
	for i := range t.NumField() {
		parts := strings.Split(t.Field(i).Tag.Get("protobuf"), ",")
		if len(parts) < 2 {
			continue
		}
		if n, err := strconv.ParseUint(parts[1], 10, 32); err == nil {
			out[uint32(n)] = i
		}
	}
	return out
}

func newMask(r *wire.JobsRequest) mask {
	if !r.Masked {
		return mask{all: true}
	}
	spec, state := fieldTables()
	return mask{spec: positions(spec, r.SpecFields), state: positions(state, r.StateFields)}
}

func positions(table map[uint32]int, numbers []uint32) []int {
	var out []int
	for _, n := range numbers {
		if i, ok := table[n]; ok {
			out = append(out, i)
		}
	}
	return out
}

func (m mask) apply(spec *wire.JobSpec, state *wire.JobState) (*wire.JobSpec, *wire.JobState) {
	if m.all {
		return spec, state
	}
	a, b := &wire.JobSpec{}, &wire.JobState{}
	copyFields(reflect.ValueOf(a).Elem(), reflect.ValueOf(spec).Elem(), m.spec)
	copyFields(reflect.ValueOf(b).Elem(), reflect.ValueOf(state).Elem(), m.state)
	return a, b
}

func copyFields(dst, src reflect.Value, fields []int) {
	for _, i := range fields {
		dst.Field(i).Set(src.Field(i))
	}
}
