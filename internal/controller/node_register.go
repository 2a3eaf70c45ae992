package controller

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muster/internal/model"
	"muster/internal/wire"
)

// register takes a node in: what it is, what it has, what runs on it. Only
// then does it get orders.
func (s *State) register(ev *NodeRegister) {
	reg := ev.Register
	n := s.nodeBy[ev.Node]
	if why := s.refuseNode(n, ev); why != "" {
		s.logf(levelError, "registration refused", "node", ev.Node, "reason", why)
		s.effect(registered{ev.Node, ev.Session, why})
		s.effect(closeSession{ev.Node, ev.Session, why})
		return
	}
	if n.session != 0 && n.session != ev.Session {
		s.effect(closeSession{n.st.Name, n.session, "a later session has registered"})
	}
	rebooted := n.st.BootId != "" && reg.BootId != "" && n.st.BootId != reg.BootId
	n.session, n.silent = ev.Session, 0
	s.effect(registered{ev.Node, ev.Session, ""})
	s.noteRegistration(n, reg)
	s.reconcile(n, reg, rebooted)
	s.stateAfterRegistration(n, rebooted)
	s.show(n)
	s.rearmNode(n)
	s.wantPass()
}

func (s *State) refuseNode(n *node, ev *NodeRegister) string {
	reg := ev.Register
	switch {
	case n == nil:
		return "node " + ev.Node + " is not in slurm.conf"
	case reg.ClusterId != "" && reg.ClusterId != s.clusterID:
		return fmt.Sprintf("node %s belongs to the cluster with id %s, this one is %s", ev.Node, reg.ClusterId, s.clusterID)
	}
	return ""
}

// noteRegistration writes down what the node said of itself.
func (s *State) noteRegistration(n *node, reg *wire.Register) {
	st := s.editNode(n)
	if model.JobKey(reg.HighestJob) >= s.nextKey {
		s.skipKeys(n, st, reg)
	}
	s.skipIDs(reg)
	st.BootId, st.BootTime, st.SlurmdStart = reg.BootId, reg.BootTime, reg.SlurmdStart
	st.Version, st.Arch, st.Os = reg.Version, reg.Arch, reg.Os
	st.HighestJob = max(st.HighestJob, reg.HighestJob)
	if reg.Inventory != nil {
		st.Inventory = reg.Inventory
	}
	if reg.Addr != "" {
		st.Addr = reg.Addr
	}
	if reg.Hostname != "" {
		st.Hostname = reg.Hostname
	}
	st.Registered = true
	st.Flags &^= uint32(wire.NodeFlag_NF_NO_RESPOND)
}

// reconcile compares what runs on the node with what should.
func (s *State) reconcile(n *node, reg *wire.Register, rebooted bool) {
	// Tables from before what the node remembers: what they do not know may live.
	older := reg.Generation > s.generation
	listed := map[runRef]bool{}
	alone := map[runRef]bool{}
	for _, o := range n.strays {
		if o.alone {
			alone[runRef{o.fact.Key, o.fact.Attempt}] = true
		}
	}
	n.strays = nil
	for _, f := range reg.Runs {
		ref := runRef{f.Key, f.Attempt}
		listed[ref] = true
		s.runFact(n, f, older && s.jobs[f.Key] == nil || s.notGiven(f.Key) || alone[ref])
	}
	for _, j := range slices.Clone(n.jobs) {
		if listed[runRef{j.st.Key, j.st.Attempt}] {
			s.repeatOrders(j, n)
			continue
		}
		i := slices.Index(j.nodes, n)
		switch {
		case completing(j.st):
			s.release(j, i)
			s.allGone(j)
		case j.stage[i] == wire.RunStage_STAGE_NONE && !rebooted:
			if !j.st.PrologStarted || j.st.PrologDone {
				s.launch(j, i)
			}
		default:
			s.logf(levelError, "run is gone from its node", "job", model.JobID(j.st), "node", n.st.Name, "rebooted", rebooted)
			s.loseNode(j, n)
		}
	}
}

// repeatOrders tells a node again what was decided while it was away.
func (s *State) repeatOrders(j *job, n *node) {
	i := slices.Index(j.nodes, n)
	if i < 0 || j.st.Alloc[i].Released {
		return
	}
	switch {
	case completing(j.st):
		how := terminateNow
		if j.st.State == wire.BaseState_TIMEOUT || j.st.State == wire.BaseState_CANCELLED {
			how = terminateGently
		}
		s.terminate(j, i, how)
	case j.st.State == wire.BaseState_SUSPENDED:
		o := &wire.SuspendOrder{Key: j.st.Key, Attempt: j.st.Attempt}
		s.send(n, &wire.NodeOrder{Body: &wire.NodeOrder_Suspend{Suspend: o}})
	}
}

// stateAfterRegistration settles the node's state by what it registered with.
func (s *State) stateAfterRegistration(n *node, rebooted bool) {
	st := s.editNode(n)
	if why := s.shortcomings(n); why != "" {
		st.Flags |= uint32(wire.NodeFlag_NF_INVALID_REG)
		s.drain(n, why)
	} else if nodeFlag(st, wire.NodeFlag_NF_INVALID_REG) {
		st.Flags &^= uint32(wire.NodeFlag_NF_INVALID_REG)
		if !st.ReasonByAdmin {
			st.Flags &^= uint32(wire.NodeFlag_NF_DRAIN)
			st.Reason, st.ReasonTime = "", 0
		}
	}
	switch {
	case st.Base == wire.NodeBase_NODE_UNKNOWN:
		st.Base = wire.NodeBase_NODE_IDLE
	case st.Base == wire.NodeBase_NODE_IDLE && rebooted && s.set.ReturnToService != 2:
		s.logf(levelError, "node set DOWN", "node", st.Name, "reason", reasonRebooted)
		s.setDown(n, reasonRebooted)
	case st.Base == wire.NodeBase_NODE_DOWN && s.returns(n, rebooted):
		st.Base = wire.NodeBase_NODE_IDLE
		if !st.ReasonByAdmin && !nodeFlag(st, wire.NodeFlag_NF_DRAIN) {
			st.Reason, st.ReasonTime = "", 0
		}
	case st.Base == wire.NodeBase_NODE_DOWN && rebooted && st.Reason == reasonNotResponding:
		s.setReason(n, reasonRebooted)
	}
}

// returns tells whether a DOWN node that registers goes back to service (ReturnToService).
func (s *State) returns(n *node, rebooted bool) bool {
	switch s.set.ReturnToService {
	case 1:
		return n.st.Reason == reasonNotResponding && !n.st.ReasonByAdmin && !rebooted
	case 2:
		return !n.st.ReasonByAdmin
	}
	return false
}

// shortcomings lists in Slurm's words what the node has less of than configured.
func (s *State) shortcomings(n *node) string {
	inv, c := n.st.Inventory, n.conf
	if s.set.ConfigOverrides || inv == nil {
		return ""
	}
	var out []string
	if inv.Sockets*inv.CoresPerSocket*inv.ThreadsPerCore < c.Sockets*c.CoresPerSocket*c.ThreadsPerCore {
		out = append(out, "Low socket*core*thread count")
	}
	if inv.Cpus < c.CPUs {
		out = append(out, "Low CPUs")
	}
	if inv.RealMemory < c.RealMemory {
		out = append(out, fmt.Sprintf("Low RealMemory (reported:%d < 100.00%% of configured:%d)", inv.RealMemory, c.RealMemory))
	}
	if inv.TmpDisk < c.TmpDisk {
		out = append(out, "Low TmpDisk")
	}
	return strings.Join(append(out, lackingGres(inv.Gres, c.GresDevices)...), ", ")
}

func lackingGres(have []*wire.GresDevice, want []GresSettings) []string {
	var out []string
	total := map[string]uint64{}
	var names []string
	for _, g := range want {
		if _, ok := total[g.Name]; !ok {
			names = append(names, g.Name)
		}
		total[g.Name] += g.Count
	}
	for _, name := range names {
		n := uint64(0)
		for _, d := range have {
			if d.Name == name {
				n += deviceCount(d)
			}
		}
		if n < total[name] {
			out = append(out, "gres/"+name+" count reported lower than configured ("+
				strconv.FormatUint(n, 10)+" < "+strconv.FormatUint(total[name], 10)+")")
		}
	}
	return out
}

// deviceCount is how many a device entry stands for: one, or what follows
// "count=" in its flags where devices are only counted.
func deviceCount(d *wire.GresDevice) uint64 {
	for f := range strings.SplitSeq(d.Flags, ",") {
		if v, ok := strings.CutPrefix(f, "count="); ok {
			if n, err := strconv.ParseUint(v, 10, 64); err == nil {
				return n
			}
		}
	}
	return 1
}
