package client

import (
	"context"
	"errors"
	"io"

	"muster/internal/wire"
)

// Nodes is what the controller says of its nodes.
type Nodes struct {
	List    []*wire.NodeInfo
	Now     int64 // the controller's clock, 0 = it did not say
	Refusal *wire.Refusal
}

// LoadNodes asks for nodes.
func (c *Client) LoadNodes(ctx context.Context, req *wire.NodesRequest) (*Nodes, error) {
	var out *Nodes
	err := c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) error {
		out = &Nodes{}
		stream, err := ctld.Nodes(ctx, req)
		if err != nil {
			return err
		}
		defer stream.Close()
		for {
			page, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if page.Refusal.GetCode() != 0 {
				out.Refusal = page.Refusal
				return nil
			}
			if page.Now != 0 {
				out.Now = page.Now
			}
			out.List = append(out.List, page.Nodes...)
		}
	})
	return out, err
}
