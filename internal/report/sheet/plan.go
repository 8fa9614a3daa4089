package sheet

import (
	"fmt"
	"path"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// planned lays a plan out.
type planned struct{ layout }

// Plan shows the need, the place that determines it, the text to paste, and the lines that would lower it.
func Plan(p *model.Plan, o Options) *doc.Document {
	v := planned{newLayout("What the notebook needs", o)}
	v.On(doc.Page)
	v.page(p)
	v.On(doc.Terminal)
	v.planRuns(p)
	for i := range p.Demands {
		v.demand(p, &p.Demands[i])
	}
	v.Heading("To paste")
	for _, s := range p.Settings {
		v.Prose("", doc.Dim("# "+s.For))
		v.Code(doc.Plain(s.Text))
	}
	v.doubts(p.Doubts)
	return v.Document
}

// maxPlanRuns is the most listed recordings, unless all are.
const maxPlanRuns = 12

func (v planned) planRuns(p *model.Plan) {
	for i := range p.Runs {
		r := &p.Runs[i]
		if i == maxPlanRuns && !v.o.Full {
			v.Note("… and %s; --full prints all.", words.Plural(len(p.Runs)-i, "more recording"))
			break
		}
		spans := []doc.Span{doc.Dim(fmt.Sprintf("%d  ", i+1)), doc.Plain(escape.Bounded(path.Base(r.File), 2*maxName)),
			doc.Dim(" · " + words.Plural(r.Cells, "cell") + " in " + words.Duration(r.DurationNS)),
		}
		for k, peak := range r.Peaks {
			if peak != nil && (len(p.Runs) > 1 || k == 0) {
				spans = append(spans, doc.Plain(" · "+words.Meter(p.Demands[k].Meter)+" "+words.Bytes(*peak)))
			}
		}
		v.Prose("   ", spans)
	}
}

// marked returns a demand's need with the mark of its certainty.
func marked(d *model.Demand) string {
	f := model.Figure{Peak: d.Need, Exact: d.Exact, Bound: d.Bound}
	return words.Highest.Text(&f)
}

// demand shows the need of one kind of memory.
func (v planned) demand(p *model.Plan, d *model.Demand) {
	name := "Memory"
	if words.OfGPU(d.Meter) {
		name = words.Meter(strings.TrimSuffix(d.Meter, ".driver"))
	}
	v.Heading(name)
	v.Field("needs", doc.Bold(words.AtLeast(d)+words.Bytes(d.Limit)), marked(d)+" at its highest",
		"margin "+words.Bytes(d.Limit-d.Need))
	if len(p.Runs) > 1 {
		v.Field("spread",
			fmt.Sprintf("%s to %s, %s", words.Bytes(d.Low), words.Bytes(d.Need), words.Percent(d.Need-d.Low, d.Low)),
			doc.Dim(fmt.Sprintf("recording %d decides", d.Run+1)))
	}
	for _, m := range d.Margin {
		v.Field("margin", doc.Dim(words.Bytes(m.Bytes)+" "+m.Of))
	}
	for _, part := range d.Parts {
		if part.Bytes > 0 {
			v.Field("in it", doc.Dim(words.Bytes(part.Bytes)+" at most "+part.Of))
		}
	}
	if d.Base > 0 && !words.OfGPU(d.Meter) {
		v.Field("in it",
			doc.Dim(words.Bytes(d.Base)+" when the first cell began: Python, the kernel, what started it"))
	}
	v.tried(p, d)
	v.decided(d)
	v.mattering(d)
}

// tried shows the need with a change that was tried.
func (v planned) tried(p *model.Plan, d *model.Demand) {
	for i := range p.Tried {
		if t := &p.Tried[i]; t.Meter == d.Meter {
			v.Field("tried", doc.Bold(words.Bytes(t.Limit)), "with "+escape.Bounded(t.Change, 2*maxName)+", tried",
				words.Bytes(t.Need)+" at its highest",
				doc.Dim(words.Bytes(t.Saves)+" less, and the results are the same"))
		}
	}
}

func (v planned) decided(d *model.Demand) {
	if d.At == nil {
		return
	}
	parts := []doc.Span{doc.Plain(placeText(d.At)), doc.Dim(words.Bytes(d.At.Peak))}
	if d.At.Children > 0 {
		parts = append(parts, doc.Plain(words.Bytes(d.At.Children)+" of it in its children"))
	}
	v.Field("decided by", parts)
	if d.Next != nil {
		v.Field("then", placeText(d.Next), doc.Dim(words.Bytes(d.Next.Peak)))
	}
}

// placeText returns "In[3] line 2: x = np.ones(n)".
func placeText(p *model.PlanPlace) string {
	text := words.PlaceName(p)
	if p.Source != "" {
		text += ": " + p.Source
	}
	return escape.OneLine(text, false, maxProse/2)
}

// mattering lists the lines that would lower it.
func (v planned) mattering(d *model.Demand) {
	for _, l := range d.Lines {
		size := words.Bytes(l.Resident) + " there"
		if l.Resident < l.AtPeak {
			size = fmt.Sprintf("%s there at most (of %s that it mapped)",
				words.Bytes(l.Resident), words.Bytes(l.AtPeak))
		}
		within := ""
		if l.Within != "" {
			within = "in " + escape.Bounded(l.Within, maxName*2)
		}
		v.Field("line", placeText(&l.PlanPlace), doc.Dim(within), size,
			escape.OneLine(words.Fall(&l), false, maxProse/2))
	}
	v.planTogether(d)
	for _, l := range d.Untouched {
		v.Field("mapped", placeText(&l.PlanPlace),
			doc.Dim(fmt.Sprintf(
				"%s, of which at most %s came into memory there: it does not count, "+"unless it is filled elsewhere",
				words.Bytes(l.AtPeak), words.Bytes(l.Resident))))
	}
	v.planSmaller(d)
}

// planTogether names the savings of lines that only go together.
func (v planned) planTogether(d *model.Demand) {
	t := d.Together
	if t == nil || len(t.Lines) < 2 {
		return
	}
	parts := []doc.Span{doc.Plain(escape.OneLine("without "+words.PlaceNames(t.Lines), false, maxProse)),
		doc.Bold(words.Bytes(t.Fall) + " lower"),
	}
	v.Field("together", parts, doc.Dim(escape.OneLine(words.ThenDecides(t.Then), false, maxProse/2)))
}

// planSmaller says whether it would fit in the next smaller machine.
func (v planned) planSmaller(d *model.Demand) {
	if len(d.Lines) == 0 && d.Together == nil {
		return
	}
	text, peak := "no line brings it down by much", d.Need
	if t := d.Together; t != nil {
		peak = t.Peak
		text = fmt.Sprintf("without %s %s at its highest", these(len(t.Lines)), words.Bytes(peak))
	}
	if d.Size > 0 && d.Smaller > 0 {
		text += fmt.Sprintf("; this fits %s, for %s it must come down to %s",
			words.Bytes(d.Size), words.Bytes(d.Smaller), words.Bytes(atMost(d)))
		switch {
		case d.Together == nil:
		case peak <= atMost(d):
			text += ": it would"
		default:
			text += ": that is not enough"
		}
	}
	v.Field("smaller", text)
}

func these(n int) string {
	if n == 1 {
		return "that line"
	}
	return fmt.Sprintf("these %d lines", n)
}

// atMost returns the highest peak, without its margin, that fits in the smaller size.
func atMost(d *model.Demand) int64 { return max(0, d.Smaller-(d.Limit-d.Need)) }

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
