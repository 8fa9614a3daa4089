// Package text prints the report, the audit and the live lines for people, in a terminal. The choice, order and layout
// of the parts belong here; package words has the text beside figures, and package escape decides which characters may
// be shown.
package text

import (
	"cmp"
	"io"
	"iter"
	"slices"

	"ipytracer/internal/report/doc"
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

// Size returns the room of a terminal.
func (o Options) Size() doc.Size {
	return doc.Size{Width: max(cmp.Or(o.Width, 120), 0), Color: o.Color}
}

// view is the shared state of a report's sections: the document so far, the windows by their rank, and the options.
type view struct {
	*doc.Document
	*order
	o Options
	// divided is the account of the highest moment, once a sentence has asked for it.
	divided *model.Account
}

// Report writes the report for people. It fails if o.By is a meter the report does not have, or with w's error.
func Report(w io.Writer, r *model.Report, o Options) error {
	v, err := newView(r, o)
	if err != nil {
		return err
	}
	if o.Full {
		return v.full(w)
	}
	v.short()
	return v.Text(w, o.Size())
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

// full prints everything. For a long session that is much: each section is written before the next is made.
func (v *view) full(w io.Writer) error {
	remains := remainsOf(v)
	for _, section := range []func(){
		headlineView{v}.lead, v.begin, headerView{v}.header, cellView{v}.allCells, cellView{v}.experiments,
		lineView{v}.statements, heapView{v}.allocations, heapView{v}.lines, heapView{v}.tensors,
		func() { remains.Variables(v.r.Variables, v.r.Names, v.r.ToFree) },
		func() { remains.Resident(v.r.Resident) },
		gapView{v}.between, processView{v}.children, processView{v}.processes,
		proofView{v}.footnotes, proofView{v}.certificate,
	} {
		section()
		if err := v.Text(w, v.o.Size()); err != nil {
			return err
		}
	}
	return nil
}

// begin separates the first lines from the sections.
func (v *view) begin() {
	if len(v.ranked) > 0 {
		v.Blank()
	}
}

// figureColumns returns the columns of figures: all quantities of the first meter, need and consumed of the others.
func (v *view) figureColumns(first ...words.Quantity) (columns []doc.Column, quantities []words.Quantity,
	ids []string) {
	for m, id := range v.meters {
		shown := []words.Quantity{words.Need, words.Consumed}
		if m == 0 {
			shown = first
		}
		for i, q := range shown {
			c := doc.Bytes(q.Title).In(words.Meter(id)).Drop(i)
			if m > 0 {
				c = c.Drop(1000*(i+1) + m)
			}
			columns, quantities, ids = append(columns, c), append(quantities, q), append(ids, id)
		}
	}
	return columns, quantities, ids
}

// figureTable prints rows of windows with the figure columns between lead and trail columns, and names the columns
// without room.
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

// figureRow is one row of a figure table.
type figureRow struct {
	lead, trail []doc.Span
	figures     map[string]model.Figure
	below       []doc.Span
}

// The lengths at which names and texts from the target are cut.
const (
	maxName  = 28
	maxProse = 400
)
