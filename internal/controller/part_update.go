package controller

import (
	"slices"
	"strings"

	"muster/internal/hostlist"
	"muster/internal/slurmtime"
	"muster/internal/wire"
)

// updatePartition changes, creates or deletes a partition by hand.
func (s *State) updatePartition(ev *Update) *wire.UpdateReply {
	if !ev.Actor.Admin {
		return &wire.UpdateReply{Refusal: errDenied}
	}
	name := ev.Request.Target
	p := s.partBy[name]
	switch {
	case ev.Request.Create && p != nil:
		return &wire.UpdateReply{Refusal: errPartition}
	case ev.Request.Create:
		info := &wire.PartitionInfo{
			Name: name, State: "UP", MaxTime: Unlimited, MaxNodes: Unlimited, PriorityJobFactor: 1, PriorityTier: 1,
			MinNodes: 1, MaxCpusPerNode: Unlimited, MaxCpusPerSocket: Unlimited, Oversubscribe: "NO", Exclusive: "NO",
		}
		if r := s.partFields(info, ev); r != nil {
			return &wire.UpdateReply{Refusal: r}
		}
		p = &part{info: info, byHand: true}
		s.addPart(p)
		s.partChanged(p)
		return &wire.UpdateReply{}
	case p == nil:
		return &wire.UpdateReply{Refusal: errPartition}
	case ev.Request.Delete:
		return s.deletePartition(p)
	}
	info := clonePart(p.info)
	if r := s.partFields(info, ev); r != nil {
		return &wire.UpdateReply{Refusal: r}
	}
	p.info, p.byHand = info, true
	s.partChanged(p)
	return &wire.UpdateReply{}
}

// partChanged writes a partition that was changed by hand, and lets everything
// see it.
func (s *State) partChanged(p *part) {
	if p.info.IsDefault {
		for _, o := range s.parts {
			if o != p && o.info.IsDefault {
				o.info = clonePart(o.info)
				o.info.IsDefault, o.byHand = false, true
				s.out.parts[o.info.Name] = &wire.PartitionState{Name: o.info.Name, Info: o.info}
			}
		}
	}
	s.out.parts[p.info.Name] = &wire.PartitionState{Name: p.info.Name, Info: p.info}
	s.partsMoved()
}

// partsMoved brings up to date what depends on the set of partitions.
func (s *State) partsMoved() {
	s.out.repart = true
	s.indexParts()
	for _, n := range s.nodes {
		s.show(n)
	}
	for _, j := range s.jobs {
		if waits(j.st) {
			s.queue(j)
		}
	}
	s.wantPass()
}

func (s *State) deletePartition(p *part) *wire.UpdateReply {
	for _, j := range s.jobs {
		if !final(j.st) && slices.Contains(j.parts, p) {
			return &wire.UpdateReply{Refusal: refusal(2016, "Partition is in use")}
		}
	}
	s.parts = slices.DeleteFunc(s.parts, func(o *part) bool { return o == p })
	delete(s.partBy, p.info.Name)
	delete(s.out.parts, p.info.Name)
	s.out.partsGone = append(s.out.partsGone, p.info.Name)
	s.partsMoved()
	return &wire.UpdateReply{}
}

// partFields changes fields of a copy.
func (s *State) partFields(p *wire.PartitionInfo, ev *Update) *wire.Refusal {
	for _, f := range ev.Request.Fields {
		if r := s.partField(p, f); r != nil {
			return r
		}
		if strings.EqualFold(f.Key, "AllowGroups") {
			p.AllowGids = ev.Groups
		}
	}
	return nil
}

func (s *State) partField(p *wire.PartitionInfo, f *wire.FieldUpdate) (r *wire.Refusal) {
	switch strings.ToLower(f.Key) {
	case "state":
		v := strings.ToUpper(f.Value)
		if !slices.Contains([]string{"UP", "DOWN", "DRAIN", "INACTIVE"}, v) {
			return badValue(f.Key, f.Value)
		}
		p.State = v
	case "nodes":
		return s.partNodes(p, f.Value)
	case "default":
		p.IsDefault, r = parseYesNo(f)
	case "hidden":
		p.Hidden, r = parseYesNo(f)
	case "rootonly":
		p.RootOnly, r = parseYesNo(f)
	case "lln":
		p.Lln, r = parseYesNo(f)
	case "disablerootjobs":
		p.DisableRootJobs, r = parseYesNo(f)
	case "maxtime":
		p.MaxTime, r = partTime(f)
	case "defaulttime", "defmaxtime":
		p.DefaultTime, r = partTime(f)
	case "minnodes":
		p.MinNodes, r = parseUint32(f)
	case "maxnodes":
		p.MaxNodes, r = parseUint32(f)
	case "exclusiveuser":
		var yes bool
		if yes, r = parseYesNo(f); yes {
			p.Exclusive = "USER"
		} else {
			p.Exclusive = "NO"
		}
	case "defmempercpu":
		p.DefMemKind, p.DefMem, r = partMemory(wire.MemKind_MEM_PER_CPU, f)
	case "defmempernode":
		p.DefMemKind, p.DefMem, r = partMemory(wire.MemKind_MEM_PER_NODE, f)
	case "maxmempercpu":
		p.MaxMemKind, p.MaxMem, r = partMemory(wire.MemKind_MEM_PER_CPU, f)
	case "maxcpuspernode":
		p.MaxCpusPerNode, r = parseUint32(f)
	case "priorityjobfactor":
		p.PriorityJobFactor, r = parseUint32(f)
	case "prioritytier":
		p.PriorityTier, r = parseUint32(f)
	case "priority":
		p.PriorityTier, r = parseUint32(f)
		p.PriorityJobFactor = p.PriorityTier
	case "overtimelimit":
		p.OverTimeLimit, r = parseUint32(f)
		p.OverTimeLimitSet = true
	case "allowgroups":
		p.AllowGroups = orAll(f.Value)
	case "allowaccounts":
		p.AllowAccounts = orAll(f.Value)
	case "denyaccounts":
		p.DenyAccounts = f.Value
	case "allowqos":
		p.AllowQos = orAll(f.Value)
	case "denyqos":
		p.DenyQos = f.Value
	case "allocnodes":
		p.AllocNodes = orAll(f.Value)
	case "alternate":
		p.Alternate = f.Value
	default:
		return unknownField(f.Key)
	}
	return r
}

// partMemory reads MiB; 0 = no bound.
func partMemory(kind wire.MemKind, f *wire.FieldUpdate) (wire.MemKind, uint64, *wire.Refusal) {
	n, r := parseUint32(f)
	return kind, uint64(n), r
}

func orAll(v string) string {
	if strings.EqualFold(v, "ALL") {
		return ""
	}
	return v
}

func partTime(f *wire.FieldUpdate) (uint32, *wire.Refusal) {
	n, err := slurmtime.ParseLimit(f.Value)
	if err != nil {
		return 0, badValue(f.Key, f.Value)
	}
	return n, nil
}

func (s *State) partNodes(p *wire.PartitionInfo, list string) *wire.Refusal {
	if list == "" {
		p.Nodes, p.NodeNames = "", nil
		return nil
	}
	nodes, r := s.expandKnown(list)
	if r != nil {
		return r
	}
	p.NodeNames = nil
	for _, n := range nodes {
		p.NodeNames = append(p.NodeNames, n.conf.Name)
	}
	p.Nodes = hostlist.Compress(p.NodeNames)
	p.TotalCpus, p.TotalNodes, p.TotalMem = 0, 0, 0
	return nil
}
