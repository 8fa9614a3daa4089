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

// planned is the layout of a plan.
type planned struct{ layout }

// Plan shows the need, the place that determines it, the text to paste, and the lines that would lower it.
func Plan(plan *model.Plan, options Options) *doc.Document {
	v := planned{newLayout("What the notebook needs", options)}
	v.On(doc.Page)
	v.page(plan)
	v.On(doc.Terminal)
	v.planRuns(plan)
	for i := range plan.Demands {
		v.demand(plan, &plan.Demands[i])
	}
	v.Heading("To paste")
	for _, s := range plan.Settings {
		v.Prose("", doc.Dim("# "+s.For))
		v.Code(doc.Plain(s.Text))
	}
	v.doubts(plan.Doubts)
	return v.Document
}

// maxPlanRuns is the most recordings that a terminal lists without Full.
const maxPlanRuns = 12

// planRuns lists the recordings, each with the peaks of its demands.
func (v planned) planRuns(plan *model.Plan) {
	for i := range plan.Runs {
		run := &plan.Runs[i]
		if i == maxPlanRuns && !v.o.Full {
			v.Note("… and %s; --full prints all.", words.Plural(len(plan.Runs)-i, "more recording"))
			break
		}
		spans := []doc.Span{
			doc.Dim(fmt.Sprintf("%d  ", i+1)),
			doc.Plain(escape.Bounded(path.Base(run.File), 2*maxName)),
			doc.Dim(" · " + words.Plural(run.Cells, "cell") + " in " + words.Duration(run.DurationNS)),
		}
		for k, peak := range run.Peaks {
			if peak != nil && (len(plan.Runs) > 1 || k == 0) {
				spans = append(spans, doc.Plain(" · "+words.Meter(plan.Demands[k].Meter)+" "+words.Bytes(*peak)))
			}
		}
		v.Prose("   ", spans)
	}
}

// marked returns a demand's highest moment with the mark of its certainty.
func marked(d *model.Demand) string {
	f := model.Figure{Peak: d.Need, Exact: d.Exact, Bound: d.Bound}
	return words.Highest.Text(&f)
}

// demand shows the need of one kind of memory.
func (v planned) demand(plan *model.Plan, d *model.Demand) {
	name := "Memory"
	if words.OfGPU(d.Meter) {
		name = words.Meter(strings.TrimSuffix(d.Meter, ".driver"))
	}
	v.Heading(name)
	v.Field("needs", doc.Bold(words.AtLeast(d)+words.Bytes(d.Limit)), marked(d)+" at its highest",
		"margin "+words.Bytes(d.Limit-d.Need))
	if len(plan.Runs) > 1 {
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
	v.tried(plan, d)
	v.decided(d)
	v.mattering(d)
}

// tried shows the demand that remains with each change that was tried.
func (v planned) tried(plan *model.Plan, demand *model.Demand) {
	for i := range plan.Tried {
		if t := &plan.Tried[i]; t.Meter == demand.Meter {
			v.Field("tried", doc.Bold(words.Bytes(t.Limit)), "with "+escape.Bounded(t.Change, 2*maxName)+", tried",
				words.Bytes(t.Need)+" at its highest",
				doc.Dim(words.Bytes(t.Saves)+" less, and the results are the same"))
		}
	}
}

// decided shows where memory was highest, and the next highest place.
func (v planned) decided(demand *model.Demand) {
	if demand.At == nil {
		return
	}
	parts := []doc.Span{doc.Plain(placeText(demand.At)), doc.Dim(words.Bytes(demand.At.Peak))}
	if demand.At.Children > 0 {
		parts = append(parts, doc.Plain(words.Bytes(demand.At.Children)+" of it in its children"))
	}
	v.Field("decided by", parts)
	if demand.Next != nil {
		v.Field("then", placeText(demand.Next), doc.Dim(words.Bytes(demand.Next.Peak)))
	}
}

// placeText returns "In[3] line 2: x = np.ones(n)".
func placeText(place *model.PlanPlace) string {
	text := words.PlaceName(place)
	if place.Source != "" {
		text += ": " + place.Source
	}
	return escape.OneLine(text, false, maxProse/2)
}

// mattering lists the lines without which the demand would be lower, and lines that mapped memory without touching it.
func (v planned) mattering(demand *model.Demand) {
	for _, l := range demand.Lines {
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
	v.planTogether(demand)
	for _, l := range demand.Untouched {
		v.Field("mapped", placeText(&l.PlanPlace),
			doc.Dim(fmt.Sprintf(
				"%s, of which at most %s came into memory there: it does not count, unless it is filled elsewhere",
				words.Bytes(l.AtPeak), words.Bytes(l.Resident))))
	}
	v.planSmaller(demand)
}

// planTogether names the lines that lower the peak only together, and by how much.
func (v planned) planTogether(demand *model.Demand) {
	set := demand.Together
	if set == nil || len(set.Lines) < 2 {
		return
	}
	parts := []doc.Span{doc.Plain(escape.OneLine("without "+words.PlaceNames(set.Lines), false, maxProse)),
		doc.Bold(words.Bytes(set.Fall) + " lower"),
	}
	v.Field("together", parts, doc.Dim(escape.OneLine(words.ThenDecides(set.Then), false, maxProse/2)))
}

// planSmaller says how high the notebook is without the lines that matter, and whether it would then fit in the next
// smaller machine.
func (v planned) planSmaller(demand *model.Demand) {
	together := demand.Together
	if len(demand.Lines) == 0 && together == nil {
		return
	}
	text := "no line brings it down by much"
	if together != nil {
		text = fmt.Sprintf("without %s %s at its highest", these(len(together.Lines)), words.Bytes(together.Peak))
	}
	if demand.Size > 0 && demand.Smaller > 0 {
		text += fmt.Sprintf("; this fits %s, for %s it must come down to %s",
			words.Bytes(demand.Size), words.Bytes(demand.Smaller), words.Bytes(atMost(demand)))
		switch {
		case together == nil:
		case together.Peak <= atMost(demand):
			text += ": it would"
		default:
			text += ": that is not enough"
		}
	}
	v.Field("smaller", text)
}

// these returns "that line", or "these 3 lines".
func these(count int) string {
	if count == 1 {
		return "that line"
	}
	return fmt.Sprintf("these %d lines", count)
}

// atMost returns the highest peak with which a demand, margin included, fits in the next smaller size.
func atMost(d *model.Demand) int64 { return max(0, d.Smaller-(d.Limit-d.Need)) }

// page lays the plan out for pages.
func (v planned) page(plan *model.Plan) {
	for i := range plan.Demands {
		demand := &plan.Demands[i]
		name := words.Meter(demand.Meter)
		v.Field(name,
			words.AtLeast(demand)+words.Bytes(demand.Limit)+": "+marked(demand)+" at its highest, margin "+
				words.Bytes(demand.Limit-demand.Need))
		for k := range plan.Tried {
			if t := &plan.Tried[k]; t.Meter == demand.Meter {
				v.Field("tried", doc.In(doc.Less, words.Bytes(t.Limit)+" with "+clip(t.Change)+": "+words.Bytes(t.Need)+
					" at its highest, and the results are the same"))
			}
		}
		if demand.At != nil {
			v.Field("decided by", words.PlaceName(demand.At)+", "+words.Bytes(demand.At.Peak))
			v.smaller(demand)
		}
		if len(plan.Runs) > 1 {
			v.Field("spread",
				fmt.Sprintf("%s to %s; recording %d decides", words.Bytes(demand.Low), words.Bytes(demand.Need),
					demand.Run+1))
		}
		v.linesThatMatter(name, demand)
		v.parts(name, demand)
	}
	for _, s := range plan.Settings {
		v.Heading(s.For)
		v.Code(doc.Plain(s.Text))
	}
	v.recordings(plan)
}

// linesThatMatter is [planned.mattering] as a table of a page.
func (v planned) linesThatMatter(name string, demand *model.Demand) {
	v.Heading(name + ": the lines that matter")
	table := doc.NewTable(doc.Left("line"), doc.Right("there at most"), doc.Right("allocated"),
		doc.Right("lower without it"), doc.Left("then"), doc.Left("source"))
	row := func(l *model.PlanLine, fall, then string) {
		table.Row(words.PlaceName(&l.PlanPlace), words.Bytes(l.Resident), words.Bytes(l.AtPeak), fall, then,
			code(l.Source))
	}
	for i := range demand.Lines {
		row(&demand.Lines[i], words.Bytes(demand.Lines[i].Fall), words.Decides(demand.Lines[i].Then))
	}
	for i := range demand.Untouched {
		row(&demand.Untouched[i], "hardly touched", "")
	}
	v.Table(table)
}

// smaller says, on a page, how high the notebook is without the lines that matter.
func (v planned) smaller(demand *model.Demand) {
	set := demand.Together
	switch {
	case set == nil && len(demand.Lines) == 0:
	case set == nil:
		v.Field("smaller", "no line brings it down by much")
	default:
		v.Field("smaller", doc.In(doc.Less, fmt.Sprintf("without %s %s lower: %s at its highest; %s",
			words.PlaceNames(set.Lines), words.Bytes(set.Fall), words.Bytes(set.Peak), words.ThenDecides(set.Then))))
	}
}

// parts adds a table of the margin and the parts of a demand to a page.
func (v planned) parts(name string, demand *model.Demand) {
	v.Heading(name + ": what it is")
	table := doc.NewTable(doc.Right("bytes"), doc.Left("of"))
	for _, m := range demand.Margin {
		table.Row(words.Bytes(m.Bytes), "margin: "+m.Of)
	}
	for _, m := range demand.Parts {
		if m.Bytes > 0 {
			table.Row(words.Bytes(m.Bytes), "at most: "+m.Of)
		}
	}
	v.Table(table)
}

// recordings adds the table of recordings to a page.
func (v planned) recordings(plan *model.Plan) {
	v.Heading("Recordings")
	table := doc.NewTable(doc.Right(""), doc.Left("recording"), doc.Right("cells"), doc.Right("time"))
	table.Item = "recording"
	for _, d := range plan.Demands {
		table.Columns = append(table.Columns, doc.Right(words.Meter(d.Meter)))
	}
	for i := range plan.Runs {
		run := &plan.Runs[i]
		cells := doc.Spans(i+1, code(path.Base(run.File)), run.Cells, words.Duration(run.DurationNS))
		for _, peak := range run.Peaks {
			text := "–"
			if peak != nil {
				text = words.Bytes(*peak)
			}
			cells = append(cells, doc.Plain(text))
		}
		table.Row(cells)
	}
	v.Table(table)
}
