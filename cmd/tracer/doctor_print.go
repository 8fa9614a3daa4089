package main

import (
	"fmt"
	"io"
	"strings"

	"ipytracer/report/escape"
	"ipytracer/report/text"
	"ipytracer/words"
)

// printDiagnosis prints the findings for people.
func printDiagnosis(to io.Writer, d diagnosis) error {
	p := &doctorPrinter{to: to}
	verdict := "tracing is possible"
	if !d.Possible {
		verdict = "tracing is not possible"
	}
	p.line("%s %s: ipytracer %s on Linux %s, %d CPUs", mark(to, d.Possible), verdict, d.Tracer, escape.Text(d.Kernel), d.CPUs)
	p.checks(d)
	p.meters(d)
	p.costs(d)
	p.running(d)
	p.installed(d)
	for i, u := range d.Unseen {
		if i == 0 {
			p.title("Not examined")
		}
		p.line("  %s", escape.Text(u))
	}
	p.actions(d)
	return p.err
}

// doctorPrinter keeps the first error.
type doctorPrinter struct {
	to  io.Writer
	err error
}

func (p *doctorPrinter) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.to, format+"\n", args...)
	}
}

func (p *doctorPrinter) title(text string) { p.line("\n%s", paint(p.to, text, "1")) }

// table prints one, a little to the right.
func (p *doctorPrinter) table(t *text.Table) {
	for line := range strings.SplitSeq(t.String(), "\n") {
		p.line("  %s", line)
	}
}

func (p *doctorPrinter) newTable(right ...int) *text.Table {
	return text.NewTable(colored(p.to), right...)
}

func stateMark(state string) text.Mark {
	switch state {
	case stateOK:
		return text.Good
	case stateMissing:
		return text.Bad
	case stateReduced:
		return text.Reduced
	}
	return text.Unknown
}

func (p *doctorPrinter) checks(d diagnosis) {
	p.title("Kernel and privileges")
	t := p.newTable()
	for _, c := range d.Checks {
		t.Row(stateMark(c.State), c.Name, c.Detail)
	}
	p.table(t)
}

func (p *doctorPrinter) meters(d diagnosis) {
	if len(d.Meters) == 0 {
		return
	}
	p.title("Meters")
	t := p.newTable()
	for _, m := range d.Meters {
		quality := "exact"
		switch {
		case m.Exact:
		case m.Bound < 0:
			quality = "sampled"
		default:
			quality = "±" + words.Bytes(m.Bound) + " a thread"
		}
		t.Row(map[bool]text.Mark{true: text.Good, false: text.Reduced}[m.Exact], m.ID, quality, m.Source)
	}
	p.table(t)
}

func (p *doctorPrinter) costs(d diagnosis) {
	if len(d.Costs) == 0 {
		return
	}
	p.title("Cost of a probe, measured now")
	t := p.newTable(2, 3, 4, 5)
	t.Header("OPERATION", "WITHOUT", "ADDED", "QUARTILES", "RATIO")
	for _, c := range d.Costs {
		var without, quartiles, ratio string
		if c.Ratio != 0 {
			quartiles = fmt.Sprintf("%+.0f … %+.0f", c.Low, c.High)
			without, ratio = fmt.Sprintf("%.0f ns", c.Base), fmt.Sprintf("× %.3f", c.Ratio)
		}
		t.Row(c.Name, without, fmt.Sprintf("%+.0f ns", c.Added), quartiles, ratio)
	}
	p.table(t)
}

func (p *doctorPrinter) running(d diagnosis) {
	p.title("Running Pythons")
	if len(d.Running) == 0 {
		p.line("  none that can be seen")
		return
	}
	t := p.newTable(2)
	t.Header("", "PID", "USER", "PYTHON", "IPYTHON", "FRONTEND", "PROBES")
	for _, r := range d.Running {
		t.Row(text.MarkOf(r.Supported), r.PID, r.User, text.Dash(r.Python), text.Dash(r.IPython), text.Dash(r.Frontend), p.probes(r.Supported, r.Reason, r.Probes))
	}
	p.table(t)
}

func (p *doctorPrinter) installed(d diagnosis) {
	if d.one {
		return
	}
	p.title("Installed Pythons")
	if len(d.Pythons) == 0 {
		p.line("  none in the usual places")
		return
	}
	t := p.newTable()
	t.Header("", "PYTHON", "PATH", "PROBES")
	for _, i := range d.Pythons {
		t.Row(text.MarkOf(i.Supported), text.Dash(i.Version), i.Path, p.probes(i.Supported, i.Reason, i.Probes))
	}
	p.table(t)
}

// probes says where the probes go: what is emulated, then what is dear, then what has no place.
func (p *doctorPrinter) probes(supported bool, reason string, groups []probeSites) string {
	if !supported {
		return escape.Text(reason)
	}
	var parts []string
	for _, g := range groups {
		switch {
		case !g.Found:
			parts = append(parts, paint(p.to, g.Group+": none", "33"))
		case g.Emulated:
			parts = append(parts, fmt.Sprintf("%s: %s", g.Group, sites(g.Sites)))
		default:
			parts = append(parts, fmt.Sprintf("%s: %s (single-stepped)", g.Group, sites(g.Sites)))
		}
	}
	return strings.Join(parts, "\n")
}

// sites lists a few and counts the rest.
func sites(all []string) string {
	const shown = 2
	if len(all) <= shown {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:shown], ", "), len(all)-shown)
}

func (p *doctorPrinter) actions(d diagnosis) {
	p.title("What to do")
	if len(d.Actions) == 0 {
		p.line("  nothing to do")
		return
	}
	for _, a := range d.Actions {
		if a.Command == "" {
			p.line("  • %s", escape.Text(a.Problem))
		} else {
			p.line("  • %s: type '%s'", escape.Text(a.Problem), a.Command)
		}
	}
}

// mark is ✓ or ✗, in colour on a terminal.
func mark(w io.Writer, good bool) string {
	return text.MarkOf(good).Text(colored(w))
}

// paint puts text in a colour if the writer shows colours.
func paint(w io.Writer, text, color string) string {
	if !colored(w) {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}
