package ctld

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"muster/internal/conf"
	"muster/internal/store"
)

// renew keeps the lease until it is known to be lost: the database says so, or
// it could not be renewed for its whole time and another controller answers,
// which it does only when it leads. While none does, this one goes on: its
// jobs run, queries are answered, changes wait.
func (d *daemon) renew(ctx context.Context) error {
	tick := time.NewTicker(leaseTime / 4)
	defer tick.Stop()
	renewed, said := time.Now(), false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		asked := time.Now()
		err := d.renewOnce(ctx)
		switch {
		case err == nil:
			if said {
				d.log.Info("the lease is renewed again")
			}
			renewed, said = asked, false
			continue
		case errors.Is(err, store.ErrFenced) || ctx.Err() != nil:
			return err
		}
		if !said {
			d.log.Warn("the lease could not be renewed", "err", err)
			said = true
		}
		if time.Since(renewed) < leaseTime {
			continue
		}
		if other := d.otherLeader(ctx); other != "" {
			return fmt.Errorf("not renewed for %s, and %s leads: %w", leaseTime, other, store.ErrFenced)
		}
	}
}

func (d *daemon) renewOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaseTime/2)
	defer cancel()
	return d.db.store.Renew(ctx)
}

// otherLeader finds another SlurmctldHost that accepts connections.
func (d *daemon) otherLeader(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, leaseTime/4)
	defer cancel()
	c := d.config()
	var dialer net.Dialer
	for _, h := range c.SlurmctldHosts {
		if h.Name == d.host.Name {
			continue
		}
		conn, err := dialer.DialContext(ctx, "tcp", portOf(h, c))
		if err != nil {
			continue
		}
		conn.Close()
		return h.Name
	}
	return ""
}

func portOf(h conf.ControllerHost, c *conf.Config) string {
	return net.JoinHostPort(h.Addr, fmt.Sprint(c.SlurmctldPorts[0]))
}
