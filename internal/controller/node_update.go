package controller

import (
	"strings"

	"muster/internal/wire"
)

// updateNodes changes the nodes of a host list.
func (s *State) updateNodes(ev *Update) *wire.UpdateReply {
	if !ev.Actor.Admin {
		return &wire.UpdateReply{Refusal: errDenied}
	}
	nodes, r := s.expandKnown(ev.Request.Target)
	if r == nil {
		r = checkNodeFields(ev.Request.Fields)
	}
	if r == nil {
		r = s.checkNodeStates(nodes, ev.Request.Fields)
	}
	if r != nil {
		return &wire.UpdateReply{Refusal: r}
	}
	for _, n := range nodes {
		s.updateNode(n, ev)
	}
	clear(s.fits)
	s.wantPass()
	return &wire.UpdateReply{}
}

func checkNodeFields(fields []*wire.FieldUpdate) *wire.Refusal {
	down, reason := false, false
	for _, f := range fields {
		switch strings.ToLower(f.Key) {
		case "state":
			switch strings.ToUpper(f.Value) {
			case "DOWN", "DRAIN", "FAIL", "FAILING":
				down = true
			case "RESUME", "UNDRAIN", "IDLE", "FUTURE", "NORESP":
			default:
				return errNodeState
			}
		case "reason":
			reason = f.Value != ""
		case "weight":
			if _, r := parseUint32(f); r != nil {
				return r
			}
		case "features", "activefeatures", "availablefeatures", "comment", "extra", "nodeaddr", "nodehostname":
		default:
			return unknownField(f.Key)
		}
	}
	if down && !reason {
		return refusal(2118, "You must specify a reason when DOWNING or DRAINING a node")
	}
	return nil
}

// checkNodeStates refuses changes of state that the nodes cannot make.
func (s *State) checkNodeStates(nodes []*node, fields []*wire.FieldUpdate) *wire.Refusal {
	for _, f := range fields {
		if !strings.EqualFold(f.Key, "state") {
			continue
		}
		for _, n := range nodes {
			idle := n.st.Base == wire.NodeBase_NODE_IDLE
			off := nodeFlag(n.st, wire.NodeFlag_NF_DRAIN) || nodeFlag(n.st, wire.NodeFlag_NF_FAIL)
			switch strings.ToUpper(f.Value) {
			case "RESUME":
				if idle && !off && !nodeFlag(n.st, wire.NodeFlag_NF_NO_RESPOND) {
					return errNodeState
				}
			case "FUTURE":
				if len(n.jobs) > 0 {
					return errNodesBusy
				}
			}
		}
	}
	return nil
}

func (s *State) updateNode(n *node, ev *Update) {
	reason := ""
	for _, f := range ev.Request.Fields {
		if strings.EqualFold(f.Key, "reason") {
			reason = f.Value
		}
	}
	for _, f := range ev.Request.Fields {
		st := s.editNode(n)
		switch strings.ToLower(f.Key) {
		case "state":
			s.stateByAdmin(n, strings.ToUpper(f.Value))
		case "weight":
			st.Weight, _ = parseUint32(f)
			st.WeightSet = true
		case "features", "availablefeatures":
			st.FeaturesAvailable, st.FeaturesActive = f.Value, f.Value
		case "activefeatures":
			st.FeaturesActive = f.Value
		case "comment":
			st.Comment = f.Value
		case "extra":
			st.Extra = f.Value
		case "nodeaddr":
			st.Addr = f.Value
		case "nodehostname":
			st.Hostname = f.Value
		}
	}
	if reason != "" {
		st := s.editNode(n)
		st.Reason, st.ReasonUid, st.ReasonTime, st.ReasonByAdmin = reason, ev.Actor.UID, s.now, true
	}
}

// stateByAdmin puts a node into the state that was asked for.
func (s *State) stateByAdmin(n *node, state string) {
	st := s.editNode(n)
	switch state {
	case "DOWN":
		s.setDown(n, "")
	case "DRAIN":
		st.Flags |= uint32(wire.NodeFlag_NF_DRAIN)
	case "FAIL", "FAILING":
		st.Flags |= uint32(wire.NodeFlag_NF_FAIL)
	case "NORESP":
		st.Flags |= uint32(wire.NodeFlag_NF_NO_RESPOND)
	case "FUTURE":
		st.Base = wire.NodeBase_NODE_FUTURE
	case "UNDRAIN":
		st.Flags &^= uint32(wire.NodeFlag_NF_DRAIN)
		if st.Base == wire.NodeBase_NODE_IDLE {
			st.Reason, st.ReasonUid, st.ReasonTime, st.ReasonByAdmin = "", 0, 0, false
		}
	case "RESUME", "IDLE":
		s.resumeNode(n)
	}
}
