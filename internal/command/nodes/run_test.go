package nodes

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"muster/internal/command"
	"muster/internal/command/commandtest"
	"muster/internal/wire"
)

// ctld is the controller of the sample cluster.
type ctld struct {
	wire.DRPCCtldUnimplementedServer
}

func (ctld) Partitions(context.Context, *wire.PartitionsRequest) (*wire.PartitionsReply, error) {
	parts, _ := cluster()
	return &wire.PartitionsReply{Partitions: parts}, nil
}

func (ctld) Nodes(_ *wire.NodesRequest, stream wire.DRPCCtld_NodesStream) error {
	_, nodes := cluster()
	for _, n := range nodes {
		if err := stream.Send(&wire.NodesPage{Nodes: []*wire.NodeInfo{n}, Now: 1796074313}); err != nil {
			return err
		}
	}
	return nil
}

func TestCommand(t *testing.T) {
	commandtest.Controller(t, "", &ctld{})
	for _, c := range []struct {
		words     []string
		out, errs string
		code      int
	}{
		{[]string{"-h", "-o", "%P"}, "debug*\nshort\nother\nstopped\n", "", 0},
		{[]string{"-aho", "%F/%C"}, "1/3/0/4/6/58/0/64\n", "", 0},
		{[]string{"-h", "-p", "short"}, "short        up      30:00      1   plnd node2\nshort        up      30:00      1    mix node1\n", "", 0},
		{[]string{"-p", "nosuch"}, "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n", "", 0},
		{[]string{"-T"}, "No reservations in the system\n", "", 0},
		{[]string{"-V"}, "slurm " + command.Version + "\n", "", 0},
		{[]string{"-t", "nosuch"}, "", "sinfo: error: Bad state string: \"nosuch\"\nsinfo: error: valid states: " + validStates + "\n", 1},
		{[]string{"-l", "-o", "%P"}, "", "sinfo: fatal: Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry.\n", 1},
		{[]string{"-h", "-o", "%R%Q", "-n", "node1", "-p", "short"}, "short%Q\n", "Invalid node format specification: Q\n", 0},
	} {
		out, errs, code := commandtest.Run(t, func(p *command.Program) int { return Run(context.Background(), p) }, "sinfo", "", c.words...)
		assert.Equal(t, c.out, out, "%v", c.words)
		assert.Equal(t, c.errs, errs, "%v", c.words)
		assert.Equal(t, c.code, code, "%v", c.words)
	}
}
