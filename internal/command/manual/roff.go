package manual

import (
	"fmt"
	"strings"

	"muster/internal/command"
)

// escape makes text safe for troff.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

// Roff is the source of the manual page.
func (p *Page) Roff() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`.TH %s %s "" "muster, slurm %s" "Muster"`, strings.ToUpper(p.Name), p.Section, command.Version)
	line(".SH NAME\n%s \\- %s", p.Name, escape(p.Brief))
	line(".SH SYNOPSIS")
	for i, s := range p.Synopsis {
		if i > 0 {
			line(".br")
		}
		line(".B %s\n%s", p.Name, escape(s))
	}
	if len(p.Text) > 0 {
		line(".SH DESCRIPTION\n%s", escape(strings.Join(p.Text, "\n.PP\n")))
	}
	if len(p.Words) > 0 {
		line(".SH COMMANDS\n%s", escape(strings.Join(p.Words, ", ")))
	}
	if len(p.Options) > 0 {
		line(".SH OPTIONS")
		for _, o := range p.Options {
			line(".TP\n%s\n%s", o.roff(), escape(o.Help))
		}
	}
	p.tail(line)
	return b.String()
}

func (p *Page) tail(line func(string, ...any)) {
	if p.Exit != "" {
		line(".SH EXIT STATUS\n%s", escape(p.Exit))
	}
	for _, part := range [...]struct {
		title string
		list  [][2]string
	}{{"ENVIRONMENT", p.Environment}, {"FILES", p.Files}} {
		if len(part.list) > 0 {
			line(".SH %s", part.title)
		}
		for _, e := range part.list {
			line(".TP\n.B %s\n%s", escape(e[0]), escape(e[1]))
		}
	}
	if len(p.See) > 0 {
		words := make([]string, len(p.See))
		for i, name := range p.See {
			words[i] = fmt.Sprintf("\\fB%s\\fR(%s)", name, section(name))
		}
		line(".SH SEE ALSO\n%s", strings.Join(words, ", "))
	}
}

func section(name string) string {
	switch name {
	case "ctld", "noded", "sackd", "stepd":
		return "8"
	}
	return "1"
}

func (o *Option) roff() string {
	var forms []string
	meta := ""
	if o.Meta != "" {
		meta = `\fI` + escape(o.Meta) + `\fR`
	}
	if o.Short != 0 {
		form := `\fB\-` + string(rune(o.Short)) + `\fR`
		if meta != "" && !o.Optional {
			form += " " + meta
		}
		forms = append(forms, form)
	}
	if o.Long != "" {
		form := `\fB\-\-` + escape(o.Long) + `\fR`
		switch {
		case meta != "" && o.Optional:
			form += "[=" + meta + "]"
		case meta != "":
			form += "=" + meta
		}
		forms = append(forms, form)
	}
	return strings.Join(forms, ", ")
}
