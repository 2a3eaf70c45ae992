package control

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muster/internal/command/client"
	"muster/internal/model"
	"muster/internal/wire"
)

// change is an update as typed.
type change struct {
	entity string // job node partition step
	target string
	fields []*wire.FieldUpdate
	typed  []string // their keys as typed
}

// What may be changed, by the names that scontrol prints and reads. Abbreviated
// names are sent on in full.
var (
	jobKeys = []string{"Account", "AdminComment", "ArrayTaskThrottle", "BurstBuffer", "ClusterFeatures", "Clusters", "Comment",
		"Contiguous", "CoreSpec", "CPUsPerTask", "Deadline", "DelayBoot", "Dependency", "EligibleTime", "EndTime", "ExcNodeList",
		"Extra", "Features", "Gres", "JobName", "Licenses", "MailType", "MailUser", "MinCPUsNode", "MinMemoryCPU",
		"MinMemoryNode", "MinTmpDiskNode", "Name", "Nice", "NodeList", "NumCPUs", "NumNodes", "NumTasks", "OverSubscribe",
		"Partition", "Prefer", "Priority", "QOS", "Reboot", "ReqCores", "ReqNodeList", "ReqNodes", "ReqProcs", "ReqSockets",
		"ReqThreads", "Requeue", "ReservationName", "ResetAccrueTime", "Shared", "SiteFactor", "StartTime", "StdErr", "StdIn",
		"StdOut", "Switches", "SystemComment", "TasksPerNode", "ThreadSpec", "TimeLimit", "TimeMin", "UserID", "wait-for-switch",
		"WCKey", "WorkDir"}
	nodeKeys = []string{"ActiveFeatures", "AvailableFeatures", "CertToken", "Comment", "CpuBind", "Extra", "Features", "Gres",
		"InstanceId", "InstanceType", "NodeAddr", "NodeHostname", "Reason", "ResumeAfter", "State", "Topology", "Weight"}
	partitionKeys = []string{"AllocNodes", "AllowAccounts", "AllowGroups", "AllowQOS", "Alternate", "CpuBind", "Default",
		"DefaultTime", "DefMemPerCPU", "DefMemPerNode", "DenyAccounts", "DenyQOS", "DisableRootJobs", "Exclusive", "ExclusiveUser",
		"GraceTime", "Hidden", "JobDefaults", "LLN", "MaxCPUsPerNode", "MaxCPUsPerSocket", "MaxMemPerCPU", "MaxMemPerNode",
		"MaxNodes", "MaxTime", "MinNodes", "Nodes", "OverSubscribe", "OverTimeLimit", "PowerDownOnIdle", "PreemptMode", "Priority",
		"PriorityJobFactor", "PriorityTier", "QOS", "ReqResv", "RootOnly", "Shared", "State", "Topology", "TRESBillingWeights"}
	stepKeys = []string{"TimeLimit"}
)

// targets are the words that say what is changed.
var targets = [...]struct {
	key      string
	shortest int
	entity   string
	fields   *[]string
}{
	{"JobId", 3, "job", &jobKeys},
	{"StepId", 4, "step", &stepKeys},
	{"NodeName", 8, "node", &nodeKeys},
	{"PartitionName", 13, "partition", &partitionKeys},
}

// parseChange reads the words after update. A refusal is the lines to print.
func parseChange(words []string) (*change, []string) {
	pairs := pair(words)
	for i, f := range pairs {
		for _, t := range targets {
			if f.Op == "=" && matches(f.Key, t.key, t.shortest) {
				c := &change{entity: t.entity, target: f.Value}
				return c.take(append(pairs[:i:i], pairs[i+1:]...), *t.fields)
			}
		}
	}
	// Where a job is named, by its name too, a partition is a field of it.
	if c, refused := retarget(pairs); c != nil {
		return c, refused
	}
	if f := pairs[0]; f.Op == "=" && matches(f.Key, "PartitionName", 4) {
		c := &change{entity: "partition", target: f.Value}
		return c.take(pairs[1:], partitionKeys)
	}
	return retarget(pairs)
}

// retarget understands `update JobName=x …`, which names jobs by their name.
func retarget(pairs []*wire.FieldUpdate) (*change, []string) {
	for i, f := range pairs {
		if f.Op == "=" && (matches(f.Key, "JobName", 4) || strings.EqualFold(f.Key, "Name")) {
			c := &change{entity: "job", target: "JobName=" + f.Value}
			return c.take(append(pairs[:i:i], pairs[i+1:]...), jobKeys)
		}
	}
	return nil, []string{"No valid entity in update command",
		`Input line must include "NodeName", "PartitionName", "Reservation", "JobId", or "SlurmctldDebug"`}
}

func (c *change) take(pairs []*wire.FieldUpdate, known []string) (*change, []string) {
	for _, f := range pairs {
		if f.Op == "" && !(c.entity == "job" && bareKeys[strings.ToLower(f.Key)]) {
			return nil, c.bare(f.Key)
		}
		name := fullName(f.Key, known)
		if name != "" && f.Op != "=" && f.Op != "" && c.entity == "job" && !signed[name] {
			return nil, []string{fmt.Sprintf("scontrol: error: Option %s%s%s does not accept [+|-]= syntax", f.Key, f.Op, f.Value)}
		}
		if name == "" || f.Op != "=" && f.Op != "" && c.entity != "job" && name != "Nodes" {
			line := "Update of this parameter is not supported: " + f.Key + f.Op + f.Value
			if c.entity == "partition" {
				const error = "scontrol: error: "
				return nil, []string{error + line + "\n", error + "Request aborted", "slurm_update error: No error"}
			}
			return nil, []string{line, "Request aborted"}
		}
		c.typed = append(c.typed, f.Key)
		f.Key = name
		c.fields = append(c.fields, f)
	}
	if len(c.fields) == 0 {
		if c.entity == "partition" {
			return nil, []string{"scontrol: error: No changes specified"}
		}
		return nil, []string{"No changes specified"}
	}
	return c, nil
}

// bareKeys are the fields of a job that need no value; signed those of which
// an amount can be added or taken away.
var (
	bareKeys = map[string]bool{"nice": true, "resetaccruetime": true}
	signed   = map[string]bool{"TimeLimit": true}
)

// bare refuses a field without a value.
func (c *change) bare(key string) []string {
	if c.entity == "job" || c.entity == "step" {
		return []string{"Invalid input: " + key, "Request aborted"}
	}
	return []string{"scontrol: error: Invalid input: " + key + "  Request aborted", "slurm_update error: No error"}
}

// pair cuts `key=value`, `key+=value`, `key-=value` and `key value`.
func pair(words []string) []*wire.FieldUpdate {
	var out []*wire.FieldUpdate
	for i := 0; i < len(words); i++ {
		key, value, ok := strings.Cut(words[i], "=")
		f := &wire.FieldUpdate{Key: key, Value: value, Op: "="}
		switch {
		case !ok && i+1 < len(words) && !strings.Contains(words[i+1], "="):
			i++
			f.Value = words[i]
		case !ok:
			f.Op = ""
		case strings.HasSuffix(key, "+"), strings.HasSuffix(key, "-"):
			f.Key, f.Op = key[:len(key)-1], key[len(key)-1:]+"="
		}
		out = append(out, f)
	}
	return out
}

// fullName is the one name that key abbreviates, "" when there is none.
func fullName(key string, known []string) string {
	found := ""
	for _, name := range known {
		switch {
		case strings.EqualFold(key, name):
			return name
		case found == "" && matches(key, name, 3):
			found = name
		}
	}
	return found
}

func (s *session) update(ctx context.Context, words []string) {
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch {
		case matches(key, "ReservationName", 11) && !hasTarget(words):
			s.p.Error("not supported yet: update reservation")
			s.code = 1
			return
		case matches(key, "SlurmctldDebug", 9):
			s.setDebug(ctx, []string{value})
			return
		}
	}
	c, refused := parseChange(words)
	if c == nil {
		for _, line := range refused {
			s.fail("%s", line)
		}
		return
	}
	if !s.check(c) {
		return
	}
	if c.entity != "job" {
		s.updated(c, c.target, s.sendUpdate(ctx, &wire.UpdateRequest{Entity: c.entity, Target: c.target, Fields: c.fields}))
		return
	}
	if c.target == "" {
		s.fail("No changes specified")
		return
	}
	// Each job is a request of its own: one that fails keeps none of the others.
	for _, id := range s.targetJobs(ctx, c.target) {
		s.updated(c, id, s.sendUpdate(ctx, &wire.UpdateRequest{Entity: c.entity, Target: id, Fields: c.fields}))
	}
}

// sendUpdate asks for a change. What keeps it from being answered is a refusal, too.
func (s *session) sendUpdate(ctx context.Context, req *wire.UpdateRequest) *wire.UpdateReply {
	req.RequestId = client.RequestID()
	var reply *wire.UpdateReply
	err := s.c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) (err error) {
		reply, err = ctld.Update(ctx, req)
		return err
	})
	if err != nil {
		return &wire.UpdateReply{Refusal: &wire.Refusal{Code: 1, Message: err.Error()}}
	}
	return reply
}

// hasTarget tells whether a job, node or partition is named, so that a reservation is a
// value of it.
func hasTarget(words []string) bool {
	for _, f := range pair(words) {
		for _, t := range targets {
			if matches(f.Key, t.key, t.shortest) {
				return true
			}
		}
	}
	return false
}

// targetJobs are the ids of a list, or of the jobs that have a name.
func (s *session) targetJobs(ctx context.Context, target string) []string {
	name, byName := strings.CutPrefix(target, "JobName=")
	if !byName {
		return model.SplitRefs(target)
	}
	sel := &wire.JobSelect{AllPartitions: true, Names: []string{name}}
	jobs, refusal, err := s.loadJobs(ctx, &wire.JobsRequest{Select: sel})
	if err != nil || refusal.GetCode() != 0 {
		s.fail("slurm_load_jobs error: %s", or(refusal.GetMessage(), fmt.Sprint(err)))
		return nil
	}
	var ids []string
	for _, j := range jobs {
		id := strconv.FormatUint(uint64(cmp.Or(j.State.ArrayJobId, j.State.JobId)), 10)
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		s.p.Error("No jobs with name '%s'", name)
		s.code = 1
	}
	return ids
}

func (s *session) updated(c *change, target string, reply *wire.UpdateReply) {
	for _, m := range reply.Messages {
		s.p.Raw("%s", m)
	}
	said := false
	for _, o := range reply.Jobs {
		if o.Refusal.GetCode() != 0 {
			s.outcome(o)
			said = true
		}
	}
	if said || reply.Refusal.GetCode() == 0 {
		return
	}
	if c.entity == "job" {
		s.fail("%s for job %s", reply.Refusal.Message, target)
		return
	}
	s.fail("slurm_update error: %s", reply.Refusal.Message)
}
