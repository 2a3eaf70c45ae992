package controller

import (
	"slices"

	"muster/internal/sched"
	"muster/internal/wire"
)

// Reasons that the controller gives, as Slurm words them.
const (
	reasonNotResponding = "Not responding"
	reasonRebooted      = "Node unexpectedly rebooted"
	reasonProlog        = "Prolog error"
	reasonEpilog        = "Epilog error"
	reasonKill          = "Kill task failed"
)

func nodeFlag(st *wire.NodeState, f wire.NodeFlag) bool { return st.Flags&uint32(f) != 0 }

// usable tells whether new work may go to the node, and if not why.
func (s *State) usable(n *node) (bool, string) {
	st := n.st
	switch {
	case st.Base != wire.NodeBase_NODE_IDLE:
		return false, "DOWN"
	case nodeFlag(st, wire.NodeFlag_NF_DRAIN):
		return false, "DRAINED"
	case nodeFlag(st, wire.NodeFlag_NF_FAIL):
		return false, "FAIL"
	case nodeFlag(st, wire.NodeFlag_NF_NO_RESPOND), n.session == 0, n.silent != 0:
		return false, "NOT_RESPONDING"
	case len(n.strays) > 0:
		return false, "CLEARING"
	}
	return true, ""
}

// emptyNode is the node as a pass sees it with nothing held.
func emptyNode(n *node) sched.Node {
	c := n.conf
	p := sched.Node{
		Name: c.Name, Weight: c.Weight, Features: features(n), Sockets: int(c.Sockets),
		CoresPerSocket: int(c.CoresPerSocket), ThreadsPerCore: int(c.ThreadsPerCore),
		Memory: c.RealMemory - min(c.MemSpecLimit, c.RealMemory), TmpDisk: c.TmpDisk,
	}
	cores := p.Sockets * p.CoresPerSocket
	if int(c.CPUs) == cores {
		p.ThreadsPerCore = 1 // a core counts as one CPU
	}
	if n.st.WeightSet {
		p.Weight = n.st.Weight
	}
	p.Held = sched.NewCores(cores)
	p.SpecCores = specCores(c, cores)
	for _, g := range c.GresDevices {
		p.Gres = append(p.Gres, sched.Gres{Name: g.Name, Type: g.Type, Count: g.Count, Index: g.Index, Held: make([]bool, len(g.Index))})
	}
	return p
}

func specCores(c *NodeSettings, cores int) sched.Cores {
	set := sched.NewCores(cores)
	for i := 0; i < int(c.CoreSpecCount) && i < cores; i++ {
		set.Add(cores - 1 - i)
	}
	for _, cpu := range c.SpecCPUs {
		if core := int(cpu) / int(max(c.ThreadsPerCore, 1)); core < cores {
			set.Add(core)
		}
	}
	return set
}

// rearmNode sets the node's alarm by its state.
func (s *State) rearmNode(n *node) {
	n.alarm.n, n.alarm.tie = n, -1-int64(n.pos)
	at := s.nodeNext(n)
	if at != 0 {
		at = max(at, s.now)
	}
	s.alarms.set(&n.alarm, at)
}

// graceBeforeSilent is how long a node may be away before it is shown as not
// responding: a node daemon that is restarted is back earlier.
func (s *State) graceBeforeSilent() int64 { return max(5, min(s.set.SlurmdTimeout/3, 60)) }

func (s *State) nodeNext(n *node) int64 {
	at := int64(0)
	if n.silent != 0 && n.st.Base != wire.NodeBase_NODE_FUTURE {
		if !nodeFlag(n.st, wire.NodeFlag_NF_NO_RESPOND) {
			at = n.silent + s.graceBeforeSilent()
		}
		if n.st.Base != wire.NodeBase_NODE_DOWN && s.set.SlurmdTimeout > 0 {
			at = earliest(at, n.silent+s.set.SlurmdTimeout)
		}
	}
	if n.st.ResumeAfter != 0 {
		at = earliest(at, n.st.ResumeAfter)
	}
	return at
}

func (s *State) nodeDue(n *node) {
	if n.st.ResumeAfter != 0 && s.now >= n.st.ResumeAfter {
		s.editNode(n).ResumeAfter = 0
		s.resumeNode(n)
	}
	if n.silent == 0 || n.st.Base == wire.NodeBase_NODE_FUTURE {
		return
	}
	if !nodeFlag(n.st, wire.NodeFlag_NF_NO_RESPOND) && s.now >= n.silent+s.graceBeforeSilent() {
		s.editNode(n).Flags |= uint32(wire.NodeFlag_NF_NO_RESPOND)
		s.logf(levelWarn, "node does not respond", "node", n.st.Name)
	}
	if n.st.Base != wire.NodeBase_NODE_DOWN && s.set.SlurmdTimeout > 0 && s.now >= n.silent+s.set.SlurmdTimeout {
		s.logf(levelError, "node set DOWN", "node", n.st.Name, "reason", reasonNotResponding)
		s.setDown(n, reasonNotResponding)
	}
}

// nodeGone: the node's session has ended.
func (s *State) nodeGone(ev *NodeGone) {
	n := s.nodeBy[ev.Node]
	if n == nil || n.session != ev.Session {
		return
	}
	n.session = 0
	s.away(n, ev.Since)
}

func (s *State) nodeSilent(ev *NodeSilent) {
	n := s.nodeBy[ev.Node]
	if n != nil && n.session == ev.Session && n.silent == 0 {
		s.away(n, ev.Since)
	}
}

func (s *State) away(n *node, since int64) {
	if since == 0 || since > s.now {
		since = s.now
	}
	if n.silent == 0 {
		n.silent = since
	}
	s.show(n)
	s.rearmNode(n)
}

func (s *State) nodeHeard(ev *NodeHeard) {
	n := s.nodeBy[ev.Node]
	if n == nil || n.session != ev.Session {
		return
	}
	s.heard(n)
}

// heard clears what silence had set; a node that silence has put DOWN comes
// back by registering.
func (s *State) heard(n *node) {
	n.silent = 0
	if nodeFlag(n.st, wire.NodeFlag_NF_NO_RESPOND) {
		s.editNode(n).Flags &^= uint32(wire.NodeFlag_NF_NO_RESPOND)
	}
	s.show(n)
	s.rearmNode(n)
	s.wantPass()
}

// setReason gives an automatic reason; an administrator's stands.
func (s *State) setReason(n *node, reason string) {
	st := s.editNode(n)
	if st.ReasonByAdmin && st.Reason != "" {
		return
	}
	st.Reason, st.ReasonUid, st.ReasonTime, st.ReasonByAdmin = reason, 0, s.now, false
}

// drain keeps new work from the node.
func (s *State) drain(n *node, reason string) {
	st := s.editNode(n)
	if !nodeFlag(st, wire.NodeFlag_NF_DRAIN) || st.Reason == "" {
		s.setReason(n, reason)
	}
	st.Flags |= uint32(wire.NodeFlag_NF_DRAIN)
	s.logf(levelWarn, "node drained", "node", st.Name, "reason", reason)
}

// setDown takes the node down: what runs there is lost.
func (s *State) setDown(n *node, reason string) {
	if reason != "" {
		s.setReason(n, reason)
	}
	s.editNode(n).Base = wire.NodeBase_NODE_DOWN
	for _, j := range slices.Clone(n.jobs) {
		s.loseNode(j, n)
	}
	s.rearmNode(n)
}

// loseNode frees what a job holds on a node that has failed, and ends or
// requeues the job if it was still running.
func (s *State) loseNode(j *job, n *node) {
	i := slices.Index(j.nodes, n)
	if i < 0 || j.st.Alloc[i].Released {
		return
	}
	s.release(j, i)
	switch {
	case !runs(j.st):
		s.allGone(j)
	case j.spec.NoKill && i > 0:
	default:
		s.loseRun(j, n)
	}
}

// resumeNode is State=RESUME: back to service.
func (s *State) resumeNode(n *node) {
	st := s.editNode(n)
	st.Flags &^= uint32(wire.NodeFlag_NF_DRAIN | wire.NodeFlag_NF_FAIL | wire.NodeFlag_NF_INVALID_REG)
	switch st.Base {
	case wire.NodeBase_NODE_FUTURE:
		if n.session == 0 {
			n.silent = s.now // it has the usual time to come
		}
		st.Base = wire.NodeBase_NODE_IDLE
	case wire.NodeBase_NODE_DOWN, wire.NodeBase_NODE_UNKNOWN:
		st.Base = wire.NodeBase_NODE_IDLE
	}
	st.Reason, st.ReasonUid, st.ReasonTime, st.ReasonByAdmin = "", 0, 0, false
	st.LaunchFailures = 0
	s.rearmNode(n)
	s.wantPass()
}
