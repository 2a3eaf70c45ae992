package acctmgr

import (
	"strings"

	"muster/internal/command/format"
)

// row is one record: its values by the name of their column.
type row map[string]string

// field is a column that any entity may be asked for; an entity that has no such
// value leaves it empty.
type field struct {
	name     string // as the header spells it
	width    int
	shortest int    // how far it may be abbreviated
	words    string // what format= may call it, apart by blanks; empty = the header
}

// fields are matched in this order, as abbreviations may fit several.
var fields = []field{
	{name: "Account", width: 10, shortest: 3, words: "Account Acct"},
	{name: "Action", width: 20, shortest: 4},
	{name: "Actor", width: 10, shortest: 4},
	{name: "Admin", width: 9, shortest: 2, words: "AdminLevel"},
	{name: "% Allocated", width: 11, shortest: 3, words: "Allocated PercentAllowed"},
	{name: "Assocs", width: 10, shortest: 3, words: "Associations"},
	{name: "Class", width: 9, shortest: 3, words: "Classification"},
	{name: "Cluster Nodes", width: 20, shortest: 8, words: "ClusterNodes"},
	{name: "Cluster", width: 10, shortest: 2},
	{name: "ControlHost", width: 15, shortest: 8},
	{name: "ControlPort", width: 12, shortest: 8},
	{name: "Coord Accounts", width: 20, shortest: 3, words: "Coordinators CoordAccounts"},
	{name: "Count", width: 6, shortest: 3},
	{name: "Def Acct", width: 10, shortest: 8, words: "DefaultAccount DefaultAcct"},
	{name: "Def QOS", width: 9, shortest: 8, words: "DefaultQOS DefQOS"},
	{name: "Def WCKey", width: 10, shortest: 8, words: "DefaultWCKey"},
	{name: "Descr", width: 20, shortest: 3, words: "Description"},
	{name: "Duration", width: 13, shortest: 2},
	{name: "TimeEnd", width: 19, shortest: 2, words: "End TimeEnd"},
	{name: "EventRaw", width: 8, shortest: 6},
	{name: "Event", width: 7, shortest: 2},
	{name: "Features", width: 20, shortest: 3},
	{name: "FedStateRaw", width: 11, shortest: 9},
	{name: "FedState", width: 12, shortest: 4},
	{name: "Federation", width: 10, shortest: 4},
	{name: "Flags", width: 20, shortest: 2},
	{name: "GraceTime", width: 10, shortest: 3},
	{name: "GrpCPUMins", width: 11, shortest: 8},
	{name: "GrpCPURunMins", width: 13, shortest: 8},
	{name: "GrpCPUs", width: 8, shortest: 7},
	{name: "GrpJobsAccrue", width: 13, shortest: 8},
	{name: "GrpJobs", width: 7, shortest: 4},
	{name: "GrpMem", width: 7, shortest: 4, words: "GrpMemory"},
	{name: "GrpNodes", width: 8, shortest: 4},
	{name: "GrpSubmit", width: 9, shortest: 4, words: "GrpSubmitJobs"},
	{name: "GrpTRESMins", width: 13, shortest: 8},
	{name: "GrpTRESRunMins", width: 13, shortest: 8},
	{name: "GrpTRES", width: 13, shortest: 7},
	{name: "GrpWall", width: 11, shortest: 4, words: "GrpWall"},
	{name: "ID", width: 6, shortest: 2},
	{name: "Info", width: 20, shortest: 2},
	{name: "LFT", width: 6, shortest: 1},
	{name: "LimitFactor", width: 11, shortest: 6},
	{name: "Lineage", width: 20, shortest: 4},
	{name: "MaxCPUMins", width: 11, shortest: 7, words: "MaxCPUMinsPerJob"},
	{name: "MaxCPUs", width: 8, shortest: 7, words: "MaxCPUsPerJob"},
	{name: "MaxJobsAccrue", width: 13, shortest: 8},
	{name: "MaxJobsPA", width: 9, shortest: 9, words: "MaxJobsPerAccount MaxJobsPA"},
	{name: "MaxJobsPU", width: 9, shortest: 9, words: "MaxJobsPerUser MaxJobsPU"},
	{name: "MaxJobs", width: 7, shortest: 4},
	{name: "MaxNodes", width: 8, shortest: 4, words: "MaxNodesPerJob"},
	{name: "MaxSubmitPA", width: 11, shortest: 11, words: "MaxSubmitJobsPerAccount MaxSubmitPA"},
	{name: "MaxSubmitPU", width: 11, shortest: 11, words: "MaxSubmitJobsPerUser MaxSubmitPU"},
	{name: "MaxSubmit", width: 9, shortest: 4, words: "MaxSubmitJobs"},
	{name: "MaxTRESMins", width: 13, shortest: 8, words: "MaxTRESMinsPerJob"},
	{name: "MaxTRESPerNode", width: 14, shortest: 11, words: "MaxTRESPerNode"},
	{name: "MaxTRESPA", width: 13, shortest: 9, words: "MaxTRESPerAccount MaxTRESPA"},
	{name: "MaxTRESPU", width: 13, shortest: 9, words: "MaxTRESPerUser MaxTRESPU"},
	{name: "MaxTRES", width: 13, shortest: 7, words: "MaxTRESPerJob"},
	{name: "MaxWall", width: 11, shortest: 4, words: "MaxWallDurationPerJob"},
	{name: "MinPrioThres", width: 12, shortest: 4, words: "MinPrioThreshold"},
	{name: "MinTRES", width: 13, shortest: 4, words: "MinTRESPerJob"},
	{name: "Name", width: 10, shortest: 2},
	{name: "NodeCount", width: 9, shortest: 5},
	{name: "NodeName", width: 15, shortest: 5, words: "NodeNames"},
	{name: "Org", width: 20, shortest: 1, words: "Organization"},
	{name: "ParentID", width: 8, shortest: 7},
	{name: "ParentName", width: 10, shortest: 7},
	{name: "Partition", width: 10, shortest: 3},
	{name: "PreemptExemptTime", width: 19, shortest: 8},
	{name: "PreemptMode", width: 11, shortest: 8},
	{name: "Preempt", width: 10, shortest: 7},
	{name: "Priority", width: 10, shortest: 3},
	{name: "QOS_RAW", width: 10, shortest: 4, words: "QosRaw"},
	{name: "QOS", width: 20, shortest: 3, words: "QOSLevel QOS"},
	{name: "Reason", width: 30, shortest: 3},
	{name: "RGT", width: 6, shortest: 1},
	{name: "RPC", width: 5, shortest: 1},
	{name: "Problem", width: 40, shortest: 2},
	{name: "ServerType", width: 10, shortest: 7},
	{name: "Server", width: 10, shortest: 2},
	{name: "Share", width: 9, shortest: 2, words: "Share FairShare"},
	{name: "StateRaw", width: 8, shortest: 6},
	{name: "State", width: 6, shortest: 5},
	{name: "TimeStart", width: 19, shortest: 3, words: "Start TimeStart"},
	{name: "TimeSubmit", width: 19, shortest: 6},
	{name: "Time", width: 19, shortest: 5, words: "TimeStamp"},
	{name: "TRES", width: 20, shortest: 2},
	{name: "Type", width: 8, shortest: 2},
	{name: "UnusedWall", width: 10, shortest: 2},
	{name: "UsageFactor", width: 11, shortest: 6},
	{name: "UsageThres", width: 10, shortest: 6, words: "UsageThreshold"},
	{name: "User", width: 10, shortest: 1},
	{name: "WCKey", width: 10, shortest: 2},
	{name: "Where", width: 20, shortest: 2},
}

// value is the name under which rows keep the value.
func (f *field) value() string {
	word, _, _ := strings.Cut(f.words, " ")
	if word == "" {
		word = f.name
	}
	return strings.ToLower(word)
}

func (f *field) column() format.ReportColumn[row] {
	key := f.value()
	return format.ReportColumn[row]{Name: f.name, Width: f.width,
		Cell: func(b []byte, r *row) []byte { return append(b, (*r)[key]...) }}
}

// findField returns the field that a word of format= means.
func findField(word string) *field {
	for i := range fields {
		f := &fields[i]
		names := f.words
		if names == "" {
			names = f.name
		}
		for name := range strings.FieldsSeq(names) {
			if matches(word, name, f.shortest) {
				return f
			}
		}
	}
	return nil
}

// matches tells whether word is name, or an abbreviation of it that is long enough.
func matches(word, name string, shortest int) bool {
	return len(word) >= min(shortest, len(name)) && len(word) <= len(name) && strings.EqualFold(word, name[:len(word)])
}
