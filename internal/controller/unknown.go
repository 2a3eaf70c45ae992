package controller

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muster/internal/model"
	"muster/internal/wire"
)

// keyRange is the keys from the first up to, not including, the end.
type keyRange struct{ first, end model.JobKey }

// skippedKeys is how many keys more than a node has seen are left out: other
// nodes, which register later, may have seen further, and a key must not be
// given to a new job before they have said so.
const skippedKeys = 1 << 20

// skipKeys goes on behind the keys that a node has seen and the tables have
// not: they are older than the node. What has a key in between is never known
// to have ended, whichever node it is on, and whenever that one registers; so
// the range is kept with the node's row.
func (s *State) skipKeys(n *node, st *wire.NodeState, reg *wire.Register) {
	s.logf(levelError, "node has seen jobs that the database does not know: was an old backup restored?",
		"node", st.Name, "highest_key", reg.HighestJob, "next_key", s.nextKey)
	end := model.JobKey(reg.HighestJob) + 1 + skippedKeys
	s.addUnknown(s.nextKey, end)
	st.UnknownKeys = append(slices.Clip(st.UnknownKeys), uint64(s.nextKey), uint64(end))
	s.nextKey = end
	s.out.counted = true
}

// skipIDs keeps ids that a node has seen, and lost tables gave out, from being
// given again.
func (s *State) skipIDs(reg *wire.Register) {
	if reg.HighestJobId >= s.nextID && s.notGiven(model.JobKey(reg.HighestJob)) {
		s.nextID = reg.HighestJobId + 1
		s.out.counted = true
	}
}

func (s *State) addUnknown(first, end model.JobKey) {
	if r := (keyRange{first, end}); !slices.Contains(s.unknown, r) {
		s.unknown = append(s.unknown, r)
	}
}

// notGiven tells whether these tables have never given out a key.
func (s *State) notGiven(key model.JobKey) bool {
	return key >= s.nextKey || slices.ContainsFunc(s.unknown, func(r keyRange) bool { return r.first <= key && key < r.end })
}

// unknownRuns lists what waits for an administrator.
func (s *State) unknownRuns() *wire.AdminReply {
	reply := &wire.AdminReply{}
	for _, n := range s.nodes {
		for _, o := range n.strays {
			if o.alone {
				reply.Messages = append(reply.Messages, fmt.Sprintf("Node=%s Key=%d JobId=%d Attempt=%d", n.st.Name, o.fact.Key, o.fact.JobId, o.fact.Attempt))
			}
		}
	}
	return reply
}

// adopt settles a run that the tables do not know.
func (s *State) adopt(ev *Adopt) *wire.AdminReply {
	words := strings.Fields(ev.Argument)
	if len(words) == 1 && words[0] == "adopt" {
		return s.unknownRuns()
	}
	bad := &wire.AdminReply{Refusal: refusal(2118, "wanted: adopt|kill NODE KEY")}
	if len(words) != 3 || words[0] != "adopt" && words[0] != "kill" {
		return bad
	}
	key, err := strconv.ParseInt(words[2], 10, 64)
	n := s.nodeBy[words[1]]
	if err != nil || n == nil {
		return bad
	}
	i := slices.IndexFunc(n.strays, func(o stray) bool { return o.alone && o.fact.Key == key })
	if i < 0 {
		return &wire.AdminReply{Refusal: refusal(2017, fmt.Sprintf("node %s has no unknown run with key %d", words[1], key))}
	}
	f := n.strays[i].fact
	if words[0] == "adopt" {
		return &wire.AdminReply{Messages: []string{fmt.Sprintf("job %d may end on %s by itself; the node takes no other work until then", f.JobId, words[1])}}
	}
	s.kill(n, f)
	return &wire.AdminReply{Messages: []string{fmt.Sprintf("job %d is being ended on %s", f.JobId, words[1])}}
}
