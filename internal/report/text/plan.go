package text

import (
	"fmt"
	"io"
	"path"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// planView has the sections of a plan.
type planView struct {
	*printer
	o Options
}

// Plan writes a plan for people: the need, the place that determines it, the text to paste, and the lines that would
// lower it. It fails with w's error only.
func Plan(w io.Writer, p *model.Plan, o Options) error {
	v := planView{o.printer(), o}
	v.to = w
	v.planRuns(p)
	for i := range p.Demands {
		v.demand(p, &p.Demands[i])
	}
	v.title("To paste")
	for _, s := range p.Settings {
		v.prose("", span{"# " + s.For, dim})
		for line := range strings.Lines(s.Text) {
			v.paint(escape.Text(strings.TrimSuffix(line, "\n")), plain) // never wrapped, because users paste it
			v.blank()
		}
	}
	doubted(v.printer, p.Doubts, o.Full)
	return v.flush(w)
}

// maxPlanRuns is the most listed recordings, unless all are.
const maxPlanRuns = 12

func (v planView) planRuns(p *model.Plan) {
	for i := range p.Runs {
		r := &p.Runs[i]
		if i == maxPlanRuns && !v.o.Full {
			v.prose("",
				span{fmt.Sprintf("… and %s; --full prints all.", words.Plural(len(p.Runs)-i, "more recording")), dim})
			break
		}
		spans := []span{
			{fmt.Sprintf("%d  ", i+1), dim}, {escape.Bounded(path.Base(r.File), 2*maxName), plain},
			{" · " + words.Plural(r.Cells, "cell") + " in " + words.Duration(r.DurationNS), dim},
		}
		for k, peak := range r.Peaks {
			if peak != nil && (len(p.Runs) > 1 || k == 0) {
				spans = append(spans, span{" · " + meterName(p.Demands[k].Meter) + " " + words.Bytes(*peak), plain})
			}
		}
		v.prose("   ", spans...)
	}
}

// marked returns a demand's need with the mark of its certainty.
func marked(d *model.Demand) string {
	f := model.Figure{Peak: d.Need, Exact: d.Exact, Bound: d.Bound}
	return side(&f, highest)
}

// demand shows the need of one kind of memory.
func (v planView) demand(p *model.Plan, d *model.Demand) {
	name := "Memory"
	if words.OfGPU(d.Meter) {
		name = meterName(strings.TrimSuffix(d.Meter, ".driver"))
	}
	v.title(name)
	v.field("needs", span{words.AtLeast(d) + words.Bytes(d.Limit), bold}, span{marked(d) + " at its highest", plain},
		span{"margin " + words.Bytes(d.Limit-d.Need), plain})
	if len(p.Runs) > 1 {
		v.field("spread",
			span{
				fmt.Sprintf("%s to %s, %s",
					words.Bytes(d.Low), words.Bytes(d.Need), words.Percent(d.Need-d.Low, d.Low)),
				plain,
			}, span{fmt.Sprintf("recording %d decides", d.Run+1), dim})
	}
	for _, m := range d.Margin {
		v.field("margin", span{words.Bytes(m.Bytes) + " " + m.Of, dim})
	}
	for _, part := range d.Parts {
		if part.Bytes > 0 {
			v.field("in it", span{words.Bytes(part.Bytes) + " at most " + part.Of, dim})
		}
	}
	if d.Base > 0 && !words.OfGPU(d.Meter) {
		v.field("in it",
			span{words.Bytes(d.Base) + " when the first cell began: Python, the kernel, what started it", dim})
	}
	v.tried(p, d)
	v.decided(d)
	v.mattering(d)
}

// tried shows the need with a change that was tried.
func (v planView) tried(p *model.Plan, d *model.Demand) {
	for i := range p.Tried {
		if t := &p.Tried[i]; t.Meter == d.Meter {
			v.field("tried", span{words.Bytes(t.Limit), bold},
				span{"with " + escape.Bounded(t.Change, 2*maxName) + ", tried", plain},
				span{words.Bytes(t.Need) + " at its highest", plain},
				span{words.Bytes(t.Saves) + " less, and the results are the same", dim})
		}
	}
}

func (v planView) decided(d *model.Demand) {
	if d.At == nil {
		return
	}
	parts := []span{{placeText(d.At), plain}, {words.Bytes(d.At.Peak), dim}}
	if d.At.Children > 0 {
		parts = append(parts, span{words.Bytes(d.At.Children) + " of it in its children", plain})
	}
	v.field("decided by", parts...)
	if d.Next != nil {
		v.field("then", span{placeText(d.Next), plain}, span{words.Bytes(d.Next.Peak), dim})
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
func (v planView) mattering(d *model.Demand) {
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
		v.field("line", span{placeText(&l.PlanPlace), plain}, span{within, dim}, span{size, plain},
			span{escape.OneLine(words.Fall(&l), false, maxProse/2), plain})
	}
	v.planTogether(d)
	for _, l := range d.Untouched {
		v.field("mapped", span{placeText(&l.PlanPlace), plain}, span{
			fmt.Sprintf("%s, of which at most %s came into memory there: it does not count, "+
				"unless it is filled elsewhere", words.Bytes(l.AtPeak), words.Bytes(l.Resident)),
			dim,
		})
	}
	v.planSmaller(d)
}

// planTogether names the savings of lines that only go together.
func (v planView) planTogether(d *model.Demand) {
	t := d.Together
	if t == nil || len(t.Lines) < 2 {
		return
	}
	parts := []span{
		{escape.OneLine("without "+words.PlaceNames(t.Lines), false, maxProse), plain},
		{words.Bytes(t.Fall) + " lower", bold},
	}
	v.field("together", append(parts, span{escape.OneLine(words.ThenDecides(t.Then), false, maxProse/2), dim})...)
}

// planSmaller says whether it would fit in the next smaller machine.
func (v planView) planSmaller(d *model.Demand) {
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
	v.field("smaller", span{text, plain})
}

func these(n int) string {
	if n == 1 {
		return "that line"
	}
	return fmt.Sprintf("these %d lines", n)
}

// atMost returns the highest peak, without its margin, that fits in the smaller size.
func atMost(d *model.Demand) int64 { return max(0, d.Smaller-(d.Limit-d.Need)) }
