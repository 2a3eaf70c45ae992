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
	if strings.EqualFold(text, "list") {
		p.Print("Possible data_parser plugins:\ndata_parser/%s\n", Name)
		return 0, true
	}
	if code, bad := refuse(p, option, text); bad {
		return code, true
	}
	c.Wanted = true
	switch terse := isTerse(p.Getenv("SLURM_" + strings.ToUpper(option[2:]))); {
	case yaml && terse:
		c.Format = CompactYAML
	case yaml:
		c.Format = YAML
	case terse:
		c.Format = CompactJSON
	default:
		c.Format = JSON
	}
	return 0, false
}

// refuse names a version that is not there, and what is asked of the one that is
// and cannot be done.
func refuse(p *command.Program, option, text string) (code int, bad bool) {
	version, extra, _ := strings.Cut(strings.TrimPrefix(text, "data_parser/"), "+")
	if version != "" && version != Name && version != "latest" {
		p.Error("not supported: %s=%s (data_parser/%s is what there is)", option, text, Name)
		return command.ExitError, true
	}
	for flag := range strings.SplitSeq(extra, "+") {
		switch strings.ToLower(flag) {
		case "", "none", "fast", "minimize_refs": // of what is read, and of specifications
		case "spec_only":
			p.Error("not supported yet: %s=%s", option, text)
			return command.ExitError, true
		default:
			p.Error("data_parser/%s has no flag %s", Name, flag)
			return command.ExitError, true
		}
	}
	return 0, false
}

// isTerse tells whether SLURM_JSON or SLURM_YAML asks for few bytes; the last
// word counts.
func isTerse(words string) bool {
	terse := false
	for word := range strings.SplitSeq(strings.ToLower(words), ",") {
		switch strings.TrimSpace(word) {
		case "compact":
			terse = true
		case "pretty":
			terse = false
		}
	}
	return terse
}
