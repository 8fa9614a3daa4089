// Package text prints the report, the audit and the live lines for people, in a terminal. The choice, order and layout
// of the parts belong here; package words has the text beside figures, and package escape decides which characters may
// be shown.
package text

import (
	"cmp"
	"io"
	"iter"
	"slices"
	"strings"

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

func (o Options) printer() *printer {
	p := &printer{width: o.Width, color: o.Color}
	if o.Width == 0 {
		p.width = 120
	}
	p.width = max(p.width, 0)
	return p
}

// view is the shared state of a report's sections: the lines so far, the windows by their rank, and the options.
type view struct {
	*printer
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
	return v.flush(w)
}

func newView(r *model.Report, o Options) (*view, error) {
	near := r.Nearest()
	meters, err := headlines(r, cmp.Or(o.By, r.Ranking(near)))
	if err != nil {
		return nil, err
	}
	order := newOrder(newSurvey(r, scale{meters}), near, o.Cells)
	order.rank()
	return &view{printer: o.printer(), order: order, o: o}, nil
}

// full prints everything. For a long session that is much: each part is written before the next is made.
func (v *view) full(w io.Writer) error {
	v.to = w
	headlineView{v}.lead()
	if len(v.ranked) > 0 {
		v.blank()
	}
	headerView{v}.header()
	if len(v.cells) == 0 {
		headerView{v}.noCells()
	} else {
		cellView{v}.cellTable()
	}
	cellView{v}.experiments()
	lineView{v}.statements()
	heapView{v}.allocations()
	heapView{v}.lines()
	heapView{v}.tensors()
	remains := remainsOf(v)
	remains.variables(v.r.Variables, v.r.Names, v.r.ToFree)
	remains.resident(v.r.Resident)
	gapView{v}.between()
	processView{v}.children()
	processView{v}.processes()
	proofView{v}.footnotes()
	proofView{v}.certificate()
	return v.flush(w)
}

// figureColumns returns the columns of figures: all quantities of the first meter, need and consumed of the others.
func (v *view) figureColumns(first ...quantity) (columns []column, quantities []quantity, ids []string) {
	for m, id := range v.meters {
		shown := []quantity{need, consumed}
		if m == 0 {
			shown = first
		}
		for i, q := range shown {
			c := column{group: meterName(id), title: q.title, right: true, drop: i, size: usualSize}
			if m > 0 {
				c.drop = 1000*(i+1) + m
			}
			columns, quantities, ids = append(columns, c), append(quantities, q), append(ids, id)
		}
	}
	return columns, quantities, ids
}

// figureTable prints rows of windows with the figure columns between lead and trail columns, and names the columns
// without room.
func (v *view) figureTable(lead, trail []column, rows iter.Seq[figureRow], first ...quantity) {
	columns, quantities, ids := v.figureColumns(first...)
	t := table{columns: slices.Concat(lead, columns, trail), indent: rowIndent}
	for r := range rows {
		line := append(make([]span, 0, len(t.columns)), r.lead...)
		for i, q := range quantities {
			line = append(line, q.show(r.figures, ids[i]))
		}
		t.rows = append(t.rows, row{cells: append(line, r.trail...), below: r.below})
	}
	if dropped := t.print(v.printer); len(dropped) > 0 {
		v.prose("",
			span{"No room here for " + strings.Join(dropped, ", ") + ": use a wider terminal, or --format csv.", dim})
	}
}

// rowIndent is the indentation of a row's second line.
const rowIndent = 10

// figureRow is one row of a figure table.
type figureRow struct {
	lead, trail []span
	figures     map[string]model.Figure
	below       []span
}

// usualSize fits "512.00 MiB", so that tables line up with each other.
const usualSize = 10

// The lengths at which names and texts from the target are cut.
const (
	maxName  = 28
	maxProse = 400
)
