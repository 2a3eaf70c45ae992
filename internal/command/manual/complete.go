package manual

import (
	"fmt"
	"strings"

	"muster/internal/model"
)

// source is a shell command whose lines may stand for an option's value.
func source(long string) string {
	switch long {
	case "partition", "partitions":
		return "sinfo -h -o %R"
	case "nodelist", "nodes", "exclude", "node", "w":
		return "sinfo -h -N -o %N"
	case "qos":
		return "sacctmgr -nP show qos format=name"
	case "account", "accounts":
		return "sacctmgr -nP show account format=account"
	case "clusters", "cluster":
		return "sacctmgr -nP show cluster format=cluster"
	case "user", "users", "uid":
		return "getent passwd | cut -d: -f1"
	case "jobs", "jobid", "job", "dependency":
		return jobSource
	case "states", "state":
		words := make([]string, 0, len(model.JobStates))
		for _, s := range model.JobStates {
			words = append(words, s.Long)
		}
		return "echo " + strings.Join(words, " ")
	}
	return ""
}

const jobSource = "squeue --me -h -o %A"

// argument is what a command's words may be, besides its own.
func (p *Page) argument() string {
	switch p.Name {
	case "scancel", "seff":
		return jobSource
	}
	return ""
}

func (p *Page) completed() bool { return p.Section == "1" }

// function is the name of a shell function.
func (p *Page) function() string { return "_muster_" + p.Name }

// spellings are the forms in which an option may be typed.
func (o *Option) spellings() []string {
	var out []string
	if o.Short != 0 {
		out = append(out, "-"+string(rune(o.Short)))
	}
	if o.Long != "" {
		out = append(out, "--"+o.Long)
	}
	return out
}

// Bash is a completion of bash(1) for one command.
func (p *Page) Bash() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Completion of Muster's %s for bash.\n%s() {\n", p.Name, p.function())
	b.WriteString("    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n")
	b.WriteString("    if [[ $cur == '=' ]]; then cur=; elif [[ $prev == '=' && COMP_CWORD -gt 1 ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n")
	b.WriteString("    local before=; [[ $cur == *,* ]] && before=${cur%,*},\n    case $prev in\n")
	for _, o := range p.Options {
		if from := source(o.Long); from != "" && o.Meta != "" {
			fmt.Fprintf(&b, "    %s) COMPREPLY=($(compgen -P \"$before\" -W \"$(%s 2>/dev/null)\" -- \"${cur##*,}\")); return ;;\n",
				strings.Join(o.spellings(), "|"), from)
		}
	}
	fmt.Fprintf(&b, "    *) ;;\n    esac\n    if [[ $cur == -* ]]; then\n        COMPREPLY=($(compgen -W \"%s\" -- \"$cur\"))\n", p.optionWords())
	b.WriteString("        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n        return 0\n    fi\n")
	switch from := p.argument(); {
	case len(p.Words) > 0:
		fmt.Fprintf(&b, "    COMPREPLY=($(compgen -W \"%s\" -- \"$cur\"))\n", strings.Join(p.Words, " "))
	case from != "":
		fmt.Fprintf(&b, "    COMPREPLY=($(compgen -W \"$(%s 2>/dev/null)\" -- \"$cur\"))\n", from)
	}
	fmt.Fprintf(&b, "}\ncomplete -o default -F %s %s\n", p.function(), p.Name)
	return b.String()
}

// optionWords are the options as they are completed, those that want a value
// with an equals sign.
func (p *Page) optionWords() string {
	words := make([]string, 0, len(p.Options))
	for _, o := range p.Options {
		switch {
		case o.Long == "":
			words = append(words, "-"+string(rune(o.Short)))
		case o.Meta != "" && !o.Optional:
			words = append(words, "--"+o.Long+"=")
		default:
			words = append(words, "--"+o.Long)
		}
	}
	return strings.Join(words, " ")
}

// quoted is a text in single quotes.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Zsh is a completion of zsh(1) for one command.
func (p *Page) Zsh() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n# Completion of Muster's %s for zsh.\n_arguments -s", p.Name, p.Name)
	for _, o := range p.Options {
		help := strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(o.Help)
		for _, form := range o.spellings() {
			spec := form
			value := ""
			if o.Meta != "" {
				value = ":" + strings.NewReplacer(":", `\:`).Replace(o.Meta) + ":"
				if from := source(o.Long); from != "" {
					value += fmt.Sprintf("_values -s , %s ${(f)\"$(%s 2>/dev/null)\"}", quotedWord(o.Meta), strings.ReplaceAll(from, ":", `\:`))
				}
				if strings.HasPrefix(form, "--") {
					spec += "="
				} else {
					spec += "+"
				}
			}
			b.WriteString(" \\\n    " + quoted("*"+spec+"["+help+"]"+value))
		}
	}
	switch {
	case len(p.Words) > 0:
		b.WriteString(" \\\n    " + quoted("1:command:("+strings.Join(p.Words, " ")+")"))
	case p.argument() != "":
		b.WriteString(" \\\n    " + quoted("*:job:(${(f)\"$("+p.argument()+" 2>/dev/null)\"})"))
	}
	b.WriteString(" \\\n    '*:file:_files'\n")
	return b.String()
}

func quotedWord(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, strings.ToLower(text))
}

// Fish is a completion of fish(1) for one command.
func (p *Page) Fish() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Completion of Muster's %s for fish.\n", p.Name)
	for _, o := range p.Options {
		fmt.Fprintf(&b, "complete -c %s", p.Name)
		if o.Short != 0 {
			fmt.Fprintf(&b, " -s %c", o.Short)
		}
		if o.Long != "" {
			fmt.Fprintf(&b, " -l %s", o.Long)
		}
		if o.Meta != "" && !o.Optional {
			b.WriteString(" -r")
		}
		if from := source(o.Long); from != "" && o.Meta != "" {
			fmt.Fprintf(&b, " -f -a '(%s 2>/dev/null)'", from)
		}
		fmt.Fprintf(&b, " -d %s\n", quoted(o.Help))
	}
	for _, w := range p.Words {
		fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -f -a %s\n", p.Name, w)
	}
	if from := p.argument(); from != "" {
		fmt.Fprintf(&b, "complete -c %s -f -a '(%s 2>/dev/null)'\n", p.Name, from)
	}
	return b.String()
}
