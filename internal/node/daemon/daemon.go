package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"muster/internal/auth/conffetch"
	"muster/internal/auth/credential"
	"muster/internal/auth/method"
	"muster/internal/auth/pki"
	"muster/internal/auth/sack"
	"muster/internal/conf"
	"muster/internal/node"
	"muster/internal/node/cgroup"
	"muster/internal/node/jobenv"
	"muster/internal/node/session"
	"muster/internal/supervisor"
	"muster/internal/users"
	"muster/internal/wire"
)

// Options are what the command line says.
type Options struct {
	Conf     string
	Server   string // --conf-server: where the configuration comes from
	ConfDir  string // where it is kept then
	Key      string // of auth/slurm; empty = beside slurm.conf
	Node     string // -N
	Declared bool   // the hardware is what slurm.conf says
	LogFile  string // -L
	Verbose  int    // -v
	BootID   string // in place of the kernel's
	Version  string
	Systemd  bool // --systemd: it waits for our word
}

type daemon struct {
	opts    Options
	log     *slog.Logger
	logFile *logFile
	name    string
	spool   string
	auth    *method.Daemon
	public  *pki.Public
	dialer  *Dialer
	node    *node.Node
	session *session.Session
	fetcher *conffetch.Fetcher // nil: the files are this host's own
	stop    context.CancelFunc

	mu   sync.Mutex
	conf *conf.Config
}

// Run is the node daemon, until ctx ends.
func Run(ctx context.Context, opts Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d := &daemon{opts: opts, stop: stop}
	n, err := d.prepare(ctx)
	if err != nil {
		return err
	}
	c := d.config()
	pidFile := conf.NodePath(c.SlurmdPidFile, d.name, n.Hostname)
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
		return fmt.Errorf("SlurmdPidFile: %w", err)
	}
	defer os.Remove(pidFile)
	listener, err := d.listen(n)
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := d.node.Start(d.session); err != nil {
		return err
	}
	defer d.node.Stop()
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { d.serveSteps(ctx, listener) })
	work.Go(func() { d.serveTokens(ctx) })
	work.Go(func() { d.signals(ctx) })
	work.Go(func() { d.keepCertificate(ctx) })
	if d.fetcher != nil {
		work.Go(func() { d.fetcher.Follow(ctx, d.log, nil, d.reload) })
	}
	supervisor.Ready(d.log, opts.Systemd)
	d.session.Run(ctx)
	d.log.Info("noded ends; steps go on")
	return nil
}

func (d *daemon) config() *conf.Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.conf
}

// prepare reads the configuration and makes everything that waits for nobody.
func (d *daemon) prepare(ctx context.Context) (*conf.NodeConf, error) {
	if err := d.fetchConf(ctx); err != nil {
		return nil, err
	}
	c, err := conf.Load(d.opts.Conf)
	if err != nil {
		return nil, err
	}
	d.conf = c
	n, err := FindNode(c, d.opts.Node)
	if err != nil {
		return nil, err
	}
	d.name = n.Name
	path := d.opts.LogFile
	if path == "" {
		path = conf.NodePath(c.SlurmdLogFile, n.Name, n.Hostname)
	}
	level, err := levelOf(c.SlurmdDebug, d.opts.Verbose)
	if err != nil {
		return nil, err
	}
	if d.log, d.logFile, err = openLog(path, level); err != nil {
		return nil, err
	}
	d.log.Info("noded starts", "version", d.opts.Version, "node", n.Name, "conf", c.Path)
	for _, notice := range c.Notices {
		d.log.Debug(notice)
	}
	d.spool = conf.NodePath(c.SlurmdSpoolDir, n.Name, n.Hostname)
	if err := os.MkdirAll(d.spool, 0o755); err != nil {
		return nil, fmt.Errorf("SlurmdSpoolDir: %w", err)
	}
	if d.public, err = d.waitPublic(ctx, filepath.Join(c.Dir(), pki.PublicFile)); err != nil {
		return nil, err
	}
	if err := d.makeAuth(ctx, c); err != nil {
		return nil, err
	}
	if err := d.makeNode(ctx, c, n); err != nil {
		return nil, err
	}
	d.session = session.New(session.Config{Dial: d.dial, Node: d.node, Log: d.log, MinWait: 200 * time.Millisecond, MaxWait: reconnectWait(len(c.Nodes))})
	return n, nil
}

// publicWait is how long the controller may take at its first start to make
// its key.
const publicWait = 60 * time.Second

// waitPublic reads the controller's public key. On the controller's own host
// both daemons may be starting for the first time.
func (d *daemon) waitPublic(ctx context.Context, path string) (*pki.Public, error) {
	for end := time.Now().Add(publicWait); ; {
		public, err := pki.LoadPublic(path)
		if err == nil || !errors.Is(err, os.ErrNotExist) || time.Now().After(end) {
			return public, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (d *daemon) makeAuth(ctx context.Context, c *conf.Config) error {
	owner, err := userID(ctx, c.SlurmUser)
	if err != nil {
		return fmt.Errorf("SlurmUser=%s: %w", c.SlurmUser, err)
	}
	var words []string
	for _, o := range c.AuthInfo {
		words = append(words, strings.TrimSuffix(o.Name+"="+o.Value, "="))
	}
	d.auth, err = method.ForDaemon(method.Options{
		AuthType: c.AuthType, AuthInfo: strings.Join(words, ","), Cluster: c.ClusterName,
		KeyFile: d.keyFile(c), KeyOwner: owner,
	})
	if err != nil {
		return err
	}
	d.dialer = &Dialer{Conf: d.config, Node: d.name, Spool: d.spool, Public: d.public, Prover: d.auth.Prover, Log: d.log}
	return nil
}

func userID(ctx context.Context, name string) (uint32, error) {
	if name == "root" {
		return 0, nil
	}
	return users.NewResolver(users.Options{}).ParseUser(ctx, name)
}

func (d *daemon) makeNode(ctx context.Context, c *conf.Config, n *conf.NodeConf) error {
	set, err := settings(c)
	if err != nil {
		return err
	}
	inv, cores, err := hardware(c, n, d.opts.Declared)
	if err != nil {
		return err
	}
	stepd, err := findStepd()
	if err != nil {
		return err
	}
	boot := d.opts.BootID
	if boot == "" {
		if boot, err = node.BootID(); err != nil {
			return err
		}
	}
	host, err := conf.ShortHostname()
	if err != nil {
		return err
	}
	verifier := credential.NewVerifier(d.public.Keys()...)
	cfg := node.Config{
		Name: n.Name, Addr: net.JoinHostPort(n.Addr, strconv.Itoa(n.Port)), Hostname: host,
		SpoolDir: d.spool, Stepd: stepd, Privileged: os.Geteuid() == 0, CoreCPUs: cores,
		Site:     jobenv.Site{ClusterName: c.ClusterName, ConfFile: c.Path, Fenced: c.Cgroup.ConstrainDevices && os.Geteuid() == 0 && c.ProctrackType == "proctrack/cgroup"},
		Settings: set, BootID: boot, BootTime: bootTime(), SlurmdStart: time.Now().Unix(),
		Inventory: inv, Version: d.opts.Version, Arch: node.Arch(), OS: node.OS(), ConfHash: c.Hash,
		VerifyLaunch: verify(verifier, credential.Launch), VerifyStep: verify(verifier, credential.Step),
		Reconfigure: func() { go d.reconfigure(ctx) }, Shutdown: d.stop, Log: d.log,
	}
	if d.opts.Node != "" { // several nodes on one host: messages say whose they are
		cfg.LogName = "slurmstepd-" + n.Name
	}
	if cfg.Cgroups, err = d.cgroups(c, n); err != nil {
		return err
	}
	if d.node, err = node.New(cfg); err != nil {
		return err
	}
	return nil
}

func verify(v credential.Verifier, purpose credential.Purpose) func(*wire.Signed) ([]byte, error) {
	return func(s *wire.Signed) ([]byte, error) {
		return s.GetPayload(), v.Verify(purpose, s.GetPayload(), s.GetSignature())
	}
}

// cgroups decides how processes are caught.
func (d *daemon) cgroups(c *conf.Config, n *conf.NodeConf) (*cgroup.Manager, error) {
	g := c.Cgroup
	if os.Geteuid() != 0 || c.ProctrackType != "proctrack/cgroup" || g.Plugin == "disabled" {
		if g.ConstrainRAMSpace || g.ConstrainCores || g.ConstrainDevices {
			d.log.Warn("cgroup.conf constrains jobs, and cgroups are not in use here (they need root and ProctrackType=proctrack/cgroup)")
		}
		return nil, nil
	}
	m, err := cgroup.New(cgroup.Options{
		Name: CgroupName(n.Name, d.spool), Memory: g.ConstrainRAMSpace, Swap: g.ConstrainSwapSpace,
		Cores: g.ConstrainCores && !d.opts.Declared, Devices: g.ConstrainDevices,
	})
	if err != nil {
		return nil, fmt.Errorf("ProctrackType=proctrack/cgroup: %w", err)
	}
	return m, nil
}

// CgroupName is the folder that holds the jobs of a node with that spool.
func CgroupName(node, spool string) string { return "muster_" + node + "_" + short(spool) }

// RemoveCgroups removes what a node that has ended left of its cgroups; jobs
// must not be in them any more.
func RemoveCgroups(node, spool string) error {
	m, err := cgroup.New(cgroup.Options{Name: CgroupName(node, spool)})
	if err != nil {
		return err
	}
	return m.RemoveAll()
}

// short tells spool folders of clusters on one host apart.
func short(text string) string {
	h := uint32(2166136261)
	for i := range len(text) {
		h = (h ^ uint32(text[i])) * 16777619
	}
	return strconv.FormatUint(uint64(h), 36)
}

func bootTime() int64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 0
	}
	return time.Now().Unix() - int64(info.Uptime)
}

// findStepd looks for the shepherd beside this program, then in PATH.
func findStepd() (string, error) {
	self, err := os.Executable()
	if err == nil {
		path := filepath.Join(filepath.Dir(self), "stepd")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath("stepd")
	if err != nil {
		return "", fmt.Errorf("stepd must be installed beside noded: %w", err)
	}
	return filepath.Abs(path)
}

func (d *daemon) dial(ctx context.Context) (net.Conn, error) {
	conn, err := d.dialer.Dial(ctx)
	if err == nil {
		d.node.SetController(d.dialer.Controller())
	}
	return conn, err
}

// reconfigure reads the files again, fetched anew where they are a copy.
func (d *daemon) reconfigure(ctx context.Context) {
	if d.fetcher != nil {
		if _, err := d.fetcher.Update(ctx); err != nil {
			d.log.Error("the configuration stays as it was", "error", err)
			return
		}
	}
	d.reload()
}

// reload puts the files in force. With a mistake in them nothing changes.
func (d *daemon) reload() {
	c, err := conf.Load(d.opts.Conf)
	var set node.Settings
	var inv *wire.Inventory
	if err == nil {
		set, err = settings(c)
	}
	if err == nil {
		var n *conf.NodeConf
		if n, err = FindNode(c, d.name); err == nil {
			inv, _, err = hardware(c, n, d.opts.Declared)
		}
	}
	if err != nil {
		d.log.Error("the configuration stays as it was", "error", err)
		d.session.Problem("reconfiguration failed on node "+d.name+": "+err.Error(), false)
		return
	}
	d.mu.Lock()
	d.conf = c
	d.mu.Unlock()
	d.node.Reconfigure(set, inv, c.Hash)
	d.session.Reregister()
	d.log.Info("configuration read again")
}

func (d *daemon) signals(ctx context.Context) {
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, syscall.SIGHUP, syscall.SIGUSR2)
	defer signal.Stop(ch)
	for {
		select {
		case <-ctx.Done():
			return
		case sig := <-ch:
			if sig == syscall.SIGHUP {
				d.reconfigure(ctx)
			} else if err := d.logFile.reopen(); err != nil {
				d.log.Error("reopening the log", "error", err)
			}
		}
	}
}

// serveTokens hands tokens to local users, unless another daemon of this host
// does so already.
func (d *daemon) serveTokens(ctx context.Context) {
	if d.auth.Issuer == nil {
		return
	}
	path, pause := d.auth.Info.Socket, tokenPause
	if path == "" {
		path, pause = sack.NodedSocket, 0
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			d.log.Warn("no tokens for local users", "error", err)
			return
		}
	}
	// Where AuthInfo names the socket, the controller's daemon comes first; and
	// another node's may be killed: whoever finds nobody there serves it.
	for ; ; pause = tokenPause {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		listener, err := sack.Listen(path)
		if err != nil {
			d.log.Debug("tokens for local users come from another daemon", "error", err)
			continue
		}
		server := &sack.Server{Issuer: d.auth.Issuer, Log: d.log}
		if err := server.Serve(ctx, listener); err != nil && ctx.Err() == nil {
			d.log.Error("the token service ended", "error", err)
		}
	}
}

// tokenPause is the time between two looks at the token service's socket.
const tokenPause = 2 * time.Second

// reconnectWait bounds the pause before another try, by the size of the
// cluster: all of its nodes come at once.
func reconnectWait(nodes int) time.Duration {
	return min(time.Second+time.Duration(nodes)*2*time.Millisecond, 30*time.Second)
}
