package conf

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The files that are installed as samples load, without a word.
func TestSamples(t *testing.T) {
	const etc = "../../etc"
	c, err := Load(filepath.Join(etc, "slurm.conf"))
	require.NoError(t, err)
	assert.Empty(t, c.Notices)
	assert.Len(t, c.Nodes, 4)
	assert.Equal(t, []string{"gpu1", "gpu2"}, c.Partitions[1].NodeNames)
	assert.Len(t, c.GresFor("gpu2"), 3)
	assert.True(t, c.Cgroup.ConstrainDevices)

	text, err := os.ReadFile(filepath.Join(etc, "slurmdbd.conf"))
	require.NoError(t, err)
	d, err := loadDB(t, "slurmdbd.conf", string(text))
	require.NoError(t, err)
	assert.Empty(t, d.Notices)
	assert.Equal(t, "slurm@db.example.org:5432/slurm_acct_db", d.String())
}

func TestTenThousandNodes(t *testing.T) {
	c := mustLoad(t, "slurm.conf", head+"NodeName=rack[0-99]n[000-099] NodeAddr=10.0.[0-99].[0-99] CPUs=64\nPartitionName=p Nodes=ALL\nPartitionName=q Nodes=rack[0-49]n[000-099]\n")
	assert.Len(t, c.Nodes, 10000)
	assert.Equal(t, "10.0.99.99", c.Nodes[9999].Addr)
	assert.Len(t, c.Partitions[1].NodeNames, 5000)
}

func BenchmarkLoadClient(b *testing.B) {
	for b.Loop() {
		if _, err := LoadClient("../../etc/slurm.conf"); err != nil {
			b.Fatal(err)
		}
	}
}
