package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// results are all numbers of a run.
type results struct {
	Date    string               `json:"date"`
	Cores   int                  `json:"cores"`
	Figures []*row               `json:"figures"`
	Idle    map[string][]float64 `json:"idle_percent_of_a_core"`
	failed  []string
}

// row is a figure with what was measured of it.
type row struct {
	Name    string                          `json:"name"`
	Title   string                          `json:"title"`
	Unit    string                          `json:"unit"`
	More    bool                            `json:"more_is_better"`
	Values  map[string][]float64            `json:"values"`      // by system
	Seconds map[string][]map[string]float64 `json:"cpu_seconds"` // by system, of its daemons and the commands
}

func newResults() *results {
	return &results{Date: time.Now().Format(time.DateOnly), Cores: runtime.NumCPU(), Idle: map[string][]float64{}}
}

func (r *results) idle(system string, percent float64) {
	r.Idle[system] = append(r.Idle[system], percent)
}

func (r *results) add(f figure, system string, value float64, used map[string]float64) {
	i := slices.IndexFunc(r.Figures, func(x *row) bool { return x.Name == f.name })
	if i < 0 {
		i = len(r.Figures)
		r.Figures = append(r.Figures, &row{Name: f.name, Title: f.title, Unit: f.unit, More: f.more,
			Values: map[string][]float64{}, Seconds: map[string][]map[string]float64{}})
	}
	x := r.Figures[i]
	x.Values[system] = append(x.Values[system], value)
	x.Seconds[system] = append(x.Seconds[system], used)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// better is how many times better Muster is; it needs both systems' numbers.
func (x *row) better() (float64, bool) {
	m, s := median(x.Values["muster"]), median(x.Values["slurm"])
	if len(x.Values["muster"]) == 0 || len(x.Values["slurm"]) == 0 || m == 0 || s == 0 {
		return 0, false
	}
	if x.More {
		return m / s, true
	}
	return s / m, true
}

// cell shows a median with the smallest and the largest.
func (x *row) cell(system string) string {
	v := x.Values[system]
	if len(v) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s–%s) %s", number(median(v)), number(slices.Min(v)), number(slices.Max(v)), x.Unit)
}

func number(f float64) string {
	if f >= 100 || f == 0 {
		return fmt.Sprintf("%.0f", f)
	}
	return fmt.Sprintf("%.1f", f)
}

// table is the comparison as Markdown.
func (r *results) table() string {
	var b strings.Builder
	b.WriteString("| figure | Muster | Slurm | times better |\n| --- | --- | --- | --- |\n")
	for _, x := range r.Figures {
		times := ""
		if f, ok := x.better(); ok {
			times = fmt.Sprintf("%.2f", f)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", x.Title, x.cell("muster"), x.cell("slurm"), times)
	}
	for _, system := range []string{"muster", "slurm"} {
		if v := r.Idle[system]; len(v) > 0 {
			fmt.Fprintf(&b, "\nThe daemons of %s, idle: %s %% of a core.", system, number(median(v)))
		}
	}
	b.WriteString("\n")
	return b.String()
}

// write keeps all numbers.
func (r *results) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the numbers: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write the numbers: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the numbers: %w", err)
	}
	return nil
}

//go:embed ranges.json
var rangesFile []byte

// bounds are what a figure should keep to: how many times better than Slurm, at
// least, or for a figure that must be nothing, its own greatest value.
type bounds struct {
	Times *float64 `json:"times_better_at_least"`
	Most  *float64 `json:"at_most"`
}

// outside lists the figures that do not keep to their bounds.
func (r *results) outside() []string {
	var ranges map[string]bounds
	if err := json.Unmarshal(rangesFile, &ranges); err != nil {
		return []string{"ranges.json: " + err.Error()}
	}
	var out []string
	for _, x := range r.Figures {
		b := ranges[x.Name]
		if f, ok := x.better(); ok && b.Times != nil && f < *b.Times {
			out = append(out, fmt.Sprintf("%s: %.2f times Slurm's, at least %.2f is wanted", x.Name, f, *b.Times))
		}
		if v := x.Values["muster"]; b.Most != nil && len(v) > 0 && slices.Max(v) > *b.Most {
			out = append(out, fmt.Sprintf("%s: %.2f %s, at most %.2f is wanted", x.Name, slices.Max(v), x.Unit, *b.Most))
		}
	}
	return out
}
