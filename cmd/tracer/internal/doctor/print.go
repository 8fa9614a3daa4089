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
	p := &printer{color: color}
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
	if !d.onlyOne {
		p.installed(d)
	}
	if len(d.Unseen) > 0 {
		p.title("Not examined")
	}
	for _, u := range d.Unseen {
		p.line("  %s", escape.Text(u))
	}
	p.actions(d)
	_, err := io.WriteString(to, p.text.String())
	return err
}

type printer struct {
	text  strings.Builder
	color bool
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }

// title prints a title, bold if colours are wanted.
func (p *printer) title(text string) {
	if p.color {
		text = "\x1b[1m" + text + "\x1b[0m"
	}
	p.line("\n%s", text)
}

// table prints a title and an indented table.
func (p *printer) table(title string, t *doc.Listing) {
	p.title(title)
	for line := range strings.SplitSeq(t.String(), "\n") {
		p.line("  %s", line)
	}
}

var stateMarks = map[string]doc.Mark{OK: doc.Good, Missing: doc.Bad, Reduced: doc.Reduced, Unknown: doc.Unknown}

func (p *printer) checks(d Diagnosis) {
	t := doc.NewListing(p.color)
	for _, c := range d.Checks {
		t.Row(stateMarks[c.State], c.Name, c.Detail)
	}
	p.table("Kernel and privileges", t)
}

func (p *printer) meters(d Diagnosis) {
	if len(d.Meters) == 0 {
		return
	}
	t := doc.NewListing(p.color)
	for _, m := range d.Meters {
		switch {
		case m.Exact:
			t.Row(doc.Good, m.ID, "exact", m.Source)
		case m.Bound < 0:
			t.Row(doc.Reduced, m.ID, "sampled", m.Source)
		default:
			t.Row(doc.Reduced, m.ID, "±"+words.Bytes(m.Bound)+" a thread", m.Source)
		}
	}
	p.table("Meters", t)
}

func (p *printer) costs(d Diagnosis) {
	if len(d.Costs) == 0 {
		return
	}
	t := doc.NewListing(p.color, 2, 3, 4, 5)
	t.Header("OPERATION", "WITHOUT", "ADDED", "QUARTILES", "RATIO")
	for _, c := range d.Costs {
		var without, quartiles, ratio string
		if c.Ratio != 0 {
			quartiles = fmt.Sprintf("%+.0f … %+.0f", c.Low, c.High)
			without, ratio = fmt.Sprintf("%.0f ns", c.Base), fmt.Sprintf("× %.3f", c.Ratio)
		}
		t.Row(c.Name, without, fmt.Sprintf("%+.0f ns", c.Added), quartiles, ratio)
	}
	p.table("Cost of a probe, measured now", t)
}

func (p *printer) running(d Diagnosis) {
	const title = "Running Pythons"
	if len(d.Running) == 0 {
		p.title(title)
		p.line("  none that can be seen")
		return
	}
	t := doc.NewListing(p.color, 2)
	t.Header("", "PID", "USER", "PYTHON", "IPYTHON", "FRONTEND", "PROBES")
	for _, r := range d.Running {
		t.Row(doc.MarkOf(r.Supported), r.PID, r.User, doc.Dash(r.Python), doc.Dash(r.IPython), doc.Dash(r.Frontend),
			shownProbes(r.Supported, r.Reason, r.Probes))
	}
	p.table(title, t)
}

func (p *printer) installed(d Diagnosis) {
	const title = "Installed Pythons"
	if len(d.Pythons) == 0 {
		p.title(title)
		p.line("  none in the usual places")
		return
	}
	t := doc.NewListing(p.color)
	t.Header("", "PYTHON", "PATH", "PROBES")
	for _, i := range d.Pythons {
		t.Row(doc.MarkOf(i.Supported), doc.Dash(i.Version), i.Path, shownProbes(i.Supported, i.Reason, i.Probes))
	}
	p.table(title, t)
}

// shownProbes says how many groups of probes have places, and which have expensive places or none.
func shownProbes(supported bool, reason string, groups []ProbeSites) string {
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
