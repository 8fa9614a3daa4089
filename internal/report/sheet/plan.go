package sheet

import (
	"fmt"
	"io"
	"path"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// PlanMarkdown writes a plan for a pull request. It fails with w's error only.
func PlanMarkdown(w io.Writer, p *model.Plan) error { return asMarkdown(w, planPage(p, markdownRows)) }

// PlanHTML writes a plan as a page without scripts.
func PlanHTML(w io.Writer, p *model.Plan) error { return html(w, planPage(p, htmlRows)) }

func planPage(plan *model.Plan, rows int) *page {
	p := &page{Title: "What the notebook needs"}
	for i := range plan.Demands {
		d := &plan.Demands[i]
		f := model.Figure{Peak: d.Need, Exact: d.Exact, Bound: d.Bound}
		name := words.Meter(d.Meter)
		p.Facts = append(p.Facts, fact{
			Name: name,
			Text: words.AtLeast(d) + words.Bytes(d.Limit) + ": " +
				figure(&f, peak, true).Text + " at its highest, margin " +
				words.Bytes(d.Limit-d.Need),
		})
		p.Facts = append(p.Facts, tried(plan, d)...)
		if d.At != nil {
			p.Facts = append(p.Facts, fact{
				Name: "decided by", Text: words.PlaceName(d.At) + ", " + words.Bytes(d.At.Peak),
			})
			p.Facts = append(p.Facts, together(d)...)
		}
		if len(plan.Runs) > 1 {
			p.Facts = append(p.Facts, fact{
				Name: "spread",
				Text: fmt.Sprintf("%s to %s; recording %d decides", words.Bytes(d.Low), words.Bytes(d.Need), d.Run+1),
			})
		}
		p.Sections = append(p.Sections, linesThatMatter(name, d), parts(name, d))
	}
	for _, s := range plan.Settings {
		p.Sections = append(p.Sections, section{Title: s.For, Pre: s.Text})
	}
	p.runs(plan, rows)
	p.doubts(plan.Doubts, rows)
	return p
}

// tried names the need with a change that was tried.
func tried(plan *model.Plan, d *model.Demand) (all []fact) {
	for i := range plan.Tried {
		if t := &plan.Tried[i]; t.Meter == d.Meter {
			all = append(all, fact{"tried", fmt.Sprintf("%s with %s: %s at its highest, and the results are the same",
				words.Bytes(t.Limit), clip(t.Change), words.Bytes(t.Need)), less})
		}
	}
	return all
}

func linesThatMatter(name string, d *model.Demand) section {
	s := section{
		Title:   name + ": the lines that matter",
		Columns: columns("line", ">there at most", ">allocated", ">lower without it", "then", "source"),
	}
	row := func(l *model.PlanLine, fall, then string) {
		s.Rows = append(s.Rows, []cell{
			plain(words.PlaceName(&l.PlanPlace)), plain(words.Bytes(l.Resident)), plain(words.Bytes(l.AtPeak)),
			plain(fall), plain(then), code(l.Source),
		})
	}
	for i := range d.Lines {
		row(&d.Lines[i], words.Bytes(d.Lines[i].Fall), words.Decides(d.Lines[i].Then))
	}
	for i := range d.Untouched {
		row(&d.Untouched[i], "hardly touched", "")
	}
	return s
}

// together names the savings of lines that only go together.
func together(d *model.Demand) []fact {
	t := d.Together
	switch {
	case t == nil && len(d.Lines) == 0:
		return nil
	case t == nil:
		return []fact{{Name: "smaller", Text: "no line brings it down by much"}}
	}
	return []fact{
		{
			"smaller",
			fmt.Sprintf("without %s %s lower: %s at its highest; %s",
				words.PlaceNames(t.Lines), words.Bytes(t.Fall), words.Bytes(t.Peak), words.ThenDecides(t.Then)), less,
		},
	}
}

func parts(name string, d *model.Demand) section {
	s := section{Title: name + ": what it is", Columns: columns(">bytes", "of")}
	for _, m := range d.Margin {
		s.Rows = append(s.Rows, []cell{plain(words.Bytes(m.Bytes)), plain("margin: " + m.Of)})
	}
	for _, m := range d.Parts {
		if m.Bytes > 0 {
			s.Rows = append(s.Rows, []cell{plain(words.Bytes(m.Bytes)), plain("at most: " + m.Of)})
		}
	}
	return s
}

func (p *page) runs(plan *model.Plan, rows int) {
	s := section{
		Title: "Recordings", Columns: columns(">", "recording", ">cells", ">time"),
		More: rest(len(plan.Runs), rows, "recording"),
	}
	for _, d := range plan.Demands {
		s.Columns = append(s.Columns, column{words.Meter(d.Meter), true})
	}
	for i := range plan.Runs[:min(len(plan.Runs), rows)] {
		r := &plan.Runs[i]
		line := []cell{
			plain(fmt.Sprint(i + 1)), code(path.Base(r.File)), plain(fmt.Sprint(r.Cells)),
			plain(words.Duration(r.DurationNS)),
		}
		for _, peak := range r.Peaks {
			text := "–"
			if peak != nil {
				text = words.Bytes(*peak)
			}
			line = append(line, plain(text))
		}
		s.Rows = append(s.Rows, line)
	}
	p.Sections = append(p.Sections, s)
}
