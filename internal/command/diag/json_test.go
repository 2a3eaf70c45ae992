package diag

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"muster/internal/command/dataparser"
	"muster/internal/command/dataparser/schematest"
	"muster/internal/wire"
)

func TestStatsFitTheSchema(t *testing.T) {
	for seed := range uint64(30) {
		reply := &wire.StatsReply{}
		schematest.Fill(rand.New(rand.NewPCG(seed, 1)), reply)
		value := schematest.Same(t, map[string]string{"statistics": "stats_msg"}, func(w *dataparser.Writer) { WriteStats(w, reply) })
		if reply.Cycles > 0 {
			n, err := value["statistics"].(map[string]any)["schedule_cycle_mean"].(interface{ Int64() (int64, error) }).Int64()
			require.NoError(t, err)
			require.EqualValues(t, reply.TotalCycle/reply.Cycles, n)
		}
	}
}
