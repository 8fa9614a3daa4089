package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// cellView shows the table of cells, and that of experiments.
type cellView struct{ *view }

// allCells shows the table of cells, or says that no cell ran.
func (v cellView) allCells() {
	if len(v.cells) == 0 {
		v.noCells()
	} else {
		v.cellTable()
	}
}

// cellTable shows the cells, the heaviest first: all, or as many as the options say.
func (v cellView) cellTable() {
	shown := v.cells
	if v.o.Cells > 0 {
		shown = shown[:min(v.o.Cells, len(shown))]
	}
	ranked := ""
	if len(v.meters) > 0 {
		ranked = ", ranked by need of " + words.Meter(v.meters[0]) + " memory"
	}
	v.Heading("Cells" + ranked)
	v.legend()
	v.Blank()
	rows := func(yield func(figureRow) bool) {
		for _, w := range shown {
			if !yield(v.cellRow(*v.fetch(w.id))) {
				return
			}
		}
	}
	lead := []doc.Column{doc.Left("cell")}
	if v.several {
		lead = append(lead, doc.Right("pid"))
	}
	lead = append(lead, doc.Right("#"))
	v.figureTable(lead, []doc.Column{doc.Right("time")}, rows, words.Need, words.Consumed, words.Peaked, words.Total)
	if rest := v.cells[len(shown):]; len(rest) > 0 {
		v.Note("… and %s, none of which needed more than %s (csv and json list all of them).",
			words.Plural(len(rest), "more cell"), words.Bytes(rest[0].weight))
	}
}

func (v cellView) cellRow(w model.Window) figureRow {
	r := figureRow{
		lead: []doc.Span{doc.Bold(Label(w) + words.OfKernel(w.Kernel))}, figures: w.Meters,
		trail: []doc.Span{doc.Plain(words.Duration(w.DurationNS))},
	}
	if v.several {
		r.lead = append(r.lead, doc.Plain(fmt.Sprint(w.PID)))
	}
	number := "-"
	if w.Execution > 0 {
		number = fmt.Sprint(w.Execution)
	}
	r.lead = append(r.lead, doc.Plain(number))
	r.below = append(append(r.below, remarks(w)...), countersOf(&w)...)
	if outer, ok := v.byID[w.Parent]; ok && outer.kind == model.Cell {
		r.below = append(r.below, doc.Dim("inside "+outer.label+separator))
	}
	if w.Source != "" {
		r.below = append(r.below, doc.Plain(strings.Clone(escape.Lines(w.Source, w.SourceTruncated, maxLead))))
	}
	r.below = trimmed(r.below)
	return r
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
			lead:    []doc.Span{doc.Bold(name), doc.Plain("+" + words.Duration(w.StartNS))},
			trail:   []doc.Span{doc.Plain(words.Duration(w.DurationNS))},
			figures: maps.Clone(w.Meters),
			below:   trimmed(append(remarks(*w), countersOf(w)...)),
		})
	}
	if len(rows) == 0 {
		return
	}
	v.Heading("Experiments, in the order they began")
	v.Blank()
	v.figureTable([]doc.Column{doc.Left("experiment"), doc.Right("began").Drop(9)}, []doc.Column{doc.Right("time")},
		slices.Values(rows), words.Need, words.Consumed, words.Peaked, words.Total)
}
