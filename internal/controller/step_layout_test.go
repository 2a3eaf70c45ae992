package controller

import (
	"testing"

	"github.com/stretchr/testify/require"

	"muster/internal/wire"
)

// TestStepLayouts lays steps over nodes on which the job has 5 and 1 CPUs.
func TestStepLayouts(t *testing.T) {
	gpu := func(n uint64) []*wire.GresRequest { return []*wire.GresRequest{{Name: "gpu", Count: n}} }
	for _, c := range []struct {
		name    string
		tasks   uint32
		req     *wire.StepRequest
		want    []uint32
		refusal *wire.Refusal
		message string
	}{
		{name: "as the job", tasks: 6, want: []uint32{5, 1}},
		{name: "one to each first", tasks: 3, want: []uint32{2, 1}},
		{name: "cyclic", tasks: 4, req: &wire.StepRequest{Distribution: "cyclic"}, want: []uint32{3, 1}},
		{name: "overcommitted", tasks: 40, req: &wire.StepRequest{Overcommit: true}, want: []uint32{22, 18}},
		{name: "too many", tasks: 7, refusal: errStepCPUs},
		{name: "memory", tasks: 2, req: &wire.StepRequest{MemKind: wire.MemKind_MEM_PER_NODE, Mem: 1000}, refusal: errStepMemory},
		{name: "devices", tasks: 2, req: &wire.StepRequest{GresPerNode: gpu(9)}, refusal: errGres,
			message: "Step requested gres_per_node=gpu:9 is more than the job's gres_per_node=gpu:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := c.req
			if req == nil {
				req = &wire.StepRequest{}
			}
			var rooms []room
			for _, cpus := range []uint32{5, 1} {
				g := []*wire.GresAlloc{{Name: "gpu", Count: 2}}
				rooms = append(rooms, room{alloc: &wire.NodeAlloc{Cpus: cpus}, cpus: cpus, mem: 100, gres: g})
			}
			if c.refusal != nil {
				require.False(t, fits(rooms, 2, c.tasks, 1, req))
				messages, r := whyNot(rooms, 2, c.tasks, 1, req)
				require.Equal(t, c.refusal.Message, r.Message)
				if c.message != "" {
					require.Equal(t, []string{c.message}, messages)
				}
				return
			}
			require.True(t, fits(rooms, 2, c.tasks, 1, req))
			spread(rooms, c.tasks, 1, req)
			require.Equal(t, c.want, []uint32{rooms[0].count, rooms[1].count})
		})
	}
}
