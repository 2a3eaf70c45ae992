package control

import (
	"context"
	"net"
	"os"
	"strings"
	"time"

	"muster/internal/command/client"
	"muster/internal/wire"
)

// pingTimeout is how long a controller that is there may take to answer.
const pingTimeout = 2 * time.Second

// ping tells of each controller whether it answers.
func (s *session) ping(ctx context.Context, _ []string) {
	if s.dump.Wanted {
		s.dumpPing(ctx)
		return
	}
	if !s.pingAll(ctx) {
		s.p.Print("*****************************************\n** RESTORE SLURMCTLD DAEMON TO SERVICE **\n*****************************************\n")
		s.code = 1
	}
}

// pinged is what became of asking a controller.
type pinged struct {
	host string
	up   bool
	took time.Duration
}

// state is the word for it.
func (p pinged) state() string {
	if p.up {
		return "UP"
	}
	return "DOWN"
}

// askAll asks every controller, the primary first.
func (s *session) askAll(ctx context.Context) (all []pinged, up bool) {
	hosts := s.c.Conf.Controllers
	var reply *wire.PingReply
	// Whoever asks wants to know now: no waiting for one that does not answer.
	quick, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	begin := time.Now()
	err := s.c.Do(quick, func(ctx context.Context, ctld wire.DRPCCtldClient) (err error) {
		reply, err = ctld.Ping(ctx, &wire.PingRequest{})
		return err
	})
	took := time.Since(begin)
	up = err == nil
	for _, h := range hosts {
		one := pinged{host: h.Name, took: took}
		if up && (len(hosts) == 1 || sameHost(reply.Host, h.Name)) {
			one.up = true
		} else if len(hosts) > 1 {
			begin := time.Now()
			one.up = answers(ctx, h, s.c.Conf.Port)
			one.took = time.Since(begin)
		}
		up = up || one.up
		all = append(all, one)
	}
	return all, up
}

// pingAll prints a line for each controller; it returns whether any answers.
func (s *session) pingAll(ctx context.Context) bool {
	hosts, up := s.askAll(ctx)
	for i, h := range hosts {
		role := "primary"
		switch {
		case i > 0 && len(hosts) == 2:
			role = "backup"
		case i > 0:
			role = "backup" + string(rune('0'+i))
		}
		s.p.Print("Slurmctld(%s) at %s is %s\n", role, h.host, h.state())
	}
	return up
}

// answers tells whether somebody listens where a controller should. Standbys
// take connections, too.
func answers(ctx context.Context, h client.Host, port string) bool {
	d := net.Dialer{Timeout: 2 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(h.Addr, port))
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func sameHost(a, b string) bool {
	a, _, _ = strings.Cut(a, ".")
	b, _, _ = strings.Cut(b, ".")
	return a == b
}

func (s *session) showConfig(ctx context.Context, _ string) {
	var reply *wire.ConfigReply
	err := s.c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) (err error) {
		reply, err = ctld.Config(ctx, &wire.ConfigRequest{})
		return err
	})
	switch {
	case err != nil:
		s.fail("slurm_load_ctl_conf error: %v", err)
		return
	case reply.Refusal.GetCode() != 0:
		s.fail("slurm_load_ctl_conf error: %s", reply.Refusal.Message)
		return
	}
	_, _ = s.p.Stdout.Write(AppendConfig(nil, &s.style, reply))
	s.pingAll(ctx)
}

// showDaemons names the daemons that this host should run.
func (s *session) showDaemons(ctx context.Context, _ string) {
	host, err := os.Hostname()
	if err != nil {
		s.fail("scontrol: error: %v", err)
		return
	}
	var daemons []string
	for _, h := range s.c.Conf.Controllers {
		if sameHost(h.Name, host) {
			daemons = append(daemons, "slurmctld")
			break
		}
	}
	nodes, refusal, err := s.loadNodes(ctx, &wire.NodesRequest{All: true})
	switch {
	case err != nil:
		s.fail("slurm_load_node error: %v", err)
		return
	case refusal.GetCode() != 0:
		s.fail("slurm_load_node error: %s", refusal.Message)
		return
	}
	for _, n := range nodes {
		if sameHost(or(n.State.Hostname, n.State.Name), host) {
			daemons = append(daemons, "slurmd")
			break
		}
	}
	s.p.Print("%s\n", strings.Join(daemons, " "))
}
