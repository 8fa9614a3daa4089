package text

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Options are settings of the report for people. The zero value is a plain report, 120 cells wide. It ranks cells by
// the memory that came nearest to its limit, shows the heaviest, and the three heaviest of them line by line.
type Options struct {
	// Color turns on ANSI colours. No information is in colour alone.
	Color bool
	// Width is the most cells of a line: 0 is 120, below 0 is no limit.
	Width int
	// Full leaves nothing out.
	Full bool
	// Cells is the number of cells in the table, heaviest first; 0 is 15, or all of them if Full.
	Cells int
	// Statements is the number of heaviest cells shown line by line: 0 is 3, below 0 none.
	Statements int
	// By is the meter that ranks the cells; "" is that of [model.Report.Ranking].
	By string
}

// Size returns the width of a line and whether it has colours, for a document.
func (o Options) Size() doc.Size {
	return doc.Size{Width: max(cmp.Or(o.Width, 120), 0), Color: o.Color}
}

// view is the shared state of a report's sections: the document so far, the windows by their rank, and the options.
type view struct {
	*doc.Document
	*order
	o      Options
	ofPeak int // lines that the first part has taken, see [headlineView.leadHighest]
}

func newView(r *model.Report, o Options) (*view, error) {
	near := r.Nearest()
	meters, err := headlines(r, cmp.Or(o.By, r.Ranking(near)))
	if err != nil {
		return nil, err
	}
	order := newOrder(newSurvey(r, scale{meters}), near, o.Cells)
	order.rank()
	return &view{Document: &doc.Document{}, order: order, o: o}, nil
}

// detailed returns the number of heaviest cells that are shown in detail.
func (v *view) detailed() int { return cmp.Or(v.o.Statements, 3) }

// noCells says that no cell ran, and what to do about it.
func (v *view) noCells() {
	isIPython := func(p model.Process) bool { return p.IPython != "" }
	mayRunCells := len(v.r.Processes) == 0 || slices.ContainsFunc(v.r.Processes, isIPython)
	v.Heading("No cell ran while the tracer was attached")
	v.Prose("", words.NoCellRan(mayRunCells))
}

// gapLabel returns the label of the time between two cells. It names cells without an In[N] by their text or, with
// --full, by their number in the table of cells.
func (v *view) gapLabel(b model.Between) string {
	name := func(w *brief) string {
		switch {
		case w.counted && !w.silent:
			return w.label
		case v.o.Full:
			return fmt.Sprintf("#%d", w.execution)
		}
		return v.shortName(w)
	}
	after, begun := v.byID[b.After]
	before, ended := v.byID[b.Before]
	if begun && ended && after.kind == model.Cell && before.kind == model.Cell {
		return "between " + name(after) + " and " + name(before) + words.OfKernel(b.Kernel)
	}
	return escape.Bounded(b.Label, maxProse)
}

// legend explains the titles of columns.
func (v *view) legend() {
	v.Prose("", doc.Dim(
		"need = highest − start · consumed = end − start · peaked = needed on top of what is left · "+
			"total = at the end"))
}

// figureRow is one row of a figure table.
type figureRow struct {
	lead, trail []doc.Span // in front of the figures, and behind them
	figures     map[string]model.Figure
	below       []doc.Span // a line of its own below the row
}

// figureTable prints a table of windows: lead columns, figures, and trail columns. first are the quantities of the
// first meter. Below the table it names the columns that had no room.
func (v *view) figureTable(lead, trail []doc.Column, rows iter.Seq[figureRow], first ...words.Quantity) {
	columns, quantities, ids := v.figureColumns(first...)
	t := doc.NewTable(slices.Concat(lead, columns, trail)...)
	t.Names = true
	for r := range rows {
		cells := slices.Clone(r.lead)
		for i, q := range quantities {
			cells = append(cells, doc.FigureAt(q, r.figures, ids[i]))
		}
		t.Row(append(cells, r.trail...))
		t.Below(r.below)
	}
	v.Table(t)
}

// figureColumns returns the columns of figures, with the quantity and the meter of each: the quantities first for the
// first meter, need and consumed for the others.
func (v *view) figureColumns(first ...words.Quantity) (columns []doc.Column, quantities []words.Quantity,
	ids []string) {
	for m, id := range v.meters {
		shown := []words.Quantity{words.Need, words.Consumed}
		if m == 0 {
			shown = first
		}
		for i, q := range shown {
			c := doc.Bytes(q.Title).In(words.Meter(id)).Drop(i)
			if m > 0 { // of the other meters, first all columns of consumed give way, then those of need
				c = c.Drop(1000*(i+1) + m)
			}
			columns, quantities, ids = append(columns, c), append(quantities, q), append(ids, id)
		}
	}
	return columns, quantities, ids
}
