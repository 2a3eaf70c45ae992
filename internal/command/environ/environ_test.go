package environ

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestExport(t *testing.T) {
	environ := []string{"A=1", "B=x=y", "BASH_FUNC_f%%=() {  echo 'a\nb'\n}", "SLURM_JOB_ID=3", "HOME=/h", "E=\xff\xfe"}
	for _, c := range []struct {
		export string
		given  bool
		file   string
		want   []string
		login  bool
	}{
		{"", false, "", environ, false},
		{"ALL", true, "", environ, false},
		{"all,C=3,A=2", true, "", []string{"A=2", environ[1], environ[2], environ[3], "HOME=/h", environ[5], "C=3"}, true},
		{"NONE", true, "", []string{"SLURM_JOB_ID=3"}, true},
		{"nil", true, "", []string{"SLURM_JOB_ID=3"}, false},
		{"A,C=x=y,NOSUCH", true, "", []string{"A=1", "SLURM_JOB_ID=3", "C=x=y"}, true},
		{"", false, "X=1\x00Y=a\nb\x00junk\x00", []string{"X=1", "Y=a\nb"}, false},
		{"ALL", true, "X=1\x00", []string{"X=1"}, false},
		{"X,D=4,A", true, "X=1\x00Y=2\x00", []string{"X=1", "D=4"}, true},
	} {
		var file []byte
		if c.file != "" {
			file = []byte(c.file)
		}
		env, login := Export(environ, c.export, c.given, file)
		assert.Equal(t, strings.Join(c.want, "\x00")+"\x00", string(env.Bytes()), c.export)
		assert.Equal(t, c.login, login, c.export)
	}
}
