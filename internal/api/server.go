package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"storj.io/drpc/drpcerr"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcmux"
	"storj.io/drpc/drpcserver"
	"storj.io/drpc/drpcwire"

	"muster/internal/auth"
	"muster/internal/auth/access"
	"muster/internal/auth/credential"
	"muster/internal/controller"
	"muster/internal/users"
	"muster/internal/wire"
)

// maxMessage bounds one message: a script of 4 MiB with an environment of 2 MiB
// fits many times.
const maxMessage = 64 << 20

// Accounting is what the edge reads from the store.
type Accounting interface {
	// History yields ended runs in the order of their keys.
	History(ctx context.Context, q *wire.HistoryRequest, each func(*wire.RunRecord) error) error
	Content(ctx context.Context, uid uint32, hash []byte) ([]byte, error)
	// Request finds the answer that a request got before.
	Request(ctx context.Context, id string, uid uint32) (reply []byte, found bool, err error)
}

// Core is what the edge needs of the controller.
type Core interface {
	Do(ctx context.Context, ev controller.Event) (any, error)
	Post(ev controller.Event)
	View() *controller.View
	Next(ctx context.Context, v *controller.View) (*controller.View, error)
}

// Process carries out what an administrator asks of the process itself.
type Process interface {
	// Reconfigure reads and checks the files and puts them in force.
	Reconfigure(ctx context.Context, actor controller.Actor, id string) (*wire.AdminReply, error)
	Shutdown()
	// SetDebug changes how much is logged, by Slurm's names of levels.
	SetDebug(level string) error
	// ShowConfig is `scontrol show config`.
	ShowConfig() (conf, cgroup []*wire.KeyValue)
	// ConfFiles are the files for configless hosts.
	ConfFiles() (hash string, files []*wire.ConfFile)
}

// Options are what a server is made of.
type Options struct {
	Core       Core
	Accounting Accounting
	Process    Process
	Users      *users.Resolver
	Log        *slog.Logger
	Clock      func() time.Time

	Sign        func(purpose credential.Purpose, payload []byte) *wire.Signed
	IssueNode   func(csr []byte, node string, uid, gid uint32) ([]byte, error)
	ClusterName string
	Controllers []string
	Version     string
	Host        string
	ConfHash    func() string
	Heartbeat   time.Duration // between a node's reports of its load
	NodeTimeout time.Duration // silence after which a node does not respond
	Rules       Rules
}

// Rules are what a new configuration may change while the server serves.
type Rules struct {
	Policy    access.Policy
	MaxScript int // bytes
	Hooks     Hooks
	Mail      MailSettings
}

// Server answers connections.
type Server struct {
	Options
	sessions sessions
	contents contentCache
	hooks    hookRunner
	mail     mailer
	pass     passStats
	started  time.Time
	lead     leadState
	conns    sync.WaitGroup
	inForce  atomic.Pointer[Rules]
}

// leadState is what is known of the lead; it is set when it is taken.
type leadState struct {
	sync.Mutex
	term      uint64
	clusterID string
	away      bool // the database does not answer
}

// New makes a server.
func New(o Options) *Server {
	s := &Server{Options: o, started: o.Clock()}
	s.sessions.byNode = map[string]*session{}
	s.contents.init(contentCacheBytes)
	s.hooks.init(s)
	s.Renew(o.Rules)
	s.mail.init(func() MailSettings { return s.rules().Mail }, o.Log)
	return s
}

// Renew puts rules in force; what has begun ends under the old ones.
func (s *Server) Renew(r Rules) { s.inForce.Store(&r) }

func (s *Server) rules() *Rules { return s.inForce.Load() }

// SetCore gives the server its controller, before it serves.
func (s *Server) SetCore(c Core) { s.Core = c }

// SetLead tells which lead nodes are to obey.
func (s *Server) SetLead(term uint64, clusterID string) {
	s.lead.Lock()
	defer s.lead.Unlock()
	s.lead.term, s.lead.clusterID = term, clusterID
}

// SetDatabaseAway tells whether PostgreSQL answers, for ping and messages.
func (s *Server) SetDatabaseAway(away bool) {
	s.lead.Lock()
	defer s.lead.Unlock()
	s.lead.away = away
}

func (s *Server) currentLead() (term uint64, clusterID string, away bool) {
	s.lead.Lock()
	defer s.lead.Unlock()
	return s.lead.term, s.lead.clusterID, s.lead.away
}

// Serve accepts connections until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener, cfg auth.ServerConfig) error {
	srv, err := s.services()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer s.conns.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		s.conns.Go(func() { s.serveOne(ctx, srv, conn, cfg) })
	}
}

// services are what every connection may call; each call asks who calls.
func (s *Server) services() (*drpcserver.Server, error) {
	mux := drpcmux.New()
	if err := errors.Join(wire.DRPCRegisterCtld(mux, s), wire.DRPCRegisterNodeSession(mux, s)); err != nil {
		return nil, err
	}
	return drpcserver.NewWithOptions(mux, drpcserver.Options{
		Manager: drpcmanager.Options{Reader: drpcwire.ReaderOptions{MaximumBufferSize: maxMessage}},
	}), nil
}

func (s *Server) serveOne(ctx context.Context, srv *drpcserver.Server, conn net.Conn, cfg auth.ServerConfig) {
	ready, id, err := auth.ServerConn(ctx, conn, cfg)
	if err != nil {
		s.Log.Warn("connection refused", "err", err)
		return
	}
	serveAs(ctx, srv, ready, id)
}

// serveAs serves a peer that has proved who it is.
func serveAs(ctx context.Context, srv *drpcserver.Server, conn net.Conn, id auth.Identity) {
	defer conn.Close()
	ctx = context.WithValue(withIdentity(ctx, id), connKey{}, conn)
	_ = srv.ServeOne(ctx, conn) // how a client went away is its own affair
}

type (
	identityKey struct{}
	connKey     struct{}
)

// hangUp ends the connection that a call came on. It is the way to end a stream
// whose peer no longer reads: everything else waits for what is being written.
func hangUp(ctx context.Context) {
	if conn, ok := ctx.Value(connKey{}).(net.Conn); ok {
		_ = conn.Close()
	}
}

func withIdentity(ctx context.Context, id auth.Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// caller is who sent the request; every connection has been authenticated.
func caller(ctx context.Context) access.Caller {
	id, _ := ctx.Value(identityKey{}).(auth.Identity)
	return access.Caller{ID: id}
}

// actor is the caller as the reducer needs to know him.
func (s *Server) actor(ctx context.Context) controller.Actor {
	c := caller(ctx)
	return controller.Actor{UID: c.ID.UID, Operator: s.rules().Policy.MayOperate(c), Admin: s.rules().Policy.MayAdmin(c)}
}

// keptTime bounds the search for the answer that a repeat got before.
const keptTime = 5 * time.Second

// head makes the common part of a request's event. The reducer remembers recent
// answers; a repeat of an older one brings its first answer along.
func (s *Server) head(ctx context.Context, requestID []byte) (controller.Head, error) {
	h := controller.Head{Actor: s.actor(ctx), ID: string(requestID)}
	if h.ID == "" || !wire.IsRetry(ctx) {
		return h, nil
	}
	ctx, cancel := context.WithTimeout(ctx, keptTime)
	defer cancel()
	kept, found, err := s.Accounting.Request(ctx, h.ID, h.Actor.UID)
	if err != nil {
		s.Log.Warn("the answer to a repeated request was not found", "err", err)
		return h, tryAgain("whether this request was answered before is not known now")
	}
	if found && kept == nil {
		kept = []byte{} // an answer without content is one
	}
	h.Kept = kept
	return h, nil
}

// tryAgain is the RPC error that makes a client ask again.
func tryAgain(why string) error {
	return drpcerr.WithCode(errors.New(why), uint64(wire.RpcCode_RPC_TRY_AGAIN))
}

// do makes a request's event, sends it to the reducer and returns its reply as T.
func do[T any](ctx context.Context, s *Server, requestID []byte, event func(controller.Head) controller.Event) (T, error) {
	var none T
	head, err := s.head(ctx, requestID)
	if err != nil {
		return none, err
	}
	reply, err := s.Core.Do(ctx, event(head))
	if err != nil {
		if errors.Is(err, controller.ErrTryAgain) {
			return none, tryAgain(err.Error())
		}
		return none, err
	}
	return reply.(T), nil
}

func refusal(code uint32, message string) *wire.Refusal {
	return &wire.Refusal{Code: code, Message: message}
}

// Slurm's error numbers and words that the edge gives out itself.
const (
	codeInvalidPartition = 2000
	codeAccessDenied     = 2002
	codeInvalidJob       = 2017
	codeInvalidNode      = 2018
	codeInvalidUser      = 2010
	codeInvalidQOS       = 2066
	codeBadScript        = 2100

	textInvalidJob      = "Invalid job id specified"
	textAccessDenied    = "Access/permission denied"
	textInvalidUser     = "Invalid user id"
	textInvalidNode     = "Invalid node name specified"
	textInvalidPart     = "Invalid partition name specified"
	textNotYetSupported = "not supported yet: "
)
