package sheet

import (
	"fmt"
	"path"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// page is what pages say.
func (v planned) page(p *model.Plan) {
	for i := range p.Demands {
		d := &p.Demands[i]
		f := model.Figure{Peak: d.Need, Exact: d.Exact, Bound: d.Bound}
		name := words.Meter(d.Meter)
		v.Field(name, words.AtLeast(d)+words.Bytes(d.Limit)+": "+words.Highest.Text(&f)+" at its highest, margin "+
			words.Bytes(d.Limit-d.Need))
		for i := range p.Tried {
			if t := &p.Tried[i]; t.Meter == d.Meter {
				v.Field("tried", doc.In(doc.Less, words.Bytes(t.Limit)+" with "+clip(t.Change)+": "+words.Bytes(t.Need)+
					" at its highest, and the results are the same"))
			}
		}
		if d.At != nil {
			v.Field("decided by", words.PlaceName(d.At)+", "+words.Bytes(d.At.Peak))
			v.smaller(d)
		}
		if len(p.Runs) > 1 {
			v.Field("spread",
				fmt.Sprintf("%s to %s; recording %d decides", words.Bytes(d.Low), words.Bytes(d.Need), d.Run+1))
		}
		v.linesThatMatter(name, d)
		v.parts(name, d)
	}
	for _, s := range p.Settings {
		v.Heading(s.For)
		v.Code(doc.Plain(s.Text))
	}
	v.recordings(p)
}

func (v planned) linesThatMatter(name string, d *model.Demand) {
	v.Heading(name + ": the lines that matter")
	t := doc.NewTable(doc.Left("line"), doc.Right("there at most"), doc.Right(
		"allocated"), doc.Right("lower without it"),
		doc.Left("then"), doc.Left("source"))
	row := func(l *model.PlanLine, fall, then string) {
		t.Row(words.PlaceName(&l.PlanPlace), words.Bytes(l.Resident), words.Bytes(l.AtPeak), fall, then, code(l.Source))
	}
	for i := range d.Lines {
		row(&d.Lines[i], words.Bytes(d.Lines[i].Fall), words.Decides(d.Lines[i].Then))
	}
	for i := range d.Untouched {
		row(&d.Untouched[i], "hardly touched", "")
	}
	v.Table(t)
}

// smaller names the savings of lines that only go together.
func (v planned) smaller(d *model.Demand) {
	t := d.Together
	switch {
	case t == nil && len(d.Lines) == 0:
	case t == nil:
		v.Field("smaller", "no line brings it down by much")
	default:
		v.Field("smaller", doc.In(doc.Less, fmt.Sprintf("without %s %s lower: %s at its highest; %s",
			words.PlaceNames(t.Lines), words.Bytes(t.Fall), words.Bytes(t.Peak), words.ThenDecides(t.Then))))
	}
}

func (v planned) parts(name string, d *model.Demand) {
	v.Heading(name + ": what it is")
	t := doc.NewTable(doc.Right("bytes"), doc.Left("of"))
	for _, m := range d.Margin {
		t.Row(words.Bytes(m.Bytes), "margin: "+m.Of)
	}
	for _, m := range d.Parts {
		if m.Bytes > 0 {
			t.Row(words.Bytes(m.Bytes), "at most: "+m.Of)
		}
	}
	v.Table(t)
}

func (v planned) recordings(p *model.Plan) {
	v.Heading("Recordings")
	t := doc.NewTable(doc.Right(""), doc.Left("recording"), doc.Right("cells"), doc.Right("time"))
	t.Item = "recording"
	for _, d := range p.Demands {
		t.Columns = append(t.Columns, doc.Right(words.Meter(d.Meter)))
	}
	for i := range p.Runs {
		r := &p.Runs[i]
		cells := doc.Spans(i+1, code(path.Base(r.File)), r.Cells, words.Duration(r.DurationNS))
		for _, peak := range r.Peaks {
			text := "–"
			if peak != nil {
				text = words.Bytes(*peak)
			}
			cells = append(cells, doc.Plain(text))
		}
		t.Row(cells)
	}
	v.Table(t)
}
