package accounting

import (
	"muster/internal/command/flags"
	"muster/internal/command/getopt"
)

const (
	keyAccounts = iota
	keyAllUsers
	keyAllocations
	keyBatchScript
	keyBrief
	keyClusters
	keyDelimiter
	keyDuplicates
	keyEnd
	keyEnvVars
	keyFormat
	keyGroups
	keyHelp
	keyHelpFormat
	keyJobs
	keyLong
	keyName
	keyNCPUs
	keyNNodes
	keyNoConvert
	keyNodes
	keyNoHeader
	keyParsable
	keyParsable2
	keyPartitions
	keyPlain
	keyQOS
	keyReasons
	keyStart
	keyStates
	keyLimitMax
	keyLimitMin
	keyUnits
	keyUsers
	keyWCKeys
	keyJSON
	keyYAML
	keyAllClusters
	keyArray
	keyAssociations
	keyCompletion
	keyConstraints
	keyExpand
	keyFile
	keyFlags
	keyTruncate
)

var options = append([]flags.Flag{
	{Long: "accounts", Short: 'A', Arg: getopt.Required, Key: keyAccounts, Meta: "names", Help: "only jobs of these accounts"},
	{Long: "allusers", Short: 'a', Key: keyAllUsers, Help: "jobs of all users"},
	{Long: "allocations", Short: 'X', Key: keyAllocations, Help: "no lines of steps"},
	{Long: "batch-script", Short: 'B', Key: keyBatchScript, Help: "show the scripts of the jobs"},
	{Long: "brief", Short: 'b', Key: keyBrief, Help: "show JobID, State and ExitCode"},
	{Long: "clusters", Short: 'M', Arg: getopt.Required, Key: keyClusters, Meta: "names", Help: "ask these clusters"},
	{Long: "cluster", Arg: getopt.Required, Key: keyClusters},
	{Long: "delimiter", Arg: getopt.Required, Key: keyDelimiter, Meta: "text", Help: "what stands between values with -p and -P"},
	{Long: "duplicates", Short: 'D', Key: keyDuplicates, Help: "earlier runs of requeued jobs too"},
	{Long: "endtime", Short: 'E', Arg: getopt.Required, Key: keyEnd, Meta: "time", Help: "jobs in any state before then"},
	{Long: "env-vars", Key: keyEnvVars, Help: "show the environments of the jobs"},
	{Long: "federation", Key: keyPlain, Help: "jobs of the federation, where there is one"},
	{Long: "format", Short: 'o', Arg: getopt.Required, Key: keyFormat, Meta: "fields", Help: "columns: name[%[-]width]"},
	{Long: "gid", Short: 'g', Arg: getopt.Required, Key: keyGroups, Meta: "groups", Help: "only jobs of these groups"},
	{Long: "group", Arg: getopt.Required, Key: keyGroups},
	{Long: "helpformat", Short: 'e', Key: keyHelpFormat, Help: "list the fields that -o knows"},
	{Short: 'h', Key: keyHelp, Help: "show this text and exit"},
	{Long: "jobs", Short: 'j', Arg: getopt.Required, Key: keyJobs, Meta: "ids", Help: "only these jobs or steps"},
	{Long: "json", Arg: getopt.Optional, Key: keyJSON, Meta: "data_parser", Help: "all that is known, as JSON"},
	{Long: "local", Key: keyPlain, Help: "this cluster only"},
	{Long: "long", Short: 'l', Key: keyLong, Help: "many columns"},
	{Long: "name", Arg: getopt.Required, Key: keyName, Meta: "names", Help: "only jobs of these names"},
	{Long: "ncpus", Short: 'I', Arg: getopt.Required, Key: keyNCPUs, Meta: "min[-max]", Help: "only jobs with so many CPUs"},
	{Long: "nnodes", Short: 'i', Arg: getopt.Required, Key: keyNNodes, Meta: "min[-max]", Help: "only jobs on so many nodes"},
	{Long: "noconvert", Key: keyNoConvert, Help: "amounts as they were measured"},
	{Long: "nodelist", Short: 'N', Arg: getopt.Required, Key: keyNodes, Meta: "nodes", Help: "only jobs that ran on these nodes"},
	{Long: "noheader", Short: 'n', Key: keyNoHeader, Help: "no lines of headers"},
	{Long: "parsable", Short: 'p', Key: keyParsable, Help: "values with a bar after each"},
	{Long: "parsable2", Short: 'P', Key: keyParsable2, Help: "values with a bar between them"},
	{Long: "partition", Short: 'r', Arg: getopt.Required, Key: keyPartitions, Meta: "names", Help: "only jobs in these partitions"},
	{Long: "qos", Short: 'q', Arg: getopt.Required, Key: keyQOS, Meta: "names", Help: "only jobs of these QOS"},
	{Long: "reason", Short: 'R', Arg: getopt.Required, Key: keyReasons, Meta: "reasons", Help: "only jobs that did not start for these reasons"},
	{Long: "starttime", Short: 'S', Arg: getopt.Required, Key: keyStart, Meta: "time", Help: "jobs in any state after then"},
	{Long: "state", Short: 's', Arg: getopt.Required, Key: keyStates, Meta: "states", Help: "only jobs in these states"},
	{Long: "timelimit-max", Short: 'K', Arg: getopt.Required, Key: keyLimitMax, Meta: "time", Help: "only jobs of no longer a limit"},
	{Long: "timelimit-min", Short: 'k', Arg: getopt.Required, Key: keyLimitMin, Meta: "time", Help: "only jobs of such a limit, or of a longer one up to -K"},
	{Long: "units", Arg: getopt.Required, Key: keyUnits, Meta: "K|M|G|T|P", Help: "amounts in this unit"},
	{Long: "user", Short: 'u', Arg: getopt.Required, Key: keyUsers, Meta: "names", Help: "only jobs of these users"},
	{Long: "uid", Arg: getopt.Required, Key: keyUsers},
	{Long: "whole-hetjob", Arg: getopt.Optional, Key: keyPlain},
	{Long: "wckeys", Short: 'W', Arg: getopt.Required, Key: keyWCKeys, Meta: "names", Help: "only jobs of these keys"},

	{Long: "allclusters", Short: 'L', Key: keyAllClusters, Help: "ask all clusters"},
	{Long: "array", Key: keyArray, Help: "a line for each task of an array that waits"},
	{Long: "associations", Short: 'x', Arg: getopt.Required, Key: keyAssociations, Meta: "numbers", Help: "only jobs of these associations"},
	{Long: "completion", Short: 'c', Key: keyCompletion, Help: "what the completion plugin has kept"},
	{Long: "constraints", Short: 'C', Arg: getopt.Required, Key: keyConstraints, Meta: "features", Help: "only jobs that asked for all of these"},
	{Long: "expand-patterns", Key: keyExpand, Help: "replace the symbols in the names of files"},
	{Long: "file", Short: 'f', Arg: getopt.Required, Key: keyFile, Meta: "file", Help: "what a completion plugin has written there"},
	{Long: "flags", Short: 'F', Arg: getopt.Required, Key: keyFlags, Meta: "flags", Help: "only jobs that were handled so"},
	{Long: "truncate", Short: 'T', Key: keyTruncate, Help: "cut starts and ends to the time that is looked at"},
	{Long: "use-local-uid", Key: keyPlain, Help: "numbers of users as this host has them"},
	{Long: "yaml", Arg: getopt.Optional, Key: keyYAML, Meta: "data_parser", Help: "all that is known, as YAML"},
}, flags.Common...)
