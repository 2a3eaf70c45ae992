// Package manual writes the manual pages and the shell completions of the
// commands from the tables that the commands read their options with, so that
// neither can name an option that does not exist.
//
// It is linked by no command: it runs when the project is installed.
package manual

import (
	"slices"
	"strings"

	"muster/internal/command/accounting"
	"muster/internal/command/acctmgr"
	"muster/internal/command/control"
	"muster/internal/command/diag"
	"muster/internal/command/flags"
	"muster/internal/command/getopt"
	"muster/internal/command/nodes"
	"muster/internal/command/option"
	"muster/internal/command/queue"
	"muster/internal/command/scancel"
)

// Option is an option as a page and a completion show it.
type Option struct {
	Long, Help string
	Short      byte
	Meta       string // the value; empty = none
	Optional   bool   // the value may be left out
}

// Page is one command or daemon.
type Page struct {
	Name, Section, Brief string
	Synopsis             []string
	Text                 []string // paragraphs
	Options              []Option
	Words                []string // of a command that has words of its own
	Exit                 string
	Environment          [][2]string
	Files                [][2]string
	See                  []string
}

// Pages are all pages.
func Pages() []Page { return append(commands(), daemons()...) }

func fromFlags(table []flags.Flag) []Option {
	var out []Option
	for _, f := range table {
		if f.Help == "" || f.Later {
			continue
		}
		o := Option{Long: f.Long, Short: f.Short, Help: f.Help, Optional: f.Arg == getopt.Optional}
		if f.Arg != getopt.None {
			o.Meta = f.Meta
		}
		out = append(out, o)
	}
	return sorted(out)
}

func fromTable(p option.Program) []Option {
	var out []Option
	for _, e := range option.Table() {
		if e.In&p == 0 || e.Help == "" || e.Status == option.NotYet {
			continue
		}
		o := Option{Long: e.Long, Help: e.Help, Meta: e.Meta, Optional: e.Arg == getopt.Optional}
		if e.Letter == 0 || e.Letter&p != 0 {
			o.Short = e.Short
		}
		out = append(out, o)
	}
	return sorted(out)
}

func sorted(list []Option) []Option {
	slices.SortStableFunc(list, func(a, b Option) int { return strings.Compare(strings.ToLower(a.Long), strings.ToLower(b.Long)) })
	return list
}

var (
	exitCodes  = "0 when all went well, 1 after an error."
	configFile = [2]string{"SLURM_CONF", "the slurm.conf to read instead of /etc/slurm/slurm.conf"}
	timeFormat = [2]string{"SLURM_TIME_FORMAT", "how times are shown: standard, relative, or a pattern of strftime(3)"}
	confFile   = [2]string{"/etc/slurm/slurm.conf", "the configuration, which all hosts of a cluster share"}
)

func commands() []Page {
	data := [2]string{"SLURM_JSON, SLURM_YAML", "compact or pretty"}
	return []Page{
		{Name: "sbatch", Section: "1", Brief: "submit a batch script",
			Synopsis: []string{"[options] script [arguments]", "[options] --wrap=command"},
			Text: []string{"The script is stored with the environment it was submitted from, and runs when the controller has found nodes for it. " +
				"When sbatch prints a job's number, the job is safe on disk.",
				"Lines of the script that begin with #SBATCH, before its first command, are options, too. What stands on the command line " +
					"wins over the environment, and the environment over the script."},
			Options: fromTable(option.Sbatch), Exit: "0 when the job was taken, 1 when it was refused, 255 for an option that cannot be read; with --wait that of the job.",
			Environment: [][2]string{configFile, {"SBATCH_…", "an option of the same name, as SBATCH_PARTITION for --partition"}},
			Files:       [][2]string{confFile}, See: []string{"squeue", "scancel", "sacct", "srun"}},
		{Name: "srun", Section: "1", Brief: "run tasks of a job side by side",
			Synopsis: []string{"[options] program [arguments]"},
			Text: []string{"Inside of a job, srun starts a step: so many tasks on the nodes and CPUs of the job, whose output comes back in order " +
				"and whose exit codes become its own."},
			Options: fromTable(option.Srun), Exit: "the highest exit code of the tasks, 128 and the number of the signal that ended one.",
			Environment: [][2]string{configFile, {"SLURM_…", "an option of the same name, as SLURM_NTASKS for --ntasks"}},
			Files:       [][2]string{confFile}, See: []string{"sbatch", "scancel"}},
		{Name: "squeue", Section: "1", Brief: "show jobs that wait, run or have just ended", Synopsis: []string{"[options]"},
			Text:    []string{"A line for each job, in an order that can be chosen, with the columns that --format or --Format name."},
			Options: fromFlags(queue.Flags()), Exit: exitCodes,
			Environment: [][2]string{configFile, timeFormat, data, {"SQUEUE_…", "an option of the same name, as SQUEUE_FORMAT for --format"}},
			Files:       [][2]string{confFile}, See: []string{"sacct", "sinfo", "scontrol"}},
		{Name: "scancel", Section: "1", Brief: "end or signal jobs, tasks of arrays and steps", Synopsis: []string{"[options] [job[_task][.step]...]"},
			Text:    []string{"Options that select narrow the jobs that are named; without any names they select among all jobs of the caller."},
			Options: fromFlags(scancel.Flags()), Exit: exitCodes,
			Environment: [][2]string{configFile, {"SCANCEL_…", "an option of the same name, as SCANCEL_USER for --user"}},
			Files:       [][2]string{confFile}, See: []string{"squeue", "scontrol"}},
		{Name: "sinfo", Section: "1", Brief: "show partitions and nodes", Synopsis: []string{"[options]"},
			Text:    []string{"Nodes that look the same in the columns that are shown share a line."},
			Options: fromFlags(nodes.Flags()), Exit: exitCodes,
			Environment: [][2]string{configFile, timeFormat, data, {"SINFO_…", "an option of the same name, as SINFO_FORMAT for --format"}},
			Files:       [][2]string{confFile}, See: []string{"squeue", "scontrol"}},
		{Name: "scontrol", Section: "1", Brief: "show and change jobs, nodes, partitions and the controller", Synopsis: []string{"[options] [command]"},
			Text:    []string{"Without a command, commands are read from standard input; !! repeats the one before."},
			Options: fromFlags(control.Flags()), Words: control.Words(), Exit: exitCodes,
			Environment: [][2]string{configFile, timeFormat, data, {"SCONTROL_ALL", "as --all"}},
			Files:       [][2]string{confFile}, See: []string{"squeue", "sinfo", "ctld"}},
		{Name: "sacct", Section: "1", Brief: "show what accounting knows of jobs and their steps", Synopsis: []string{"[options]"},
			Text:    []string{"Without --jobs, --starttime and --state: the jobs of the caller since midnight. sacct --helpformat lists the columns."},
			Options: fromFlags(accounting.Flags()), Exit: exitCodes,
			Environment: [][2]string{configFile, timeFormat, data, {"SACCT_FORMAT", "as --format"}},
			Files:       [][2]string{confFile}, See: []string{"squeue", "seff", "sacctmgr"}},
		{Name: "sacctmgr", Section: "1", Brief: "show accounts, users, associations, QOS and the cluster", Synopsis: []string{"[options] show entity [conditions]"},
			Text:    []string{"Conditions are NAME=VALUE,... ; format=FIELD[%WIDTH],... chooses the columns."},
			Options: fromFlags(acctmgr.Flags()), Words: []string{"help", "list", "ping", "show", "version"}, Exit: exitCodes,
			Environment: [][2]string{configFile}, Files: [][2]string{confFile}, See: []string{"sacct"}},
		{Name: "sdiag", Section: "1", Brief: "show what the controller counts of itself", Synopsis: []string{"[options]"},
			Options: fromFlags(diag.Flags()), Exit: exitCodes, Environment: [][2]string{configFile, data}, Files: [][2]string{confFile}, See: []string{"scontrol"}},
		{Name: "seff", Section: "1", Brief: "show how much of what it held a job used", Synopsis: []string{"job"},
			Text:    []string{"CPU time beside the time that the CPUs were held, and the greatest memory of a step beside what the job had."},
			Options: []Option{{Short: 'h', Help: "show how it is called and exit"}, {Short: 'v', Help: "show the version and exit"}},
			Exit:    "0 when all went well, 1 when it was called wrongly, 2 for a job that accounting does not know.", See: []string{"sacct"}},
	}
}

func daemons() []Page {
	return []Page{
		{Name: "ctld", Section: "8", Brief: "the controller of a cluster (slurmctld)", Synopsis: []string{"[-D] [-f file] [--systemd] [--host name]", "--dump file", "--restore file"},
			Text: []string{"It keeps the jobs in PostgreSQL, gives them nodes and answers commands. Where no database is named in slurmdbd.conf or muster.conf " +
				"it starts a private one below StateSaveLocation. It must run as SlurmUser.",
				"Several may run on the hosts that SlurmctldHost lines name, if they share one database: one leads, the others stand by."},
			Options: []Option{{Short: 'D', Help: "stay in the foreground (it always does)"}, {Short: 'f', Meta: "file", Help: "the slurm.conf to read"},
				{Long: "systemd", Help: "systemd waits for the word that it serves"}, {Long: "host", Meta: "name", Help: "which SlurmctldHost this is"},
				{Long: "dump", Meta: "file", Help: "write the private database to a file and end"}, {Long: "restore", Meta: "file", Help: "load it from a file and end"}},
			Files: [][2]string{confFile, {"/etc/slurm/slurmdbd.conf, /etc/slurm/muster.conf", "which PostgreSQL is used; mode 0600"}}, See: []string{"noded", "scontrol"}},
		{Name: "noded", Section: "8", Brief: "the daemon of a compute node (slurmd)", Synopsis: []string{"[-D] [-N node] [-f file] [--systemd]", "--conf-server host", "-C"},
			Text: []string{"It takes the controller's orders, runs the hooks, and has a shepherd (stepd) start and watch each step. Jobs outlive it."},
			Options: []Option{{Short: 'C', Help: "print this machine's line for slurm.conf and end"}, {Short: 'D', Help: "stay in the foreground (it always does)"},
				{Short: 'G', Help: "print the generic resources of gres.conf and end"}, {Short: 'L', Meta: "file", Help: "log to the file"},
				{Short: 'N', Meta: "node", Help: "which node of slurm.conf this is"}, {Short: 'f', Meta: "file", Help: "the slurm.conf to read"},
				{Short: 'v', Help: "log more; repeat for still more"}, {Long: "systemd", Help: "systemd waits for the word that it serves"},
				{Long: "conf-server", Meta: "host", Help: "keep a copy of the controller's configuration"}},
			Files: [][2]string{confFile}, See: []string{"ctld", "stepd"}},
		{Name: "sackd", Section: "8", Brief: "the authentication service of a login node", Synopsis: []string{"[-D] [--systemd] [--conf-server host]"},
			Text: []string{"With AuthType=auth/slurm it proves to the controller who the users of a login node are. With --conf-server it keeps a copy of the " +
				"configuration in /run/slurm/conf."},
			Options: []Option{{Long: "systemd", Help: "systemd waits for the word that it serves"}, {Long: "conf-server", Meta: "host", Help: "keep a copy of the controller's configuration"}},
			Files:   [][2]string{confFile, {"/etc/slurm/slurm.key", "the cluster's key; mode 0600"}}, See: []string{"ctld"}},
		{Name: "stepd", Section: "8", Brief: "the shepherd of one step (slurmstepd)", Synopsis: []string{""},
			Text: []string{"noded starts it; it is not for hands. It becomes the user, starts the tasks of a step, carries their input and output and writes down how they ended."},
			See:  []string{"noded"}},
	}
}
