// Command hollow loads a controller with simulated nodes: how many small jobs a
// second go from their submission through launch and end into the accounting,
// and what memory a long queue and a large array take.
//
// The controller, its database and the node sessions are real; only the jobs
// run nowhere. Submissions go straight through the RPC, over a few connections,
// because as many sbatch processes would be what is measured.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"muster/internal/metrics/profile"
)

func main() {
	app := &cli.App{
		Name:  "hollow",
		Usage: "load a controller with simulated nodes",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "nodes", Value: 1000, Usage: "`NUMBER` of simulated nodes"},
			&cli.IntFlag{Name: "jobs", Value: 10_000, Usage: "`NUMBER` of jobs that run"},
			&cli.IntFlag{Name: "pending", Value: 100_000, Usage: "`NUMBER` of jobs that wait, for the memory; 0 = leave that out"},
			&cli.IntFlag{Name: "array", Value: 1_000_000, Usage: "`NUMBER` of tasks of the array, for the memory"},
			&cli.IntFlag{Name: "connections", Value: 32, Usage: "`NUMBER` of connections that submit"},
			&cli.StringFlag{Name: "bin", Value: "build", Usage: "`FOLDER` with Muster's bin/ and sbin/"},
			&cli.StringFlag{Name: "dir", Usage: "`FOLDER` for the cluster; without it a temporary one"},
			&cli.StringFlag{Name: "json", Value: "build/hollow.json", Usage: "`FILE` for all numbers"},
			&cli.StringFlag{Name: "profile", Usage: "`FILE` for a CPU profile of the controller"},
		},
		Action: run,
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := app.RunContext(ctx, os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "hollow:", err)
		os.Exit(1)
	}
}

func run(c *cli.Context) error {
	dir := c.String("dir")
	if dir == "" {
		made, err := os.MkdirTemp("", "hollow")
		if err != nil {
			return fmt.Errorf("make the cluster's folder: %w", err)
		}
		defer os.RemoveAll(made)
		dir = made
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the cluster's folder: %w", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // the database's user must be able to enter
		return fmt.Errorf("open the cluster's folder: %w", err)
	}
	cl, err := newCluster(dir, c.String("bin"), c.Int("nodes"))
	if err != nil {
		return err
	}
	r := report{Date: time.Now().Format(time.DateOnly), Nodes: c.Int("nodes"), Jobs: c.Int("jobs"), Connections: c.Int("connections")}
	if err := cl.during(c.Context, func(ctx context.Context) error {
		return throughput(ctx, cl, &r, c.String("profile"))
	}); err != nil {
		return err
	}
	if r.Pending, r.Tasks = c.Int("pending"), c.Int("array"); r.Pending > 0 {
		if err := cl.during(c.Context, func(ctx context.Context) error { return memory(ctx, cl, &r) }); err != nil {
			return err
		}
	}
	fmt.Print(r.text())
	return r.write(c.String("json"))
}

// cluster is one controller with simulated nodes.
type cluster struct {
	bin, dir string
	nodes    int
}

// The folder gets the cluster and, beside it, the sockets for profiles.
func newCluster(dir, bin string, nodes int) (*cluster, error) {
	var err error
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("the cluster's folder: %w", err)
	}
	if bin, err = filepath.Abs(bin); err != nil {
		return nil, fmt.Errorf("find Muster's programs: %w", err)
	}
	return &cluster{bin: bin, dir: dir, nodes: nodes}, nil
}

func (c *cluster) home() string { return filepath.Join(c.dir, "c") }

// getenv is the environment of our clients.
func (c *cluster) getenv(name string) string {
	if name == "SLURM_CONF" {
		return filepath.Join(c.home(), "etc", "slurm.conf")
	}
	return ""
}

// configuration allows what is measured.
const configuration = `ClusterName=hollow
SlurmctldDebug=info
DefMemPerCPU=100
MaxJobCount=1500000
MaxArraySize=1000001
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`

// during brings a fresh cluster up for a while.
func (c *cluster) during(ctx context.Context, do func(context.Context) error) error {
	extra := filepath.Join(c.dir, "extra.conf")
	if err := os.WriteFile(extra, []byte(configuration), 0o644); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	if err := os.Setenv(profile.Folder, c.dir); err != nil {
		return err
	}
	defer func() {
		if err := c.devcluster(context.WithoutCancel(ctx), "down"); err != nil {
			fmt.Fprintln(os.Stderr, "hollow:", err)
		}
	}()
	err := c.devcluster(ctx, "up", "--nodes", "0", "--hollow", strconv.Itoa(c.nodes), "--cpus", "8", "--mem", "16000", "--conf", extra)
	if err != nil {
		return err
	}
	return do(ctx)
}

func (c *cluster) devcluster(ctx context.Context, verb string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "bin", "devcluster"), append([]string{verb, "--dir", c.home()}, args...)...)
	cmd.WaitDelay = 2 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("devcluster %s: %w: %s", verb, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// report is all that was measured.
type report struct {
	Date        string             `json:"date"`
	Nodes       int                `json:"nodes"`
	Jobs        int                `json:"jobs"`
	Connections int                `json:"connections"`
	Submitted   float64            `json:"seconds_until_all_are_acknowledged"`
	Ended       float64            `json:"seconds_until_all_have_ended"`
	PerSecond   float64            `json:"jobs_per_second"`
	CPU         map[string]float64 `json:"cpu_seconds"`
	Passes      uint64             `json:"passes"`
	Commits     uint64             `json:"commits"`
	Rows        uint64             `json:"rows"`
	Pending     int                `json:"pending,omitempty"`
	Tasks       int                `json:"array_tasks,omitempty"`
	Start       sizes              `json:"memory_at_start"`
	WithArray   sizes              `json:"memory_with_array"`
	WithPending sizes              `json:"memory_with_pending"`
	PendingTook float64            `json:"seconds_to_submit_pending"`
}

func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d jobs on %d hollow nodes over %d connections: acknowledged after %.2f s, all ended and in the accounting after %.2f s: %.0f jobs a second\n",
		r.Jobs, r.Nodes, r.Connections, r.Submitted, r.Ended, r.PerSecond)
	fmt.Fprintf(&b, "CPU seconds: %s; %d passes, %d commits of %d rows\n", costs(r.CPU), r.Passes, r.Commits, r.Rows)
	if r.Pending > 0 {
		fmt.Fprintf(&b, "controller at the start: %s\n", r.Start)
		fmt.Fprintf(&b, "with an array of %d tasks: %s (heap %+.1f MiB)\n", r.Tasks, r.WithArray, r.WithArray.Heap-r.Start.Heap)
		fmt.Fprintf(&b, "with %d separate pending jobs: %s (submitted in %.1f s)\n", r.Pending, r.WithPending, r.PendingTook)
	}
	return b.String()
}

func (r *report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the numbers: %w", err)
	}
	return nil
}
