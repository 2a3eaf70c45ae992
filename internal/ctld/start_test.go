package ctld

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"muster/internal/api"
	"muster/internal/auth/access"
	"muster/internal/conf"
	"muster/internal/controller"
	"muster/internal/model"
	"muster/internal/sched"
	"muster/internal/wire"
)

// site is a folder with a slurm.conf that is in order.
type site struct {
	t   *testing.T
	dir string
}

func newSite(t *testing.T) *site {
	s := &site{t, t.TempDir()}
	s.write("slurm.conf", s.text(), 0o644)
	s.write("slurm.key", strings.Repeat("k", 64), 0o600)
	return s
}

func (s *site) text() string {
	return fmt.Sprintf(`ClusterName=c
SlurmctldHost=localhost
SlurmUser=%d
SlurmdUser=%d
AuthType=auth/slurm
StateSaveLocation=%s/state
SlurmctldPidFile=%[3]s/ctld.pid
NodeName=n[1-2] CPUs=4
PartitionName=p Nodes=ALL Default=YES
`, os.Geteuid(), os.Geteuid(), s.dir)
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

func (s *site) write(name, text string, mode os.FileMode) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(s.path(name), []byte(text), mode))
	require.NoError(s.t, os.Chmod(s.path(name), mode))
}

// edit replaces words of slurm.conf.
func (s *site) edit(pairs ...string) {
	s.t.Helper()
	s.write("slurm.conf", strings.NewReplacer(pairs...).Replace(s.text()), 0o644)
}

func (s *site) run() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return Run(ctx, Options{Conf: s.path("slurm.conf"), Version: "1"})
}

func TestWhatKeepsItFromStarting(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*site)
		want  []string
	}{
		"no slurm.conf":         {func(s *site) { require.NoError(s.t, os.Remove(s.path("slurm.conf"))) }, []string{"slurm.conf: no such file"}},
		"a misspelt key":        {func(s *site) { s.edit("SlurmUser", "SlurmUsre") }, []string{"slurm.conf:3: unknown parameter \"SlurmUsre\"", "SlurmUser"}},
		"several mistakes":      {func(s *site) { s.edit("CPUs=4", "CPUs=x", "Nodes=ALL", "Nodes=n9") }, []string{"slurm.conf:8", "slurm.conf:9", "n9"}},
		"no SlurmctldHost":      {func(s *site) { s.edit("SlurmctldHost=localhost\n", "") }, []string{"SlurmctldHost is missing"}},
		"another SlurmctldHost": {func(s *site) { s.edit("=localhost", "=elsewhere(192.0.2.1)") }, []string{"is no SlurmctldHost of", "slurm.conf"}},
		"an unknown user":       {func(s *site) { s.edit(fmt.Sprintf("SlurmUser=%d", os.Geteuid()), "SlurmUser=no-such-user") }, []string{"SlurmUser or SlurmdUser no-such-user"}},
		"an unknown AuthType":   {func(s *site) { s.edit("auth/slurm", "auth/none") }, []string{"auth/none"}},
		"a readable key":        {func(s *site) { s.write("slurm.key", strings.Repeat("k", 64), 0o644) }, []string{"chmod 0600", "slurm.key"}},
		"SelectType":            {func(s *site) { s.edit("AuthType", "SelectType=select/other\nAuthType") }, []string{"select/other"}},
		"a readable muster.conf": {func(s *site) { s.write("muster.conf", "DatabaseURL=postgres://u:hidden@192.0.2.1/x\n", 0o644) },
			[]string{"muster.conf may hold a password and must have mode 0600, it has 0644: chmod 600"}},
		"a misspelt muster.conf": {func(s *site) { s.write("muster.conf", "DatabaseURI=postgres://u:hidden@192.0.2.1/x\n", 0o600) },
			[]string{"muster.conf:1", "unknown parameter"}},
		"two hosts without a database": {func(s *site) { s.edit("SlurmctldHost=localhost", "SlurmctldHost=localhost\nSlurmctldHost=spare") },
			[]string{"names 2 SlurmctldHosts: they need a database of their own"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			test.spoil(s)
			err := s.run()
			require.Error(t, err)
			for _, want := range test.want {
				assert.ErrorContains(t, err, want)
			}
			assert.NotContains(t, err.Error(), "hidden", "a password is never told")
			assert.NoFileExists(t, s.path("ctld.pid"))
		})
	}
}

// memory is a store whose commits succeed at once.
type memory struct{}

func (memory) Load(context.Context) (*model.Tables, error) {
	return &model.Tables{ClusterID: "id", Generation: 1, Now: time.Now().Unix()}, nil
}
func (memory) Commit(context.Context, *model.Batch) (model.Outcome, error) {
	return model.Committed, nil
}
func (memory) LastBatch(context.Context) (uint64, error) { return 0, nil }

// nobody takes effects; there are none in these tests.
type nobody struct{}

func (nobody) Send(string, uint64, *wire.NodeOrder)  {}
func (nobody) Launch(string, uint64, *wire.RunOrder) {}
func (nobody) Registered(string, uint64, string)     {}
func (nobody) CloseSession(string, uint64, string)   {}
func (nobody) RunHook(controller.Hook)               {}
func (nobody) Mail(controller.Mail)                  {}

// running is a daemon that leads, without sockets and database.
func (s *site) running() *daemon {
	s.t.Helper()
	c, err := conf.Load(s.path("slurm.conf"))
	require.NoError(s.t, err)
	set, err := settings(c)
	require.NoError(s.t, err)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	loop := controller.NewLoop(controller.Options{
		Store: memory{}, Effects: nobody{}, Settings: set, Clock: time.Now, Log: log,
		Plan: func(*sched.Snapshot) *sched.Plan { return &sched.Plan{} },
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(ctx) }()
	s.t.Cleanup(func() { cancel(); <-ended })
	_, err = loop.Next(ctx, nil)
	require.NoError(s.t, err)
	return &daemon{opts: Options{Conf: s.path("slurm.conf")}, log: log, conf: c, files: readConfFiles(c), loop: loop, srv: &renewed{}, logFile: &logFile{}}
}

// renewed keeps the rules that a reconfiguration hands on.
type renewed struct{ rules []api.Rules }

func (r *renewed) Renew(rules api.Rules) { r.rules = append(r.rules, rules) }

func reconfigure(d *daemon) (*wire.AdminReply, error) {
	return d.Reconfigure(context.Background(), controller.Actor{Admin: true}, "")
}

func TestReconfigureWithAMistakeChangesNothing(t *testing.T) {
	s := newSite(t)
	d := s.running()
	before, set := d.config(), d.loop.View().Settings
	hash, files := d.ConfFiles()
	for name, edit := range map[string][]string{
		"a misspelt key":       {"CPUs=4", "CPU=8", "n[1-2]", "n[1-3]"},
		"a partition's nodes":  {"Nodes=ALL", "Nodes=n7"},
		"what is not known":    {"AuthType", "SelectType=select/other\nAuthType"},
		"a file that is empty": {s.text(), ""},
	} {
		s.edit(edit...)
		_, err := reconfigure(d)
		assert.ErrorContains(t, err, "slurm.conf", name)
		assert.Same(t, before, d.config(), name)
		assert.Empty(t, d.srv.(*renewed).rules, name)
		assert.Same(t, set, d.loop.View().Settings, name)
		h, f := d.ConfFiles()
		assert.Equal(t, hash, h, "configless hosts do not see the edit: %s", name)
		assert.Equal(t, files, f, name)
	}
}

func TestReconfigure(t *testing.T) {
	s := newSite(t)
	d := s.running()
	hash, _ := d.ConfFiles()
	s.write("more.conf", "KillWait=17\n", 0o644)
	s.edit("n[1-2]", "n[1-3]", "AuthType", "Include more.conf\nMailProg=/bin/echo\nPrologSlurmctld=/bin/true\nPrivateData=jobs\nSlurmctldPort=7000\nAuthType")
	reply, err := reconfigure(d)
	require.NoError(t, err)
	require.Nil(t, reply.Refusal)
	assert.Contains(t, strings.Join(reply.Messages, "\n"), "SlurmctldPort takes effect when the daemons are restarted")
	assert.EqualValues(t, 17, d.loop.View().Settings.KillWait)
	rules := d.srv.(*renewed).rules
	require.Len(t, rules, 1)
	assert.Equal(t, "/bin/echo", rules[0].Mail.Program)
	assert.Equal(t, []string{"/bin/true"}, rules[0].Hooks.Prolog)
	assert.Equal(t, access.PrivateJobs, rules[0].Policy.Private)
	_, ok := d.loop.View().Node("n3")
	assert.True(t, ok)
	h, files := d.ConfFiles()
	assert.NotEqual(t, hash, h)
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	assert.Equal(t, []string{"slurm.conf", "more.conf"}, names)
}

func TestConfFiles(t *testing.T) {
	s := newSite(t)
	s.write("prolog.sh", "#!/bin/sh\n", 0o755)
	s.write("gres.conf", "", 0o644)
	s.write("muster.conf", "DatabaseURL=postgres://u:hidden@192.0.2.1/x\n", 0o600)
	s.write("other.conf", s.text()+"Prolog=prolog.sh\nEpilog=/bin/true\n", 0o644)
	c, err := conf.Load(s.path("other.conf"))
	require.NoError(t, err)
	var got []string
	for _, f := range readConfFiles(c).list {
		got = append(got, fmt.Sprintf("%s %t", f.Name, f.Executable))
		assert.NotContains(t, string(f.Content), "hidden")
	}
	assert.Equal(t, []string{"slurm.conf false", "gres.conf false", "prolog.sh true"}, got)
}
