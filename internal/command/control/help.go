package control

import (
	"muster/internal/command"
	"muster/internal/command/flags"
)

const helpText = `
Commands:
  show ENTITY [ID]        show config, daemons, hostlist, hostlistsorted, hostnames,
                          job, node, partition or step; without ID all of them
  update KEY=VALUE ...    change a job, node, partition or step
  hold, uhold ID ...      keep jobs from starting; release ID ... lets them
  requeue, requeuehold ID ...
                          end jobs and let them wait again
  suspend, resume ID ...  stop and continue running jobs
  top ID ...              put jobs before your others
  completing              jobs that have ended and are not yet gone from their nodes
  write batch_script ID [FILE]
                          fetch a job's script; - writes it to standard output
  write snapshot FILE     save the state of the controller for the simulator
  ping                    ask whether the controllers answer
  reconfigure             read the configuration anew
  setdebug LEVEL          how much the controller logs
  shutdown [slurmctld]    end the daemons
  takeover                make a backup controller the leader
  adopt [NODE KEY]        let a job end that a node has and the database does not
                          know (after a restored backup); without words list them
  kill NODE KEY           end such a job
  all, hide, details, oneliner, quiet, verbose
                          settings for the commands that follow
  version, help, exit, quit
Without a command, commands are read from standard input.
`

func help(p *command.Program) {
	p.Print("Usage: scontrol [OPTIONS] [COMMAND]\n%s\n", flags.Brief(p.Name, options))
	p.Print("%s", helpText[1:])
}
