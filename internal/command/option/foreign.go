package option

import (
	"strings"

	"muster/internal/batchscript"
	"muster/internal/command/getopt"
)

// What #PBS and #BSUB lines say, in our options. Letters without a name are
// known there and change nothing here.

var pbsLetters = []getopt.Option{
	{Short: 'a', Arg: getopt.Required, Long: "begin"}, {Short: 'A', Arg: getopt.Required, Long: "account"},
	{Short: 'c', Arg: getopt.Required}, {Short: 'C', Arg: getopt.Required},
	{Short: 'e', Arg: getopt.Required, Long: "error"}, {Short: 'h', Long: "hold"}, {Short: 'I'},
	{Short: 'j', Arg: getopt.Required}, {Short: 'J', Arg: getopt.Required, Long: "array"},
	{Short: 'k', Arg: getopt.Required}, {Short: 'l', Arg: getopt.Required, Long: "(resources)"},
	{Short: 'm', Arg: getopt.Required, Long: "(mail)"}, {Short: 'M', Arg: getopt.Required, Long: "mail-user"},
	{Short: 'N', Arg: getopt.Required, Long: "job-name"}, {Short: 'o', Arg: getopt.Required, Long: "output"},
	{Short: 'p', Arg: getopt.Required, Long: "nice"}, {Short: 'q', Arg: getopt.Required, Long: "partition"},
	{Short: 'r', Arg: getopt.Required, Long: "(rerun)"}, {Short: 'S', Arg: getopt.Required},
	{Short: 't', Arg: getopt.Required, Long: "array"}, {Short: 'u', Arg: getopt.Required},
	{Short: 'v', Arg: getopt.Required, Long: "export"}, {Short: 'V'},
	{Short: 'W', Arg: getopt.Required, Long: "(attributes)"}, {Short: 'z'},
}

var bsubLetters = []getopt.Option{
	{Short: 'c', Arg: getopt.Required},
	{Short: 'e', Arg: getopt.Required, Long: "error"}, {Short: 'J', Arg: getopt.Required, Long: "job-name"},
	{Short: 'm', Arg: getopt.Required, Long: "nodelist"}, {Short: 'M', Arg: getopt.Required, Long: "mem"},
	{Short: 'n', Arg: getopt.Required, Long: "ntasks"}, {Short: 'o', Arg: getopt.Required, Long: "output"},
	{Short: 'q', Arg: getopt.Required, Long: "partition"}, {Short: 'W', Arg: getopt.Required, Long: "time"},
	{Short: 'x', Long: "exclusive"},
}

// foreign applies one line of another system.
func (o *Options) foreign(kind string, line []string) error {
	letters := pbsLetters
	if kind == batchscript.BSUB {
		letters = bsubLetters
	}
	// Their long names are our own notes and not options.
	table := make([]getopt.Option, len(letters))
	for i, l := range letters {
		table[i] = getopt.Option{Short: l.Short, Arg: l.Arg, Key: i}
	}
	found, _, err := getopt.Parse(table, line, getopt.Permute)
	if err != nil {
		return &Refusal{Messages: []Message{{Info, err.Error()}, {Error, "Unrecognized command line parameter ?"}}, Code: codeError}
	}
	for _, m := range found {
		if err := o.foreignOption(letters[m.Option.Key].Long, m.Value); err != nil {
			return err
		}
	}
	return nil
}

func (o *Options) foreignOption(name, value string) error {
	switch name {
	case "":
		return nil
	case "(resources)":
		return o.pbsResources(value)
	case "(mail)":
		return o.pbsMail(value)
	case "(rerun)":
		name = "requeue"
		if strings.HasPrefix(strings.ToLower(value), "n") {
			name = "no-requeue"
		}
	case "(attributes)":
		return o.pbsAttributes(value)
	}
	return o.byName(name, value)
}

// byName sets an option of ours.
func (o *Options) byName(name, value string) error {
	table := Table()
	for i := range table {
		if table[i].Long == name && table[i].In&o.Program != 0 {
			return o.set(&table[i], value)
		}
	}
	return NotSupported("--" + name)
}

func (o *Options) pbsMail(letters string) error {
	for _, c := range letters {
		kind, known := map[rune]string{'a': "FAIL", 'b': "BEGIN", 'e': "END", 'n': "NONE"}[c]
		if !known {
			continue
		}
		if err := o.byName("mail-type", kind); err != nil {
			return err
		}
	}
	return nil
}

func (o *Options) pbsAttributes(list string) error {
	for word := range strings.SplitSeq(list, ",") {
		key, value, _ := strings.Cut(word, "=")
		switch strings.ToLower(key) {
		case "depend":
			if err := o.byName("dependency", value); err != nil {
				return err
			}
		case "umask":
			o.Umask = value
		default:
			o.say(Info, "Ignored PBS attributes: %s", word)
		}
	}
	return nil
}

// pbsResources reads the list of -l.
func (o *Options) pbsResources(list string) error {
	for word := range strings.SplitSeq(list, ",") {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch strings.ToLower(key) {
		case "walltime", "cput", "pcput":
			err = o.byName("time", value)
		case "nodes":
			err = o.pbsNodes(value)
		case "select":
			err = o.pbsSelect(value)
		case "ncpus":
			err = o.byName("mincpus", value)
		case "mem":
			err = o.byName("mem", value)
		case "file":
			err = o.byName("tmp", value)
		case "nice":
			err = o.byName("nice", value)
		case "mppnodes":
			err = o.byName("nodelist", value)
		case "naccelerators", "accelerator":
			err = o.pbsAccelerators(value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *Options) pbsAccelerators(value string) error {
	if _, err := number(value, "-l naccelerators", 1); err != nil {
		if !strings.EqualFold(value, "true") {
			return nil
		}
		value = "1"
	}
	return o.byName("gres", "gpu:"+value)
}

// pbsNodes reads `2:ppn=3:gpus=1` and `node1+node2`.
func (o *Options) pbsNodes(value string) error {
	var names []string
	for part := range strings.SplitSeq(value, "+") {
		words := strings.Split(part, ":")
		nodes, err := number(words[0], "-l nodes", 1)
		if err == nil {
			if err := o.byName("nodes", words[0]); err != nil {
				return err
			}
		} else {
			nodes = 1
			names = append(names, words[0])
		}
		for _, word := range words[1:] {
			key, amount, valued := strings.Cut(word, "=")
			switch {
			case key == "ppn" && valued:
				n, err := number(amount, "-l ppn", 1)
				if err != nil {
					return err
				}
				o.Spec.NumTasks = nodes * n
				o.from["ntasks"] = o.source
			case key == "gpus" && valued:
				if err := o.byName("gpus-per-node", amount); err != nil {
					return err
				}
			case !valued && key != "":
				names = append(names, key)
			}
		}
	}
	if len(names) > 0 {
		return o.byName("nodelist", strings.Join(names, ","))
	}
	return nil
}

// pbsSelect reads `2:ncpus=4:mem=1gb`.
func (o *Options) pbsSelect(value string) error {
	for i, word := range strings.Split(value, ":") {
		key, amount, valued := strings.Cut(word, "=")
		var err error
		switch {
		case i == 0 && !valued:
			err = o.byName("nodes", key)
		case key == "ncpus":
			err = o.byName("mincpus", amount)
		case key == "mem":
			err = o.byName("mem", amount)
		case key == "mpiprocs":
			err = o.byName("ntasks-per-node", amount)
		case key == "ngpus":
			err = o.byName("gpus-per-node", amount)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
