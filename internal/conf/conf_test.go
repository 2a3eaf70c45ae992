package conf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const head = "ClusterName=c\nSlurmctldHost=ctl\n"

// write makes a folder with the files given as name, content, name, content ...
func write(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600))
	}
	return filepath.Join(dir, "slurm.conf")
}

func mustLoad(t *testing.T, files ...string) *Config {
	t.Helper()
	c, err := Load(write(t, files...))
	require.NoError(t, err)
	return c
}

// failures gives the mistakes of a slurm.conf without the folder's name.
func failures(t *testing.T, files ...string) []string {
	t.Helper()
	path := write(t, files...)
	_, err := Load(path)
	var errs Errors
	require.ErrorAs(t, err, &errs)
	var out []string
	for _, e := range errs {
		out = append(out, strings.TrimPrefix(e.Error(), filepath.Dir(path)+"/"))
	}
	return out
}

func notices(c *Config) []string {
	var out []string
	for _, n := range c.Notices {
		out = append(out, strings.TrimPrefix(n, c.Dir()+"/"))
	}
	return out
}

func TestNotation(t *testing.T) {
	c := mustLoad(t, "slurm.conf", `# a comment \
clustername = Cluster1     # behind
SLURMCTLDHOST=ctl(10.0.0.1)
SlurmctldHost=ctl2
SlurmctldPort=6817-6819 SlurmdPort=7000
SchedulerParameters=defer,\
default_queue_depth=50,\
nohold_on_prolog_fail
MailProg="/usr/bin/my mail"
MailDomain=a\#b
KillOnBadExit=yes
`+"JobFileAppend=1\r\n")
	assert.Equal(t, "cluster1", c.ClusterName)
	assert.Equal(t, []ControllerHost{{"ctl", "10.0.0.1"}, {"ctl2", "ctl2"}}, c.SlurmctldHosts)
	assert.Equal(t, []int{6817, 6818, 6819}, c.SlurmctldPorts)
	assert.Equal(t, 7000, c.SlurmdPort)
	assert.Equal(t, "/usr/bin/my mail", c.MailProg)
	assert.Equal(t, "a#b", c.MailDomain)
	assert.True(t, c.KillOnBadExit)
	assert.True(t, c.JobFileAppend)
	assert.True(t, c.SchedulerParams.Has("DEFER"))
	assert.Equal(t, 50, c.SchedulerParams.Int("default_queue_depth", 100))
}

func TestBlankBeforeContinuedTextEndsAValue(t *testing.T) {
	got := failures(t, "slurm.conf", head+"SchedulerParameters=defer,\\\n  defer_batch\n")
	assert.Equal(t, []string{`slurm.conf:3: expected Key=Value, found "defer_batch"`}, got)
}

func TestInclude(t *testing.T) {
	c := mustLoad(t, "slurm.conf", head+"Include nodes.%c\ninclude=parts\n",
		"nodes.c", "NodeName=n[1-2]\n", "parts", "PartitionName=p Nodes=ALL\n")
	assert.Len(t, c.Nodes, 2)
	assert.Equal(t, []string{"n1", "n2"}, c.Partitions[0].NodeNames)
	assert.Equal(t, []string{c.Path, c.Dir() + "/nodes.c", c.Dir() + "/parts"}, c.Files)

	got := failures(t, "slurm.conf", head+"Include bad\nInclude none\nInclude\n", "bad", "\n\nNodName=x\n")
	assert.Equal(t, `bad:3: unknown parameter "NodName"; did you mean NodeName?`, got[len(got)-1])
	assert.Contains(t, got[0], "none: no such file")
	assert.Equal(t, "slurm.conf:5: Include without a file name", got[1])
	got = failures(t, "slurm.conf", head+"Include slurm.conf\n")
	assert.Contains(t, got[0], "more than 16 deep")
}

func TestDefaults(t *testing.T) {
	c := mustLoad(t, "slurm.conf", head)
	assert.Equal(t, []int{6817}, c.SlurmctldPorts)
	assert.Equal(t, "auth/munge", c.AuthType)
	assert.Equal(t, "select/cons_tres", c.SelectType)
	assert.True(t, c.SelectParams.Has("CR_Core_Memory"))
	assert.EqualValues(t, 10000, c.MaxJobCount)
	assert.EqualValues(t, 1001, c.MaxArraySize)
	assert.EqualValues(t, 67043328, c.MaxJobID)
	assert.Equal(t, "30s", c.KillWait.String())
	assert.Equal(t, "5m0s", c.MinJobAge.String())
	assert.Equal(t, "5m0s", c.SlurmdTimeout.String())
	assert.Equal(t, Infinite, c.PrologTimeout)
	assert.True(t, c.JobRequeue)
	assert.Equal(t, "info", c.SlurmctldDebug)
	assert.Equal(t, "none", c.AccountingStorageType)
	assert.Equal(t, MemLimit{}, c.DefMem)
	assert.Equal(t, "NO", c.EnforcePartLimits)
	assert.Empty(t, c.Notices)
	assert.False(t, c.Cgroup.ConstrainCores)
	assert.Equal(t, 100.0, c.Cgroup.AllowedRAMSpace)
	assert.Equal(t, -1, c.Cgroup.MemorySwappiness)
}

func TestTypedFields(t *testing.T) {
	c := mustLoad(t, "slurm.conf", head+`
DefMemPerCPU=2G
MaxMemPerNode=UNLIMITED
PrologEpilogTimeout=60
EpilogTimeout=90
Prolog=/a
Prolog=b/*.sh
PrologFlags=Contain
RequeueExit=1,3-5
OverTimeLimit=UNLIMITED
SlurmctldDebug=6
EnforcePartLimits=yes
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=limits,qos
TaskPlugin=task/affinity,task/cgroup
InactiveLimit=INFINITE
PrivateData=jobs,usage
`)
	assert.Equal(t, MemLimit{MemPerCPU, 2048}, c.DefMem)
	assert.Equal(t, MemLimit{}, c.MaxMem)
	assert.Equal(t, "1m0s", c.PrologTimeout.String())
	assert.Equal(t, "1m30s", c.EpilogTimeout.String())
	assert.Equal(t, []string{"/a", "b/*.sh"}, c.Prolog)
	assert.True(t, c.PrologFlags.Has("contain"))
	assert.True(t, c.PrologFlags.Has("Alloc"))
	assert.Equal(t, []ExitRange{{1, 1}, {3, 5}}, c.RequeueExit)
	assert.True(t, ExitMatches(c.RequeueExit, 4))
	assert.False(t, ExitMatches(c.RequeueExit, 2))
	assert.Equal(t, Unlimited, c.OverTimeLimit)
	assert.Equal(t, "debug2", c.SlurmctldDebug)
	assert.Equal(t, "ALL", c.EnforcePartLimits)
	assert.Equal(t, "slurmdbd", c.AccountingStorageType)
	assert.True(t, c.AccountingStorageEnforce.Has("qos"))
	assert.Equal(t, []string{"affinity", "cgroup"}, c.TaskPlugin)
	assert.Equal(t, Infinite, c.InactiveLimit)
}

func TestOlderNamesStillAct(t *testing.T) {
	c := mustLoad(t, "slurm.conf", `ClusterName=c
ControlMachine=a
ControlAddr=10.0.0.1
BackupController=b
FastSchedule=2
AccountingStoreJobComment=yes
`)
	assert.Equal(t, []ControllerHost{{"a", "10.0.0.1"}, {"b", "b"}}, c.SlurmctldHosts)
	assert.True(t, c.SlurmdParams.Has("config_overrides"))
	assert.True(t, c.AccountingStoreFlags.Has("job_comment"))
	assert.Equal(t, "slurm.conf:2: ControlMachine still acts, but is replaced by SlurmctldHost", notices(c)[0])
}

func TestEveryMistakeIsToldWithItsPlace(t *testing.T) {
	got := failures(t, "slurm.conf", head+`SlurmctldProt=1
KillWait=soon
MailDomain=""
WaitTime=
AuthType=auth/none
SlurmdDebug=loud
RequeueExit=300
JobRequeue=maybe
foo
MailProg="x
SelectType=select/linear
FirstJobId=5 MaxJobId=4
PropagateResourceLimits=ALL
PropagateResourceLimitsExcept=CORE
SlurmctldHost=x(
ReturnToService=3
`)
	assert.ElementsMatch(t, []string{
		`slurm.conf:3: unknown parameter "SlurmctldProt"; did you mean SlurmctldPort?`,
		`slurm.conf:4: KillWait: wanted a number of seconds, found "soon"`,
		`slurm.conf:6: WaitTime: the value is missing`,
		`slurm.conf:7: AuthType: wanted one of auth/munge, auth/slurm, found "auth/none"`,
		`slurm.conf:8: SlurmdDebug: wanted one of quiet fatal error info verbose debug debug2 debug3 debug4 debug5, found "loud"`,
		`slurm.conf:9: RequeueExit: wanted exit codes between 0 and 255 or ranges of them, found "300"`,
		`slurm.conf:10: JobRequeue: wanted YES or NO, found "maybe"`,
		`slurm.conf:11: expected Key=Value, found "foo"`,
		`slurm.conf:12: MailProg: '"' is not closed`,
		`slurm.conf:13: not supported yet: SelectType=select/linear; use select/cons_tres, with OverSubscribe=EXCLUSIVE in the partitions for whole nodes`,
		`slurm.conf:14: FirstJobId 5 is not between 1 and MaxJobId 4`,
		`slurm.conf:16: PropagateResourceLimits and PropagateResourceLimitsExcept exclude each other`,
		`slurm.conf:17: SlurmctldHost: wanted name or name(address), found "x("`,
		`slurm.conf:18: ReturnToService: wanted 0, 1 or 2, found 3`,
	}, got)
	got = failures(t, "slurm.conf", "KillWait=5\n")
	assert.Equal(t, []string{"slurm.conf:1: ClusterName is missing", "slurm.conf:1: SlurmctldHost is missing"}, got)
	_, err := Load(filepath.Join(t.TempDir(), "slurm.conf"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestNotices(t *testing.T) {
	c := mustLoad(t, "slurm.conf", head+`AccountingStorageHost=db
AccountingStoragePass=secret
PowerPlugin=power/none
TreeWidth=50
TreeWidth=16
SwitchType=switch/none
MpiDefault=none
KillWait=1
KillWait=2
DefMemPerCPU=1
DefMemPerNode=2
SchedulerParameters=bf_interval=5,defer,frobnicate
FrontendName=x
ExtSensorsType=ext_sensors/rrd
`)
	assert.Equal(t, []string{
		"slurm.conf:3: AccountingStorageHost has no effect: " + slurmdbd,
		"slurm.conf:4: AccountingStoragePass has no effect: " + slurmdbd,
		"slurm.conf:6: TreeWidth has no effect: every node has its own session with the controller",
		"slurm.conf:7: TreeWidth stands here again (first at " + c.Path + ":6); this one counts",
		"slurm.conf:11: KillWait stands here again (first at " + c.Path + ":10); this one counts",
		"slurm.conf:14: SchedulerParameters: unknown option frobnicate; SchedulerParameters: without effect: bf_interval",
		"slurm.conf:15: FrontendName has no effect: front-end mode is gone from Slurm since 25.05",
		"slurm.conf:16: ExtSensorsType has no effect: gone since 23.11 without replacement",
		"slurm.conf:12: DefMemPerCPU is not used, since DefMemPerNode is given",
	}, notices(c))
	assert.Equal(t, "2s", c.KillWait.String())
	for _, n := range c.Notices {
		assert.NotContains(t, n, "secret")
	}
}

func TestFind(t *testing.T) {
	t.Setenv("SLURM_CONF", "/x/y.conf")
	assert.Equal(t, "/x/y.conf", Find())
}

func TestClientReadsOnlyParameters(t *testing.T) {
	path := write(t, "slurm.conf", head+"NodeName=n[1-3] Nonsense=1\nPartitionName=p Nodes=none\n", "gres.conf", "nonsense\n")
	c, err := LoadClient(path)
	require.NoError(t, err)
	assert.Equal(t, "c", c.ClusterName)
	assert.Empty(t, c.Nodes)
}

func TestNodePath(t *testing.T) {
	assert.Equal(t, "/var/n1/host/%", NodePath("/var/%n/%h/%%", "n1", "host.example.org"))
}

func TestExpandPrograms(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"b.sh", "a.sh", "c.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f), nil, 0o700))
	}
	got, err := ExpandPrograms(dir, []string{"*.sh", "/abs/x", "none/*", "plain"})
	require.NoError(t, err)
	assert.Equal(t, []string{dir + "/a.sh", dir + "/b.sh", "/abs/x", dir + "/plain"}, got)
}

func TestTableIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Params() {
		low := strings.ToLower(p.Name)
		assert.False(t, seen[low], "%s stands twice", p.Name)
		seen[low] = true
		if p.Default != "" {
			_, err := p.check(p.Default)
			assert.NoError(t, err, p.Name)
		}
		if !p.Acts() || p.Removed() {
			assert.NotEmpty(t, p.Note, "%s does not say why it has no effect", p.Name)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(head + "NodeName=n[1-3] CPUs=4 Gres=gpu:2\nGresTypes=gpu\nPartitionName=p Nodes=ALL Default=yes\n")
	f.Add("NodeName=DEFAULT Sockets=2\nNodeName=a,b NodeAddr=c\\\n,d\nDownNodes=a\nNodeSet=s Feature=x")
	f.Add(`A="b # c \# d`)
	f.Fuzz(func(t *testing.T, text string) {
		rep := &report{}
		lines := logicalLines("f", text)
		for i, l := range lines {
			if strings.HasPrefix(strings.ToLower(l.text), "include") {
				return
			}
			if i > 0 && l.Line <= lines[i-1].Line {
				t.Fatalf("line numbers do not grow: %v", lines)
			}
		}
		c := &Config{Path: "f"}
		c.raw = readRaw(lines, false, rep)
		c.fill(c.raw)
		c.buildNodes(c.raw)
		c.buildPartitions(c.raw)
		c.buildGres(lines, rep)
		buildCgroup(lines, rep)
		for _, e := range rep.errs {
			if e.Line < 1 {
				t.Fatalf("no line in %v", e)
			}
		}
		if rep.err() == nil {
			ShowConfig(c, Runtime{})
			if d := Diff(c, c); !d.Empty() {
				t.Fatalf("differs from itself: %+v", d)
			}
		}
	})
}

func TestParseIDs(t *testing.T) {
	got, err := ParseIDs("0,2-4")
	require.NoError(t, err)
	assert.Equal(t, []int{0, 2, 3, 4}, got)
	for _, in := range []string{"a", "3-1", "-1", "1-", "99999"} {
		_, err := ParseIDs(in)
		assert.Error(t, err, in)
	}
}

func TestMistakeOnADefaultLineIsToldOnce(t *testing.T) {
	got := failures(t, "slurm.conf", head+"NodeName=DEFAULT Weight=x\nNodeName=a\nNodeName=b\n")
	assert.Equal(t, []string{`slurm.conf:3: Weight: wanted a whole number, found "x"`}, got)
}
