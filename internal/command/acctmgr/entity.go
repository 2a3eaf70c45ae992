package acctmgr

import "strings"

// entity is what can be shown.
type entity struct {
	name     string
	shortest int
	format   string // its columns without format=
	withAsso string // with withassoc
	key      string // the condition that a bare word stands for
	// conditions are the words that may stand before an equals sign.
	conditions string
	guarded    string // what is said to users who may not see it
	none       string // said in place of a table, with the cluster's name
	rows       func(*cluster, *query) []row
}

const (
	qosFormat = "Name,Priority,GraceTime,Preempt,PreemptExemptTime,PreemptMode,Flags%40,UsageThreshold,UsageFactor,GrpTRES,GrpTRESMins," +
		"GrpTRESRunMins,GrpJobs,GrpSubmit,GrpWall,MaxTRES,MaxTRESPerNode,MaxTRESMins,MaxWall,MaxTRESPU,MaxJobsPU,MaxSubmitPU," +
		"MaxTRESPA,MaxJobsPA,MaxSubmitPA,MinTRES"
	assocFormat = "Cluster,Account,User,Partition,Share,Priority,GrpJobs,GrpTRES,GrpSubmit,GrpWall,GrpTRESMins,MaxJobs,MaxTRES," +
		"MaxTRESPerNode,MaxSubmit,MaxWall,MaxTRESMins,QOS,DefaultQOS,GrpTRESRunMins"
	limitConditions = " grpjobs grptres maxjobs maxtres maxwall"
)

var entities = []entity{
	{name: "accounts", shortest: 2, format: "Account,Description,Organization", key: "account",
		withAsso: "Account,Description,Organization,Cluster,ParentName,User,Share,Priority,GrpJobs,GrpNodes,GrpCPUs,GrpMem,GrpSubmit," +
			"GrpWall,GrpCPUMins,MaxJobs,MaxNodes,MaxCPUs,MaxSubmit,MaxWall,MaxCPUMins,QOS,DefaultQOS",
		conditions: "accounts names clusters descriptions organizations parent flags", rows: accountRows},
	{name: "associations", shortest: 2, format: assocFormat, key: "id",
		conditions: "accounts users clusters partitions parents ids qoslevel defaultqos" + limitConditions, rows: assocRows},
	{name: "clusters", shortest: 2, key: "cluster",
		format:     "Cluster,ControlHost,ControlPort,RPC,Share,GrpJobs,GrpTRES,GrpSubmit,MaxJobs,MaxTRES,MaxSubmit,MaxWall,QOS,DefaultQOS",
		conditions: "clusters names classification federations flags rpcversions", rows: clusterRows},
	{name: "qos", shortest: 1, format: qosFormat, key: "name",
		conditions: "names ids descriptions preemptmode", rows: qosRows},
	{name: "tres", shortest: 3, format: "Type,Name%15,ID", key: "type", conditions: "types names ids", rows: tresRows},
	{name: "users", shortest: 1, format: "User,DefaultAccount,AdminLevel", key: "user",
		withAsso: "User,DefaultAccount,AdminLevel,Cluster,Account,Partition,Share,Priority,MaxJobs,MaxNodes,MaxCPUs,MaxSubmit,MaxWall," +
			"MaxCPUMins,QOS,DefaultQOS",
		conditions: "users names accounts adminlevel clusters defaultaccount partitions", rows: userRows},
	{name: "wckeys", shortest: 2, format: "WCKey,Cluster,User", key: "name", conditions: "names clusters users", rows: nothing,
		guarded: "Your user doesn't have privilege to perform this action"},
}

// none are the kinds of which a cluster without federations, reservations and
// resources has none.
var none = []entity{
	{name: "federations", shortest: 1, format: "Federation,Cluster,ID%2,Features,FedState", key: "name",
		conditions: "names clusters", rows: nothing},
	{name: "problems", shortest: 1, format: "Cluster,Account,User,Problem", key: "account",
		conditions: "accounts clusters users", rows: nothing},
	{name: "reservations", shortest: 4, format: "Cluster,Name%15,TRES%30,TimeStart,TimeEnd,UnusedWall", key: "name",
		conditions: "names clusters ids", rows: nothing},
	{name: "resources", shortest: 4, format: "Name,Server,Type,Count,Allocated,ServerType", key: "name",
		conditions: "names servers clusters", rows: nothing},
	{name: "runawayjobs", shortest: 2, format: "ID", key: "id", conditions: "clusters ids", rows: nothing,
		guarded: "You must have an AdminLevel>=Operator to fix runaway jobs",
		none:    "Runaway Jobs: No runaway jobs found on cluster %s\n"},
}

// laterEntities exist in Slurm; they are refused by name.
var laterEntities = []string{"configuration", "events", "instances", "jobs", "stats", "transactions"}

func findEntity(word string) *entity {
	for _, list := range [][]entity{entities, none} {
		for i := range list {
			if matches(word, list[i].name, list[i].shortest) {
				return &list[i]
			}
		}
	}
	return nil
}

// laterEntity is the name of what is refused, empty if it does not exist at all.
func laterEntity(word string) string {
	for _, name := range laterEntities {
		if matches(word, name, 2) {
			return name
		}
	}
	return ""
}

// condition returns the value's name that a word before an equals sign means.
func (e *entity) condition(word string) (string, bool) {
	for name := range strings.FieldsSeq(e.conditions) {
		if matches(word, name, 2) {
			key := strings.TrimSuffix(name, "s")
			if name == "names" && e.key != "name" && e.name != "tres" {
				key = e.key
			}
			return key, true
		}
	}
	return "", false
}
