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

// apply puts what was asked for of a job into info. Where that is a part, info
// must be new or come from an earlier call of the same mask: its messages are
// used again.
func (m mask) apply(info *wire.JobInfo, spec *wire.JobSpec, state *wire.JobState) {
	if m.all {
		info.Spec, info.State = spec, state
		return
	}
	if info.Spec == nil {
		info.Spec, info.State = &wire.JobSpec{}, &wire.JobState{}
	}
	copyFields(reflect.ValueOf(info.Spec).Elem(), reflect.ValueOf(spec).Elem(), m.spec)
	copyFields(reflect.ValueOf(info.State).Elem(), reflect.ValueOf(state).Elem(), m.state)
}

func copyFields(dst, src reflect.Value, fields []int) {
	for _, i := range fields {
		dst.Field(i).Set(src.Field(i))
	}
}
