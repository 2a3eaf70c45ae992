package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"muster/internal/conf"
	"muster/internal/node/hollow"
	"muster/internal/node/inventory"
	"muster/internal/version"
	"muster/internal/wire"
)

// RunHollow simulates the nodes of a configuration whose names have a prefix,
// until ctx ends. It reaches the controller over its unix socket, on which a
// daemon's user may speak for any node.
func RunHollow(ctx context.Context, path, prefix string) error {
	c, err := conf.Load(path)
	if err != nil {
		return err
	}
	var names []string
	inventories := make(map[string]*wire.Inventory)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if !strings.HasPrefix(n.Name, prefix) {
			continue
		}
		devices, err := inventory.Devices(c, n.Name, false)
		if err != nil {
			return err
		}
		names = append(names, n.Name)
		inventories[n.Name] = inventory.Declared(n, devices)
	}
	if len(names) == 0 {
		return fmt.Errorf("no node of %s has a name that begins with %q", path, prefix)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	d := &Dialer{Conf: func() *conf.Config { return c }, Log: log}
	hollow.Run(ctx, hollow.Config{
		Names:     names,
		Dial:      func(ctx context.Context, _ string) (net.Conn, error) { return d.DialLocal(ctx) },
		Inventory: func(node string) *wire.Inventory { return inventories[node] },
		BootID:    fmt.Sprintf("hollow-%d", time.Now().UnixNano()),
		Version:   version.Slurm, ConfHash: c.Hash, Log: log,
	})
	return nil
}
