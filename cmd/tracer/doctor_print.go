package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"ipytracer/report"
	"ipytracer/words"
)

// printDiagnosis prints the findings for people.
func printDiagnosis(to io.Writer, d diagnosis) error {
	p := &doctorPrinter{to: to}
	verdict := "tracing is possible"
	if !d.Possible {
		verdict = "tracing is not possible"
	}
	p.line("%s %s: ipytracer %s on Linux %s, %d CPUs", mark(to, d.Possible), verdict, d.Tracer, report.Escape(d.Kernel), d.CPUs)
	p.checks(d)
	p.meters(d)
	p.costs(d)
	p.running(d)
	p.installed(d)
	for i, u := range d.Unseen {
		if i == 0 {
			p.title("Not examined")
		}
		p.line("  %s", report.Escape(u))
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

// table prints rows under a header in the style of the other commands.
func (p *doctorPrinter) table(header table.Row, rows []table.Row, right ...int) {
	t := newTable(right...)
	if header != nil {
		t.AppendHeader(header)
	}
	t.AppendRows(rows)
	for line := range strings.SplitSeq(t.Render(), "\n") {
		p.line("  %s", line)
	}
}

func (p *doctorPrinter) state(state string) string {
	switch state {
	case stateOK:
		return mark(p.to, true)
	case stateMissing:
		return mark(p.to, false)
	case stateReduced:
		return paint(p.to, "~", "33")
	}
	return "?"
}

func (p *doctorPrinter) checks(d diagnosis) {
	p.title("Kernel and privileges")
	var rows []table.Row
	for _, c := range d.Checks {
		rows = append(rows, table.Row{p.state(c.State), c.Name, report.Escape(c.Detail)})
	}
	p.table(nil, rows)
}

func (p *doctorPrinter) meters(d diagnosis) {
	if len(d.Meters) == 0 {
		return
	}
	p.title("Meters")
	var rows []table.Row
	for _, m := range d.Meters {
		quality := "exact"
		switch {
		case m.Exact:
		case m.Bound < 0:
			quality = "sampled"
		default:
			quality = "±" + words.Bytes(m.Bound) + " a thread"
		}
		rows = append(rows, table.Row{p.state(map[bool]string{true: stateOK, false: stateReduced}[m.Exact]), m.ID, quality, m.Source})
	}
	p.table(nil, rows)
}

func (p *doctorPrinter) costs(d diagnosis) {
	if len(d.Costs) == 0 {
		return
	}
	p.title("Cost of a probe, measured now")
	var rows []table.Row
	for _, c := range d.Costs {
		row := table.Row{c.Name, "", fmt.Sprintf("%+.0f ns", c.Added), "", ""}
		if c.Ratio != 0 {
			row[3] = fmt.Sprintf("%+.0f … %+.0f", c.Low, c.High)
			row[1], row[4] = fmt.Sprintf("%.0f ns", c.Base), fmt.Sprintf("× %.3f", c.Ratio)
		}
		rows = append(rows, row)
	}
	p.table(table.Row{"OPERATION", "WITHOUT", "ADDED", "QUARTILES", "RATIO"}, rows, 2, 3, 4, 5)
}

func (p *doctorPrinter) running(d diagnosis) {
	p.title("Running Pythons")
	if len(d.Running) == 0 {
		p.line("  none that can be seen")
		return
	}
	var rows []table.Row
	for _, r := range d.Running {
		rows = append(rows, table.Row{
			mark(p.to, r.Supported), r.PID, report.Escape(r.User), dash(r.Python), dash(r.IPython), dash(r.Frontend), p.probes(r.Supported, r.Reason, r.Probes),
		})
	}
	p.table(table.Row{"", "PID", "USER", "PYTHON", "IPYTHON", "FRONTEND", "PROBES"}, rows)
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
	var rows []table.Row
	for _, i := range d.Pythons {
		rows = append(rows, table.Row{mark(p.to, i.Supported), dash(i.Version), report.Escape(i.Path), p.probes(i.Supported, i.Reason, i.Probes)})
	}
	p.table(table.Row{"", "PYTHON", "PATH", "PROBES"}, rows)
}

// probes says where the probes go: what is emulated, then what is dear, then what has no place.
func (p *doctorPrinter) probes(supported bool, reason string, groups []probeSites) string {
	if !supported {
		return report.Escape(reason)
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
			p.line("  • %s", report.Escape(a.Problem))
		} else {
			p.line("  • %s: type '%s'", report.Escape(a.Problem), a.Command)
		}
	}
}
