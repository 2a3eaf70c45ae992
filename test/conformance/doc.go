// Package conformance runs the end-to-end cases of test/cases against a real
// cluster: Debian's Slurm, to know that an expectation is Slurm's, or Muster, to
// know that it holds. The same files run against both.
//
// A case is a testscript file. Its commands build up a transcript (every command
// with its whole stdout, stderr and exit status) which `match want` compares
// with the file "want" of the same archive:
//
//	submit VAR ARG…         sbatch --parsable ARG…; the job id is kept in VAR
//	run [-c DIR] CMD ARG…   run a command; it and all it says join the transcript
//	sh LINE                 the same for a line of bash
//	quietly CMD ARG…        run a command that must succeed and say nothing
//	as USER                 who runs what follows (alice at the start)
//	setenv K=V, unsetenv K  the environment of what follows
//	save VAR                the last number of the last output becomes VAR
//	await ID STATE…         until scontrol show job has one of the states (END: any
//	                        ended one)
//	awaitacct ID STATE      until sacct has that state
//	awaitfile FILE [TEXT]   until the file is there (and holds the text)
//	awaitreason ID REASON…  until squeue shows one of the reasons
//	awaitidle               until every node is idle (for cases that are serial)
//	match FILE              compare the transcript so far and begin a new one
//
// In the transcript stdout comes first; lines of stderr begin with "! "; a
// status other than 0 stands last as "=> exit N". The expectation may hold
// {{VAR}} (a kept value; {{VAR:18}} right-justified, {{VAR.batch:-13}} with a
// suffix and left-justified) and masks such as {{time}} (see masks); all else is
// compared byte for byte. $W or {{W}} is the case's folder; $U or {{U}} is a word that no
// other case and no other run has, for names of jobs.
//
// The leading comment of a case says in its first line what it shows. Further
// lines give its needs: "configs: NAME" (base if absent), "serial" (no other
// case beside it), "exact nodes" (recording masks no node names), "slow" (left out of the quick run), "since: PLACE" (newer than
// the oracle's 22.05, so Muster only, or compared with "want.slurm" there),
// "differs: WHY" (Muster differs on purpose and has its own "want.muster").
package conformance
