package ctld

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"muster/internal/api"
	"muster/internal/auth"
	"muster/internal/auth/access"
	"muster/internal/auth/credential"
	"muster/internal/auth/method"
	"muster/internal/auth/pki"
	"muster/internal/conf"
	"muster/internal/controller"
	"muster/internal/sched"
	"muster/internal/store"
	"muster/internal/supervisor"
	"muster/internal/users"
	"muster/internal/wire"
)

// Options are what the command line says.
type Options struct {
	Conf    string // slurm.conf
	Host    string // which SlurmctldHost this is; empty = found by name and address
	Version string
	Systemd bool // --systemd: it waits for our word
}

// daemon is a running ctld.
type daemon struct {
	opts     Options
	log      *slog.Logger
	logFile  *logFile
	policy   access.Policy
	resolver *users.Resolver
	pki      *pki.Controller
	auth     *method.Daemon
	signer   credential.Signer
	host     conf.ControllerHost
	db       *database
	stop     context.CancelFunc
	started  time.Time

	mu    sync.Mutex
	conf  *conf.Config
	files confFiles
	loop  *controller.Loop
	srv   interface{ Renew(api.Rules) }
}

const (
	// leaseTime is how long a dead leader is waited for.
	leaseTime = 10 * time.Second
	heartbeat = 20 * time.Second
)

// Run is the controller, until ctx ends.
func Run(ctx context.Context, opts Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d := &daemon{opts: opts, stop: stop, started: time.Now()}
	if err := d.prepare(ctx); err != nil {
		return err
	}
	defer removePid(d.conf.SlurmctldPidFile)
	db, err := openDatabase(ctx, d)
	if err != nil {
		return err
	}
	d.db = db
	defer db.close(d)
	supervisor.Ready(d.log, opts.Systemd) // as the leader, or standing by
	for ctx.Err() == nil {
		err := d.lead(ctx)
		if ctx.Err() != nil {
			break
		}
		if !errors.Is(err, controller.ErrFenced) && !errors.Is(err, store.ErrFenced) {
			return err
		}
		d.log.Error("the lead is lost; waiting for it again", "err", err)
	}
	d.log.Info("ctld ends")
	return nil
}

// prepare reads the configuration and makes all that needs no database.
func (d *daemon) prepare(ctx context.Context) error {
	c, err := conf.Load(d.opts.Conf)
	if err != nil {
		return err
	}
	if _, err := settings(c); err != nil {
		return err
	}
	d.conf = c
	if d.log, d.logFile, err = openLog(c.SlurmctldLogFile, c.SlurmctldDebug); err != nil {
		return err
	}
	d.log.Info("ctld starts", "version", d.opts.Version, "cluster", c.ClusterName, "conf", c.Path)
	for _, n := range c.Notices {
		d.log.Warn(n)
	}
	d.resolver = users.NewResolver(users.Options{})
	if d.policy, err = d.makePolicy(ctx, c); err != nil {
		return err
	}
	if err := os.MkdirAll(c.StateSaveLocation, 0o711); err != nil {
		return fmt.Errorf("StateSaveLocation: %w", err)
	}
	if d.pki, err = pki.OpenController(c.StateSaveLocation); err != nil {
		return err
	}
	d.pki.Cluster = c.ClusterName
	if err := d.pki.WritePublic(c.Dir()); err != nil {
		d.log.Warn("the controller's public key could not be put beside slurm.conf: copy it there", "err", err)
	}
	d.files = readConfFiles(c)
	d.signer = credential.NewSigner(d.pki.SigningKey())
	if d.auth, err = method.ForDaemon(method.Options{
		AuthType: c.AuthType, AuthInfo: optionText(c.AuthInfo), Cluster: c.ClusterName,
		KeyFile: filepath.Join(c.Dir(), "slurm.key"), KeyOwner: d.policy.SlurmUser,
	}); err != nil {
		return err
	}
	if d.host, err = d.findHost(c); err != nil {
		return err
	}
	return writePid(c.SlurmctldPidFile)
}

func optionText(o conf.Options) string {
	var words []string
	for _, w := range o {
		if w.Value != "" {
			words = append(words, w.Name+"="+w.Value)
		} else {
			words = append(words, w.Name)
		}
	}
	return strings.Join(words, ",")
}

// makePolicy finds out who SlurmUser and SlurmdUser are.
func (d *daemon) makePolicy(ctx context.Context, c *conf.Config) (access.Policy, error) {
	uid := func(name string) (uint32, error) {
		n, err := d.resolver.ParseUser(ctx, name)
		if err != nil {
			return 0, fmt.Errorf("%s: SlurmUser or SlurmdUser %s: %w", c.Path, name, err)
		}
		return n, nil
	}
	slurm, err := uid(c.SlurmUser)
	if err != nil {
		return access.Policy{}, err
	}
	if me := os.Geteuid(); me != int(slurm) && me != 0 {
		return access.Policy{}, fmt.Errorf("ctld runs as uid %d but SlurmUser is %s: start it as that user", me, c.SlurmUser)
	}
	slurmd, err := uid(c.SlurmdUser)
	if err != nil {
		return access.Policy{}, err
	}
	private, err := access.ParsePrivate(optionText(c.PrivateData))
	if err != nil {
		return access.Policy{}, err
	}
	return access.Policy{SlurmUser: slurm, SlurmdUser: slurmd, Private: private}, nil
}

// findHost tells which of the SlurmctldHosts this one is.
func (d *daemon) findHost(c *conf.Config) (conf.ControllerHost, error) {
	if d.opts.Host != "" {
		for _, h := range c.SlurmctldHosts {
			if h.Name == d.opts.Host {
				return h, nil
			}
		}
		return conf.ControllerHost{}, fmt.Errorf("--host %s is not a SlurmctldHost of %s", d.opts.Host, c.Path)
	}
	name, err := os.Hostname()
	if err != nil {
		return conf.ControllerHost{}, err
	}
	short, _, _ := strings.Cut(name, ".")
	for _, h := range c.SlurmctldHosts {
		if h.Name == name || h.Name == short || h.Name == "localhost" {
			return h, nil
		}
	}
	if len(c.SlurmctldHosts) == 1 && isLocal(c.SlurmctldHosts[0].Addr) {
		return c.SlurmctldHosts[0], nil
	}
	return conf.ControllerHost{}, fmt.Errorf("this host (%s) is no SlurmctldHost of %s", name, c.Path)
}

// isLocal tells whether an address is one of this host's.
func isLocal(addr string) bool {
	ips, err := net.LookupIP(addr)
	if err != nil {
		return false
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, ip := range ips {
		if ip.IsLoopback() {
			return true
		}
		for _, o := range own {
			if n, ok := o.(*net.IPNet); ok && n.IP.Equal(ip) {
				return true
			}
		}
	}
	return false
}

// lead takes the lease, loads the tables and serves until the lead is lost or
// ctx ends.
func (d *daemon) lead(ctx context.Context) error {
	host, _ := os.Hostname()
	holder := fmt.Sprintf("%s@%s", d.host.Name, host)
	lease, err := d.db.store.Acquire(ctx, holder, leaseTime)
	if err != nil {
		return err
	}
	d.log.Info("leading", "term", lease.Term, "generation", lease.Generation, "cluster_id", lease.ClusterID)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	set, err := settings(d.config())
	if err != nil {
		return err
	}
	d.lookUpGroups(ctx, set)
	opts, err := d.serverOptions(lease)
	if err != nil {
		return err
	}
	srv := api.New(opts)
	loop := controller.NewLoop(controller.Options{
		Store: d.db.store, Effects: srv, Settings: set, Clock: time.Now, Log: d.log, Plan: sched.Run,
		OnPass: srv.Passed, OnAway: srv.SetDatabaseAway,
	})
	srv.SetCore(loop)
	srv.SetLead(lease.Term, lease.ClusterID)
	d.mu.Lock()
	d.loop, d.srv = loop, srv
	d.mu.Unlock()
	var parts sync.WaitGroup
	defer parts.Wait()
	defer srv.Close()
	defer cancel(nil)
	failed := func(what string, err error) {
		if err != nil && ctx.Err() == nil {
			cancel(fmt.Errorf("%s: %w", what, err))
		}
	}
	parts.Go(func() { failed("lease", d.renew(ctx)) })
	parts.Go(func() { d.sweep(ctx) })
	if err := d.serve(ctx, srv, loop, &parts, failed); err != nil {
		return err
	}
	err = loop.Run(ctx)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// serve opens the sockets once the tables are loaded.
func (d *daemon) serve(ctx context.Context, srv *api.Server, loop *controller.Loop, parts *sync.WaitGroup, failed func(string, error)) error {
	tlsConf, err := d.pki.ServerTLS()
	if err != nil {
		return err
	}
	authConf := auth.ServerConfig{TLS: tlsConf, Checkers: []auth.Checker{d.auth.Checker}, Certificate: pki.NodeIdentity}
	c := d.config()
	remote, err := listenRemote(d.host, c)
	if err != nil {
		return err
	}
	local, err := listenLocal(c)
	if err != nil {
		remote.Close()
		return err
	}
	sockets := []net.Listener{remote}
	if local != nil {
		sockets = append(sockets, local)
	}
	parts.Go(func() {
		var both sync.WaitGroup
		defer both.Wait()
		_, err := loop.Next(ctx, nil) // the first view is there
		for _, l := range sockets {
			if err != nil {
				l.Close()
				continue
			}
			both.Go(func() { failed(l.Addr().String(), srv.Serve(ctx, l, authConf)) })
		}
		if err != nil {
			return
		}
		both.Go(func() { srv.Watch(ctx) })
		both.Go(func() { d.serveTokens(ctx) })
	})
	return nil
}

// sweepEvery is the pause between removals of what has expired.
const sweepEvery = 5 * time.Minute

func (d *daemon) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := d.db.store.Sweep(ctx, time.Now()); err != nil && ctx.Err() == nil {
			d.log.Warn("old rows could not be removed", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (d *daemon) config() *conf.Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.conf
}

func (d *daemon) serverOptions(lease store.Lease) (api.Options, error) {
	c := d.config()
	r, err := d.rules(c)
	if err != nil {
		return api.Options{}, err
	}
	var names []string
	for _, h := range c.SlurmctldHosts {
		names = append(names, h.Name)
	}
	beat := max(time.Second, min(heartbeat, c.SlurmdTimeout/6))
	return api.Options{
		Accounting: history{d.db.store}, Process: d, Users: d.resolver, Log: d.log, Clock: time.Now,
		Sign: d.sign, IssueNode: d.pki.IssueNode, ClusterName: c.ClusterName, Controllers: names,
		Version: d.opts.Version, Host: d.host.Name, ConfHash: func() string { return d.config().Hash },
		Heartbeat: beat, NodeTimeout: 3 * beat, Rules: r,
	}, nil
}

// rules are what of the configuration is in force as soon as it is read anew.
// Who SlurmUser is stays as it was at the start.
func (d *daemon) rules(c *conf.Config) (api.Rules, error) {
	policy := d.policy
	private, err := access.ParsePrivate(optionText(c.PrivateData))
	if err != nil {
		return api.Rules{}, fmt.Errorf("%s: PrivateData: %w", c.Path, err)
	}
	policy.Private = private
	return api.Rules{
		Policy: policy, MaxScript: c.SchedulerParams.Int("max_script_size", 4<<20),
		Hooks: api.Hooks{Dir: c.Dir(), Prolog: c.PrologSlurmctld, Epilog: c.EpilogSlurmctld, Timeout: hookTimeout(c)},
		Mail:  api.MailSettings{Program: c.MailProg, Domain: c.MailDomain},
	}, nil
}

// hookTimeout is PrologTimeout; 0 = none.
func hookTimeout(c *conf.Config) time.Duration {
	if c.PrologTimeout == conf.Infinite {
		return 0
	}
	return c.PrologTimeout
}

// sign signs a launch order.
func (d *daemon) sign(purpose credential.Purpose, payload []byte) *wire.Signed {
	return &wire.Signed{Payload: payload, Signature: d.signer.Sign(purpose, payload)}
}

func writePid(path string) error {
	if path == "" {
		return nil
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
		return fmt.Errorf("SlurmctldPidFile: %w", err)
	}
	return nil
}

func removePid(path string) {
	if path != "" {
		_ = os.Remove(path) // a stale one is recognised
	}
}
