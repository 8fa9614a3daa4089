package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// cellView shows the table of cells, and that of experiments.
type cellView struct{ *view }

// cellTable shows the cells by rank.
func (v cellView) cellTable() {
	shown := v.cells
	if v.o.Cells > 0 {
		shown = shown[:min(v.o.Cells, len(shown))]
	}
	ranked := ""
	if len(v.meters) > 0 {
		ranked = ", ranked by need of " + meterName(v.meters[0]) + " memory"
	}
	v.title("Cells" + ranked)
	v.legend()
	v.blank()
	rows := func(yield func(figureRow) bool) {
		for _, w := range shown {
			if !yield(v.cellRow(*v.fetch(w.id))) {
				return
			}
		}
	}
	lead := []column{{title: "cell"}}
	if v.several {
		lead = append(lead, column{title: "pid", right: true})
	}
	lead = append(lead, column{title: "#", right: true})
	v.figureTable(lead, []column{{title: "time", right: true}}, rows, need, consumed, peaked, total)
	if rest := v.cells[len(shown):]; len(rest) > 0 {
		v.prose("", span{fmt.Sprintf("… and %s, none of which needed more than %s (csv and json list all of them).",
			words.Plural(len(rest), "more cell"), words.Bytes(rest[0].weight)), dim})
	}
}

// legend explains the titles of columns.
func (v *view) legend() {
	v.prose("", span{
		"need = highest − start · consumed = end − start · peaked = needed on top of what is left · total = at the end",
		dim,
	})
}

func (v cellView) cellRow(w model.Window) figureRow {
	r := figureRow{
		lead: []span{{label(w) + words.OfKernel(w.Kernel), bold}}, figures: w.Meters,
		trail: []span{{words.Duration(w.DurationNS), plain}},
	}
	if v.several {
		r.lead = append(r.lead, span{fmt.Sprint(w.PID), plain})
	}
	number := "-"
	if w.Execution > 0 {
		number = fmt.Sprint(w.Execution)
	}
	r.lead = append(r.lead, span{number, plain})
	r.below = append(append(r.below, remarks(w)...), countersOf(&w)...)
	if outer, ok := v.byID[w.Parent]; ok && outer.kind == model.Cell {
		r.below = append(r.below, span{"inside " + outer.label + " · ", dim})
	}
	if w.Source != "" {
		r.below = append(r.below, span{strings.Clone(escape.Lines(w.Source, w.SourceTruncated, maxLead)), plain})
	}
	r.below = trimmed(r.below)
	return r
}

// remarks returns the status of a window that failed, and its note; each ends in a separator.
func remarks(w model.Window) []span {
	var spans []span
	if w.Status != model.OK && w.Status != "" {
		spans = append(spans, span{w.Status, red}, span{" · ", dim})
	}
	if w.Note != "" {
		spans = append(spans, span{escape.Bounded(w.Note, maxProse), yellow}, span{" · ", dim})
	}
	for _, r := range w.Refused {
		spans = append(spans, span{refusal(r), yellow}, span{" · ", dim})
	}
	if f := w.Foreign; f != nil {
		text := fmt.Sprintf("opened %s of other processes' GPU memory, closed %d",
			words.Plural(f.Opened, "block"), f.Closed)
		spans = append(spans, span{text, yellow}, span{" · ", dim})
	}
	return spans
}

// countersOf returns the counters of a window, and a separator.
func countersOf(w *model.Window) []span {
	if w.Counters == nil {
		return nil
	}
	if counted := words.Counters(w.Counters); counted != "" {
		return []span{{counted, dim}, {" · ", dim}}
	}
	return nil
}

// refusal describes a refused request: "refused 8.00 GiB of GPU 0 active, 1.20 GiB held".
func refusal(r model.Refusal) string {
	text := fmt.Sprintf("refused %s of %s, %s held",
		words.Bytes(r.Asked), escape.Bounded(meterName(r.Meter), maxName), words.Bytes(r.Held))
	if r.Limit > 0 {
		text += fmt.Sprintf(" of the %s allowed", words.Bytes(r.Limit))
	}
	if r.Caller != "" {
		text = escape.Bounded(r.Caller, maxName) + " " + text
	}
	if len(r.Stack) > 0 {
		text += " at " + escape.Bounded(who(r.Stack), maxProse)
	}
	if r.Count > 1 {
		text += fmt.Sprintf(" (the largest of %s requests)", words.Count(uint64(r.Count)))
	}
	return text
}

// trimmed drops the separator after the last remark.
func trimmed(spans []span) []span {
	for n := len(spans); n > 0 && (spans[n-1].text == " · " || spans[n-1].text == ""); n-- {
		spans = spans[:n-1]
	}
	return spans
}

// experiments lists the user's experiments, nested ones indented.
func (v cellView) experiments() {
	var rows []figureRow
	if !v.marked {
		return
	}
	for w := range v.r.AllPassing() {
		if w.Kind != model.Experiment {
			continue
		}
		name := strings.Repeat("  ", v.depth(*w)) + escape.Bounded(w.Name, maxName)
		rows = append(rows, figureRow{
			lead:    []span{{name, bold}, {"+" + words.Duration(w.StartNS), plain}},
			trail:   []span{{words.Duration(w.DurationNS), plain}},
			figures: maps.Clone(w.Meters),
			below:   trimmed(append(remarks(*w), countersOf(w)...)),
		})
	}
	if len(rows) == 0 {
		return
	}
	v.title("Experiments, in the order they began")
	v.blank()
	v.figureTable([]column{{title: "experiment"}, {title: "began", right: true, drop: 9}},
		[]column{{title: "time", right: true}}, slices.Values(rows), need, consumed, peaked, total)
}
