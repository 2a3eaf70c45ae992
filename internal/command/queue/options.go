package queue

import (
	"muster/internal/command/flags"
	"muster/internal/command/getopt"
)

const (
	keyAccount = iota
	keyAll
	keyArray
	keyClusters
	keyFederation
	keyFormat
	keyNames
	keyHide
	keyIterate
	keyJobs
	keyLicenses
	keyLocal
	keyLong
	keyMe
	keyName
	keyNoConvert
	keyNodes
	keyNoHeader
	keyNotMe
	keyOnlyState
	keyPartition
	keyQOS
	keyReservation
	keySort
	keyStart
	keyStates
	keySteps
	keyUser
	keyJSON
	keyYAML
	keyLater
)

var options = append([]flags.Flag{
	{Long: "account", Short: 'A', Arg: getopt.Required, Key: keyAccount, Meta: "accounts", Help: "only jobs of these accounts"},
	{Long: "accounts", Arg: getopt.Required, Key: keyAccount},
	{Long: "all", Short: 'a', Key: keyAll, Help: "jobs in hidden partitions too"},
	{Long: "array", Short: 'r', Key: keyArray, Help: "a line for each task of an array"},
	{Long: "clusters", Short: 'M', Arg: getopt.Required, Key: keyClusters, Meta: "names", Help: "ask these clusters"},
	{Long: "cluster", Arg: getopt.Required, Key: keyClusters},
	{Long: "federation", Key: keyFederation, Help: "jobs of the federation, where there is one"},
	{Long: "format", Short: 'o', Arg: getopt.Required, Key: keyFormat, Meta: "format", Help: "columns by letters: %[[.]width]letter"},
	{Long: "Format", Short: 'O', Arg: getopt.Required, Key: keyNames, Meta: "format", Help: "columns by names: name[:[.]width]"},
	{Long: "hide", Key: keyHide, Help: "leave out jobs in hidden partitions"},
	{Long: "iterate", Short: 'i', Arg: getopt.Required, Key: keyIterate, Meta: "seconds", Help: "show again and again"},
	{Long: "json", Arg: getopt.Optional, Key: keyJSON, Meta: "data_parser", Help: "all that is known, as JSON"},
	{Long: "jobs", Short: 'j', Arg: getopt.Optional, Key: keyJobs, Meta: "ids", Help: "only these jobs"},
	{Long: "job", Arg: getopt.Optional, Key: keyJobs},
	{Long: "licenses", Short: 'L', Arg: getopt.Required, Key: keyLicenses, Meta: "names", Help: "only jobs that want these licenses"},
	{Long: "local", Key: keyLocal, Help: "jobs of this cluster only"},
	{Long: "long", Short: 'l', Key: keyLong, Help: "more columns"},
	{Long: "me", Key: keyMe, Help: "only your own jobs"},
	{Long: "name", Short: 'n', Arg: getopt.Required, Key: keyName, Meta: "names", Help: "only jobs of these names"},
	{Long: "names", Arg: getopt.Required, Key: keyName},
	{Long: "noconvert", Key: keyNoConvert, Help: "amounts in the units they were given in"},
	{Long: "nodelist", Short: 'w', Arg: getopt.Required, Key: keyNodes, Meta: "nodes", Help: "only jobs on these nodes"},
	{Long: "nodes", Arg: getopt.Required, Key: keyNodes},
	{Long: "noheader", Short: 'h', Key: keyNoHeader, Help: "no line of headers"},
	{Long: "notme", Key: keyNotMe, Help: "only jobs of others"},
	{Long: "only-job-state", Key: keyOnlyState, Help: "ask for no more than the state of jobs"},
	{Long: "partition", Short: 'p', Arg: getopt.Required, Key: keyPartition, Meta: "names", Help: "only jobs in these partitions"},
	{Long: "partitions", Arg: getopt.Required, Key: keyPartition},
	{Long: "qos", Short: 'q', Arg: getopt.Required, Key: keyQOS, Meta: "names", Help: "only jobs of these QOS"},
	{Long: "reservation", Short: 'R', Arg: getopt.Required, Key: keyReservation, Meta: "name", Help: "only jobs of this reservation"},
	{Long: "sort", Short: 'S', Arg: getopt.Required, Key: keySort, Meta: "letters", Help: "order: letters of the format, - for descending"},
	{Long: "start", Key: keyStart, Help: "expected starts of pending jobs"},
	{Long: "states", Short: 't', Arg: getopt.Required, Key: keyStates, Meta: "states", Help: "only jobs in these states; all for every state"},
	{Long: "state", Arg: getopt.Required, Key: keyStates},
	{Long: "steps", Short: 's', Arg: getopt.Optional, Key: keySteps, Meta: "ids", Help: "steps, all or these"},
	{Long: "step", Arg: getopt.Optional, Key: keySteps},
	{Long: "user", Short: 'u', Arg: getopt.Required, Key: keyUser, Meta: "names", Help: "only jobs of these users"},
	{Long: "yaml", Arg: getopt.Optional, Key: keyYAML, Meta: "data_parser", Help: "all that is known, as YAML"},
	{Long: "users", Arg: getopt.Required, Key: keyUser},

	{Long: "expand-patterns", Key: keyLater + 0, Later: true},
	{Long: "priority", Short: 'P', Key: keyLater + 3, Later: true},
	{Long: "running-over", Arg: getopt.Required, Key: keyLater + 4, Later: true},
	{Long: "running-under", Arg: getopt.Required, Key: keyLater + 5, Later: true},
	{Long: "sibling", Key: keyLater + 6, Later: true},
}, flags.Common...)
