package controller

import (
	"slices"
	"sort"
	"strings"

	"muster/internal/model"
	"muster/internal/sched"
	"muster/internal/wire"
)

// reconfigure puts new settings in force. Jobs, states of nodes and reasons
// stay; partitions changed by hand go back unless KeepPartState is set. A node
// or partition in use cannot be taken away.
func (s *State) reconfigure(ev *Reconfigure) *wire.AdminReply {
	if !ev.Actor.Admin {
		return &wire.AdminReply{Refusal: errDenied}
	}
	set := ev.Settings
	if r := s.inUse(set); r != nil {
		return &wire.AdminReply{Refusal: r}
	}
	s.set = set
	s.renewNodes()
	s.renewParts()
	for _, j := range inOrder(s.jobs) {
		j.parts, _ = s.partitions(j.spec.Partition)
		s.rearm(j)
	}
	s.partsMoved()
	return &wire.AdminReply{}
}

// inUse refuses to take away what jobs use, and names them.
func (s *State) inUse(set *Settings) *wire.Refusal {
	nodes, parts := map[string]bool{}, map[string]bool{}
	for i := range set.Nodes {
		nodes[set.Nodes[i].Name] = true
	}
	for _, p := range set.Partitions {
		parts[p.Name] = true
	}
	for _, n := range s.nodes {
		if len(n.jobs) > 0 && !nodes[n.conf.Name] {
			return refusal(2016, "node "+n.conf.Name+" is in use by jobs "+jobNames(n.jobs))
		}
	}
	for _, p := range s.parts {
		if parts[p.info.Name] || set.KeepPartState && p.byHand {
			continue
		}
		var users []*job
		for _, j := range s.jobs {
			if !final(j.st) && slices.Contains(j.parts, p) {
				users = append(users, j)
			}
		}
		if len(users) > 0 {
			return refusal(2016, "partition "+p.info.Name+" is in use by jobs "+jobNames(users))
		}
	}
	return nil
}

func jobNames(jobs []*job) string {
	var out []string
	for _, j := range jobs {
		out = append(out, model.JobID(j.st))
	}
	sort.Strings(out)
	if len(out) > 20 {
		out = append(out[:20], "…")
	}
	return strings.Join(out, ", ")
}

// renewNodes takes over the nodes of the settings, with the states they have.
func (s *State) renewNodes() {
	old := s.nodeBy
	s.nodes, s.nodeBy = nil, map[string]*node{}
	s.passing.nodes = make([]sched.Node, 0, len(s.set.Nodes))
	for i := range s.set.Nodes {
		c := &s.set.Nodes[i]
		n := old[c.Name]
		if n == nil {
			s.addNode(c, nil)
			n = s.nodeBy[c.Name]
			n.silent = s.now
			s.editNode(n)
			s.rearmNode(n)
			continue
		}
		delete(old, c.Name)
		n.conf, n.pos = c, len(s.nodes)
		s.nodes = append(s.nodes, n)
		s.nodeBy[c.Name] = n
		s.passing.nodes = append(s.passing.nodes, sched.Node{})
		s.show(n)
		s.rearmNode(n)
	}
	for _, name := range sortedNames(old) {
		n := old[name]
		s.alarms.set(&n.alarm, 0)
		if n.session != 0 {
			s.effect(closeSession{name, n.session, "the node is no longer in slurm.conf"})
		}
		s.out.nodesGone = append(s.out.nodesGone, name)
	}
}

// renewParts takes over the partitions of the settings.
func (s *State) renewParts() {
	old := s.partBy
	s.parts, s.partBy = nil, map[string]*part{}
	for _, info := range s.set.Partitions {
		if p := old[info.Name]; p != nil && p.byHand && s.set.KeepPartState {
			s.addPart(p)
		} else {
			if p != nil && p.byHand {
				s.out.partsGone = append(s.out.partsGone, info.Name)
			}
			s.addPart(&part{info: info})
		}
		delete(old, info.Name)
	}
	for _, name := range sortedNames(old) {
		if p := old[name]; p.byHand {
			if s.set.KeepPartState {
				s.addPart(p)
			} else {
				s.out.partsGone = append(s.out.partsGone, name)
			}
		}
	}
}
