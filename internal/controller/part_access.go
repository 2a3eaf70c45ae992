package controller

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/model"
	"muster/internal/sched"
	"muster/internal/wire"
)

// This file decides who may use a partition. Groups decide at submission; the
// lists of accounts and QOS keep a job waiting unless EnforcePartLimits is set.

// MayUse tells whether AllowGroups of a partition lets a user in.
func MayUse(p *wire.PartitionInfo, uid, gid uint32, gids []uint32) bool {
	if uid == 0 || p.AllowGroups == "" || strings.EqualFold(p.AllowGroups, "ALL") || slices.Contains(p.AllowGids, gid) {
		return true
	}
	return slices.ContainsFunc(gids, func(g uint32) bool { return slices.Contains(p.AllowGids, g) })
}

func groupAllowed(p *wire.PartitionInfo, spec *wire.JobSpec) bool {
	return MayUse(p, spec.Uid, spec.Gid, spec.Gids)
}

// checkGroups refuses a job whose user's groups may use none of the partitions,
// or not all of them where limits are enforced.
func (s *State) checkGroups(spec *wire.JobSpec, parts []*part) *wire.Refusal {
	out := 0
	for _, p := range parts {
		if !groupAllowed(p.info, spec) {
			out++
		}
	}
	if out == len(parts) || out > 0 && s.enforces() {
		return errGroup
	}
	return nil
}

// notPermitted is the refusal for an account or a QOS that a partition does not take.
func notPermitted(spec *wire.JobSpec, p *wire.PartitionInfo) *wire.Refusal {
	switch {
	case spec.Uid == 0:
		return nil
	case !isAll(p.AllowAccounts) && !named(p.AllowAccounts, spec.Account):
		return errAccount
	case isAll(p.AllowAccounts) && named(p.DenyAccounts, spec.Account):
		return errPartConfig
	case !isAll(p.AllowQos) && !named(p.AllowQos, spec.Qos), isAll(p.AllowQos) && named(p.DenyQos, spec.Qos):
		return errQOS
	}
	return nil
}

// keptOut is why a partition will not start the waiting job of a user who may
// not use it; an empty code = it may.
func keptOut(spec *wire.JobSpec, p *wire.PartitionInfo) sched.Reason {
	if !groupAllowed(p, spec) {
		return sched.Reason{Code: model.ReasonPartitionConfig, Missing: "none of the user's groups may use partition " + p.Name}
	}
	var code string
	switch {
	case notPermitted(spec, p) == nil:
		return sched.Reason{}
	case !isAll(p.AllowAccounts) && spec.Account == "":
		code = fmt.Sprintf("Job's account not known, so it can't use this partition (%s allows %s)", p.Name, p.AllowAccounts)
	case !isAll(p.AllowAccounts) && !named(p.AllowAccounts, spec.Account):
		code = fmt.Sprintf("Job's account not permitted to use this partition (%s allows %s not %s)", p.Name, p.AllowAccounts, spec.Account)
	case isAll(p.AllowAccounts) && named(p.DenyAccounts, spec.Account):
		code = fmt.Sprintf("Job's account not permitted to use this partition (%s denies %s including %s)", p.Name, p.DenyAccounts, spec.Account)
	case !isAll(p.AllowQos):
		code = fmt.Sprintf("Job's QOS not permitted to use this partition (%s allows %s not %s)", p.Name, p.AllowQos, spec.Qos)
	default:
		code = fmt.Sprintf("Job's QOS not permitted to use this partition (%s denies %s including %s)", p.Name, p.DenyQos, spec.Qos)
	}
	return sched.Reason{Code: code, Missing: code}
}

// isAll tells whether an Allow list allows everybody.
func isAll(list string) bool { return list == "" || strings.EqualFold(list, "ALL") }

// named tells whether a list of names has the name.
func named(list, name string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w = strings.TrimSpace(w); w != "" && strings.EqualFold(w, name) {
			return true
		}
	}
	return false
}
