package access

import "muster/internal/auth"

// Level is a user's AdminLevel in the accounting tables.
type Level uint8

// The levels, each including those before it.
const (
	LevelNone Level = iota
	LevelOperator
	LevelAdministrator
)

// Policy is what the configuration says about rights.
type Policy struct {
	SlurmUser  uint32 // the uid that ctld runs as
	SlurmdUser uint32 // the uid that noded runs as, usually root
	Private    Private
}

// Caller is who asks: a proven identity, and what the accounting tables say
// about that user. The zero Caller may do nothing, except see what is public.
type Caller struct {
	ID    auth.Identity
	Level Level
	// Coordinates tells whether the user coordinates an account. Nil: none.
	Coordinates func(account string) bool
}

func (c Caller) proven() bool { return c.ID.Method != auth.MethodNone }

func (c Caller) coordinates(account string) bool {
	return c.proven() && account != "" && c.Coordinates != nil && c.Coordinates(account)
}

func (c Caller) is(uid uint32) bool { return c.proven() && c.ID.UID == uid }

// IsSuper tells whether the caller is root or SlurmUser.
func (p Policy) IsSuper(c Caller) bool { return c.is(0) || c.is(p.SlurmUser) }

// MayAdmin covers what changes the cluster: nodes, partitions, configuration,
// reconfigure, shutdown, snapshots.
func (p Policy) MayAdmin(c Caller) bool {
	return p.IsSuper(c) || c.proven() && c.Level >= LevelAdministrator
}

// MayOperate covers what operators do besides: reservations, the accounting
// tables, other users' jobs, and seeing what PrivateData hides.
func (p Policy) MayOperate(c Caller) bool {
	return p.MayAdmin(c) || c.proven() && c.Level >= LevelOperator
}

// MaySubmitAs tells whether the caller may submit a job that runs as uid
// (sbatch --uid).
func (p Policy) MaySubmitAs(c Caller, uid uint32) bool { return c.is(uid) || p.IsSuper(c) }

// MayChangeJob covers cancel, signal, hold, release, requeue, suspend and
// updates of a job of this owner and account. Fields that only administrators
// may set (a higher priority, a negative nice) ask MayOperate as well.
func (p Policy) MayChangeJob(c Caller, owner uint32, account string) bool {
	return c.is(owner) || p.MayOperate(c) || c.coordinates(account)
}

// MayReadScript covers the batch script and the environment of a job: the
// owner's secrets often stand in them, so coordinators are not included.
func (p Policy) MayReadScript(c Caller, owner uint32) bool {
	return c.is(owner) || p.MayOperate(c)
}

// MayUseStep covers attaching to and launching steps in a running job.
func (p Policy) MayUseStep(c Caller, owner uint32) bool { return c.is(owner) || p.IsSuper(c) }

// MaySeeJob tells whether a job of this owner and account is shown.
func (p Policy) MaySeeJob(c Caller, owner uint32, account string) bool {
	return p.sees(c, PrivateJobs) || c.is(owner) || c.coordinates(account)
}

// MaySeeNodes tells whether node states are shown.
func (p Policy) MaySeeNodes(c Caller) bool { return p.sees(c, PrivateNodes) }

// MaySeePartitions tells whether partition states are shown.
func (p Policy) MaySeePartitions(c Caller) bool { return p.sees(c, PrivatePartitions) }

// MaySeeReservation tells whether a reservation is shown; usable says that the
// caller may run jobs in it.
func (p Policy) MaySeeReservation(c Caller, usable bool) bool {
	return p.sees(c, PrivateReservations) || c.proven() && usable
}

// MaySeeUsage tells whether the usage of a user within an account is shown.
func (p Policy) MaySeeUsage(c Caller, user uint32, account string) bool {
	return p.sees(c, PrivateUsage) || c.is(user) || c.coordinates(account)
}

// MaySeeUser tells whether another user's record is shown; accounts are those
// which the other user belongs to.
func (p Policy) MaySeeUser(c Caller, user uint32, accounts ...string) bool {
	if p.sees(c, PrivateUsers) || c.is(user) {
		return true
	}
	for _, account := range accounts {
		if c.coordinates(account) {
			return true
		}
	}
	return false
}

// MaySeeAccount tells whether an account's definition is shown.
func (p Policy) MaySeeAccount(c Caller, account string) bool {
	return p.sees(c, PrivateAccounts) || c.coordinates(account)
}

// MaySeeEvents tells whether the history of node events is shown.
func (p Policy) MaySeeEvents(c Caller) bool { return p.sees(c, PrivateEvents) }

// sees is true if the thing is not private, or the caller is above that.
func (p Policy) sees(c Caller, thing Private) bool {
	return p.Private&thing == 0 || p.MayOperate(c)
}

// isDaemon tells whether the caller is a user that noded may run as.
func (p Policy) isDaemon(c Caller) bool { return p.IsSuper(c) || c.is(p.SlurmdUser) }

// MayEnrolNode tells whether the caller may get a certificate for a configured
// node. A node that has one may renew it, and get none for another node.
func (p Policy) MayEnrolNode(c Caller, node string) bool {
	return p.isDaemon(c) && (c.ID.Node == "" || c.ID.Node == node)
}

// MayServeNode tells whether the caller may hold the session of a node: over
// the network only under that node's certificate, on the controller's own host
// also by the peer credentials of a daemon.
func (p Policy) MayServeNode(c Caller, node string) bool {
	if !p.isDaemon(c) || node == "" {
		return false
	}
	return c.ID.Node == node || c.ID.Local()
}
