package control

import (
	"slices"
	"strconv"
	"strings"

	"muster/internal/model"
	"muster/internal/size"
	"muster/internal/slurmtime"
)

// nodeStates are those that may be asked for; three letters are enough.
var nodeStates = []string{"NORESP", "CANCEL_REBOOT", "DOWN", "DRAIN", "FAIL", "FUTURE", "RESUME", "POWER_DOWN", "POWER_UP",
	"UNDRAIN", "ALLOCATED", "IDLE", "MIXED", "UNKNOWN"}

// checkNode refuses states that no node has, and completes those that were
// abbreviated.
func (s *session) checkNode(c *change) bool {
	reason := false
	for _, f := range c.fields {
		reason = reason || f.Key == "Reason" && f.Value != ""
	}
	for i, f := range c.fields {
		if f.Key != "State" {
			continue
		}
		name := fullName(f.Value, nodeStates)
		switch name {
		case "":
			s.fail("Invalid input: %s=%s", c.typed[i], f.Value)
			s.fail("Request aborted")
			s.fail("Valid states are: NoResp DRAIN FAIL FUTURE RESUME POWER_DOWN POWER_UP UNDRAIN")
			s.fail("Not all states are valid given a node's prior state")
			return false
		case "DOWN", "DRAIN", "FAIL":
			if !reason {
				s.fail("You must specify a reason when DOWNING or DRAINING a node. Request denied")
				return false
			}
		case "POWER_DOWN", "POWER_UP", "CANCEL_REBOOT":
			s.p.Error("not supported yet: State=%s", name)
			return false
		}
		f.Value = name
	}
	return true
}

// check refuses values that no controller could take, in the words of scontrol
// itself. It returns false when the request is not to be sent.
func (s *session) check(c *change) bool {
	if c.entity == "node" && !s.checkNode(c) {
		s.code = 1
		return false
	}
	for i, f := range c.fields {
		if f.Op == "" && f.Key == "Nice" {
			f.Value = "100" // alone it is what --nice alone is
		}
		var ok bool
		switch c.entity {
		case "node":
			ok = s.checkNodeValue(f.Key, f.Value)
		case "job":
			ok = s.checkJobValue(f.Key, f.Value)
		case "partition":
			ok = s.checkPartitionValue(f.Key, c.typed[i], f.Value)
		default:
			ok = true
		}
		if !ok {
			s.code = 1
			return false
		}
	}
	return true
}

func (s *session) checkNodeValue(key, value string) bool {
	if _, err := strconv.ParseUint(value, 10, 32); key == "Weight" && err != nil {
		s.p.Error("Weight value (%s) is not a valid number", value)
		s.p.Raw("No changes specified")
		return false
	}
	return true
}

func (s *session) checkJobValue(key, value string) bool {
	switch key {
	case "TimeLimit":
		if _, err := slurmtime.ParseLimit(strings.TrimLeft(value, "+-")); err != nil {
			s.p.Error("Invalid TimeLimit value")
			return false
		}
	case "NumNodes":
		return s.number(value, "requested node count")
	case "NumCPUs":
		if !s.number(value, "NumCPUs") {
			s.p.Error("Invalid NumCPUs value: %s", value)
			return false
		}
	case "StartTime", "EligibleTime", "EndTime", "Deadline":
		if _, err := slurmtime.Parse(value, s.style.Now); err != nil {
			s.p.Raw("%v", err)
			s.p.Raw("No changes specified")
			return false
		}
	case "TimeMin", "DelayBoot":
		if _, err := slurmtime.ParseLimit(value); err != nil {
			s.p.Error("Invalid %s value", key)
			return false
		}
	case "Contiguous":
		return isYesNo(value) || value == "0" || value == "1" || s.invalid(key, value)
	case "MinMemoryNode", "MinMemoryCPU", "MinTmpDiskNode":
		_, err := size.ParseMemory(value)
		return err == nil || s.invalid(key, value)
	case "OverSubscribe", "Shared":
		return isYesNo(value) || value == "0" || value == "1" || s.invalid("OverSubscribe", value)
	case "MailType":
		if _, ok := model.ParseMailType(value); !ok {
			s.p.Raw("Invalid MailType: %s", value)
			return false
		}
	case "Requeue":
		return value == "0" || value == "1" || s.invalid(key, value)
	case "Priority", "NumTasks", "CPUsPerTask", "ArrayTaskThrottle", "MinCPUsNode", "TasksPerNode", "ReqSockets", "ReqCores",
		"ReqThreads":
		return isCount(value) || s.invalid(key, value)
	}
	return true
}

// partitionStates are those that may be asked for.
var partitionStates = []string{"UP", "DOWN", "DRAIN", "INACTIVE"}

func (s *session) checkPartitionValue(key, typed, value string) bool {
	switch key {
	case "State":
		if !slices.Contains(partitionStates, strings.ToUpper(value)) {
			return s.unacceptable(typed, value, "State values are UP, DOWN, DRAIN and INACTIVE")
		}
	case "Default", "DisableRootJobs", "ExclusiveUser", "Hidden", "LLN", "ReqResv", "RootOnly":
		if !isYesNo(value) {
			return s.unacceptable(typed, value, key+" values are YES and NO")
		}
	case "MaxTime", "DefaultTime":
		if _, err := slurmtime.ParseLimit(value); err != nil {
			s.p.Error("Invalid input %s=%s", typed, value)
			return s.failNoError()
		}
	case "MaxNodes":
		return isCount(value) || s.number(value, key)
	case "MinNodes":
		if !isCount(value) {
			s.p.Error("%q is not a valid node count", value)
			return false
		}
	case "OverSubscribe", "Shared":
		if !isSharing(value) {
			return s.unacceptable(typed, value, "OverSubscribe values are NO, EXCLUSIVE, YES:#, and FORCE:#")
		}
	case "DefMemPerCPU", "DefMemPerNode", "MaxMemPerCPU", "MaxMemPerNode":
		if _, err := strconv.ParseUint(value, 10, 32); err != nil {
			s.invalid(key, value)
			return s.failNoError()
		}
	case "Priority", "PriorityTier", "PriorityJobFactor", "GraceTime", "MaxCPUsPerNode", "OverTimeLimit":
		if !isCount(value) {
			s.invalid(key, value)
			return s.failNoError()
		}
	}
	return true
}

// unacceptable says what a partition's value may be.
func (s *session) unacceptable(typed, value, values string) bool {
	s.p.Error("Invalid input: %s=%s", typed, value)
	s.p.Error("Acceptable %s", values)
	return s.failNoError()
}

// failNoError is the last line of a partition's update that scontrol did not send.
func (s *session) failNoError() bool {
	s.fail("slurm_update error: No error")
	return false
}

func (s *session) invalid(key, value string) bool {
	s.p.Error("Invalid %s value: %s", key, value)
	return false
}

// number takes a number or a range of two.
func (s *session) number(value, what string) bool {
	for word := range strings.SplitSeq(value, "-") {
		if _, err := strconv.ParseUint(strings.TrimRight(word, "kKmM"), 10, 32); err != nil {
			s.p.Error("Invalid numeric value %q for %s.", value, what)
			return false
		}
	}
	return true
}

// isSharing is true for NO, EXCLUSIVE, YES[:count] and FORCE[:count].
func isSharing(value string) bool {
	word, times, given := strings.Cut(strings.ToUpper(value), ":")
	if _, err := strconv.ParseUint(times, 10, 15); given && err != nil {
		return false
	}
	return word == "YES" || word == "FORCE" || !given && (word == "NO" || word == "EXCLUSIVE")
}

func isYesNo(value string) bool {
	return strings.EqualFold(value, "YES") || strings.EqualFold(value, "NO")
}

// isCount is true for a number and for the words that stand for none.
func isCount(value string) bool {
	if strings.EqualFold(value, "UNLIMITED") || strings.EqualFold(value, "INFINITE") {
		return true
	}
	_, err := strconv.ParseUint(value, 10, 32)
	return err == nil
}
