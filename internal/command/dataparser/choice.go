package dataparser

import (
	"strings"

	"muster/internal/command"
)

// Name is the version of the data that is written; 26.05's.
const Name = "v0.0.45"

// Choice is what --json and --yaml asked for.
type Choice struct {
	Wanted bool
	Format Format
}

// Take reads the value of --json or, with yaml, of --yaml. With stop, the
// command is over and its exit code is code.
func (c *Choice) Take(p *command.Program, yaml bool, text string) (code int, stop bool) {
	option := "--json"
	if yaml {
		option = "--yaml"
	}
	if text == "list" {
		p.Print("Possible data_parser plugins:\ndata_parser/%s\n", Name)
		return 0, true
	}
	version, extra, plus := strings.Cut(strings.TrimPrefix(text, "data_parser/"), "+")
	if version != "" && version != Name || plus && extra != "" {
		p.Error("not supported yet: %s=%s (data_parser/%s is what there is)", option, text, Name)
		return command.ExitError, true
	}
	c.Wanted = true
	switch {
	case yaml && p.Getenv("SLURM_YAML") == "compact":
		c.Format = CompactJSON // which is YAML, too
	case yaml:
		c.Format = YAML
	case p.Getenv("SLURM_JSON") == "compact":
		c.Format = CompactJSON
	default:
		c.Format = JSON
	}
	return 0, false
}
