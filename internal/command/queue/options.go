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
	keyExpand
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
	keyOver
	keyPartition
	keyPriority
	keyQOS
	keyReservation
	keySibling
	keySort
	keyStart
	keyStates
	keySteps
	keyUnder
	keyUser
	keyJSON
	keyYAML
)

// options stand in the order in which an ambiguous abbreviation lists them.
var options = []flags.Flag{
	{Long: "account", Short: 'A', Arg: getopt.Required, Key: keyAccount, Meta: "accounts", Help: "only jobs of these accounts"},
	{Long: "accounts", Arg: getopt.Required, Key: keyAccount},
	{Long: "all", Short: 'a', Key: keyAll, Help: "jobs in hidden partitions too"},
	{Long: "array", Short: 'r', Key: keyArray, Help: "a line for each task of an array"},
	{Long: "cluster", Arg: getopt.Required, Key: keyClusters},
	{Long: "clusters", Short: 'M', Arg: getopt.Required, Key: keyClusters, Meta: "names", Help: "ask these clusters"},
	{Long: "expand-patterns", Key: keyExpand, Help: "replace the symbols in the names of files"},
	{Long: "format", Short: 'o', Arg: getopt.Required, Key: keyFormat, Meta: "format", Help: "columns by letters: %[[.]width]letter[text]"},
	{Long: "Format", Short: 'O', Arg: getopt.Required, Key: keyNames, Meta: "format", Help: "columns by names: name[:[.]width[text]],..."},
	{Long: "federation", Key: keyFederation, Help: "jobs of the federation, where there is one"},
	{Long: "help", Key: flags.Help, Help: "show this text and exit"},
	{Long: "hide", Key: keyHide, Help: "leave out jobs in hidden partitions"},
	{Long: "iterate", Short: 'i', Arg: getopt.Required, Key: keyIterate, Meta: "seconds", Help: "show again and again"},
	{Long: "jobs", Short: 'j', Arg: getopt.Optional, Key: keyJobs, Meta: "ids", Help: "only these jobs"},
	{Long: "json", Arg: getopt.Optional, Key: keyJSON, Meta: "data_parser", Help: "all that is known, as JSON"},
	{Long: "local", Key: keyLocal, Help: "jobs of this cluster only"},
	{Long: "long", Short: 'l', Key: keyLong, Help: "more columns"},
	{Long: "licenses", Short: 'L', Arg: getopt.Required, Key: keyLicenses, Meta: "names", Help: "only jobs that want these licenses"},
	{Long: "me", Key: keyMe, Help: "only your own jobs"},
	{Long: "name", Short: 'n', Arg: getopt.Required, Key: keyName, Meta: "names", Help: "only jobs of these names"},
	{Long: "noconvert", Key: keyNoConvert, Help: "amounts in the units they were given in"},
	{Long: "node", Arg: getopt.Required, Key: keyNodes},
	{Long: "nodes", Arg: getopt.Required, Key: keyNodes},
	{Long: "nodelist", Short: 'w', Arg: getopt.Required, Key: keyNodes, Meta: "nodes", Help: "only jobs on these nodes"},
	{Long: "noheader", Short: 'h', Key: keyNoHeader, Help: "no line of headers"},
	{Long: "notme", Key: keyNotMe, Help: "only jobs of others"},
	{Long: "only-job-state", Key: keyOnlyState, Help: "ask for no more than the state of jobs"},
	{Long: "partition", Short: 'p', Arg: getopt.Required, Key: keyPartition, Meta: "names", Help: "only jobs in these partitions"},
	{Long: "partitions", Arg: getopt.Required, Key: keyPartition},
	{Long: "priority", Short: 'P', Key: keyPriority, Help: "a line for each partition that a waiting job may run in"},
	{Long: "qos", Short: 'q', Arg: getopt.Required, Key: keyQOS, Meta: "names", Help: "only jobs of these QOS"},
	{Long: "reservation", Short: 'R', Arg: getopt.Required, Key: keyReservation, Meta: "names", Help: "only jobs of these reservations"},
	{Long: "running-over", Arg: getopt.Required, Key: keyOver, Meta: "time", Help: "only jobs that have run for longer"},
	{Long: "running-under", Arg: getopt.Required, Key: keyUnder, Meta: "time", Help: "only jobs that have run for less"},
	{Long: "sibling", Key: keySibling, Help: "all siblings of a job in a federation"},
	{Long: "sort", Short: 'S', Arg: getopt.Required, Key: keySort, Meta: "letters", Help: "order: letters of the format, - for descending"},
	{Long: "start", Key: keyStart, Help: "expected starts of pending jobs"},
	{Long: "steps", Short: 's', Arg: getopt.Optional, Key: keySteps, Meta: "ids", Help: "steps, all or these"},
	{Long: "states", Short: 't', Arg: getopt.Required, Key: keyStates, Meta: "states", Help: "only jobs in these states; all for every state"},
	{Long: "usage", Key: flags.Usage, Help: "show the options in brief and exit"},
	{Long: "user", Short: 'u', Arg: getopt.Required, Key: keyUser, Meta: "names", Help: "only jobs of these users"},
	{Long: "users", Arg: getopt.Required, Key: keyUser},
	{Long: "verbose", Short: 'v', Key: flags.Verbose, Help: "say more of what is done"},
	{Long: "version", Short: 'V', Key: flags.Version, Help: "show the version and exit"},
	{Long: "yaml", Arg: getopt.Optional, Key: keyYAML, Meta: "data_parser", Help: "all that is known, as YAML"},
}
