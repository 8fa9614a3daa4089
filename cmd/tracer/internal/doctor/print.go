package doctor

import (
	"fmt"
	"io"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
)

// Print prints the findings for people, with colours or without.
func Print(to io.Writer, d Diagnosis, color bool) error {
	p := &printer{to: to, color: color}
	verdict := "tracing is possible"
	if !d.Possible {
		verdict = "tracing is not possible"
	}
	p.line("%s %s: ipytracer %s on Linux %s, %d CPUs",
		doc.MarkOf(d.Possible).Text(color), verdict, d.Tracer, escape.Text(d.Kernel), d.CPUs)
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

// printer keeps the first error.
type printer struct {
	to    io.Writer
	color bool
	err   error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.to, format+"\n", args...)
	}
}

func (p *printer) title(text string) { p.line("\n%s", p.paint(text, "1")) }

// paint puts text in a colour if colours are wanted.
func (p *printer) paint(text, color string) string {
	if !p.color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// table prints one, a little to the right.
func (p *printer) table(t *doc.Listing) {
	for line := range strings.SplitSeq(t.String(), "\n") {
		p.line("  %s", line)
	}
}

func (p *printer) newTable(right ...int) *doc.Listing {
	return doc.NewListing(p.color, right...)
}

func stateMark(state string) doc.Mark {
	switch state {
	case OK:
		return doc.Good
	case Missing:
		return doc.Bad
	case Reduced:
		return doc.Reduced
	}
	return doc.Unknown
}

func (p *printer) checks(d Diagnosis) {
	p.title("Kernel and privileges")
	t := p.newTable()
	for _, c := range d.Checks {
		t.Row(stateMark(c.State), c.Name, c.Detail)
	}
	p.table(t)
}

func (p *printer) meters(d Diagnosis) {
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
		t.Row(map[bool]doc.Mark{true: doc.Good, false: doc.Reduced}[m.Exact], m.ID, quality, m.Source)
	}
	p.table(t)
}

func (p *printer) costs(d Diagnosis) {
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

func (p *printer) running(d Diagnosis) {
	p.title("Running Pythons")
	if len(d.Running) == 0 {
		p.line("  none that can be seen")
		return
	}
	t := p.newTable(2)
	t.Header("", "PID", "USER", "PYTHON", "IPYTHON", "FRONTEND", "PROBES")
	for _, r := range d.Running {
		t.Row(doc.MarkOf(r.Supported), r.PID, r.User, doc.Dash(r.Python), doc.Dash(r.IPython), doc.Dash(r.Frontend),
			p.probes(r.Supported, r.Reason, r.Probes))
	}
	p.table(t)
}

func (p *printer) installed(d Diagnosis) {
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
		t.Row(doc.MarkOf(i.Supported), doc.Dash(i.Version), i.Path, p.probes(i.Supported, i.Reason, i.Probes))
	}
	p.table(t)
}

// probes counts the groups of probes with places, those at expensive places, and those without. --format json has each
// place.
func (p *printer) probes(supported bool, reason string, groups []ProbeSites) string {
	if !supported {
		return escape.Text(reason)
	}
	var none, dear []string
	for _, g := range groups {
		switch {
		case !g.Found:
			none = append(none, g.Group)
		case !g.Emulated:
			dear = append(dear, g.Group)
		}
	}
	text := fmt.Sprintf("%d of %d have their places", len(groups)-len(none), len(groups))
	if len(none) == 0 {
		text = fmt.Sprintf("all %d have their places", len(groups))
	}
	if len(dear) > 0 {
		text += "; single-stepped: " + strings.Join(dear, ", ")
	}
	if len(none) > 0 {
		text += "; none for " + strings.Join(none, ", ")
	}
	return text
}

func (p *printer) actions(d Diagnosis) {
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
