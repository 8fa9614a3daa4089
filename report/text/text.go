// Package text is the report, the audit and the live lines for people, in a terminal. What is shown, in which order
// and how a page is laid out belongs here; the text beside figures is package words', and which characters may be
// shown package escape's.
package text

import (
	"cmp"
	"io"
	"iter"
	"slices"
	"strings"

	"ipytracer/model"
)

// Options says how the report for people looks. The zero value is a plain report, 120 cells wide, that ranks
// cells by what came nearest to its limit, shows the heaviest, and the three heaviest of them line by line.
type Options struct {
	// Color turns on ANSI colours. Nothing is said by colour alone.
	Color bool
	// Width is how many cells a line may take: 0 is 120, below 0 is no limit.
	Width int
	// Full leaves nothing out.
	Full bool
	// Cells is how many cells the table shows, heaviest first; 0 is 15, or all of them if Full.
	Cells int
	// Statements is how many of the heaviest cells are shown line by line: 0 is 3, below 0 none.
	Statements int
	// By is the meter that ranks the cells; "" is the one that [model.Report.Ranking] says.
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

// view is what the sections of a report share: the lines so far, the windows by their rank, and how the report is to look.
type view struct {
	*printer
	*order
	o Options
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
	return &view{o.printer(), order, o}, nil
}

// full prints everything. Of a long session that is much: what is there is written before more is made.
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

// figureColumns are the columns of figures: all quantities of the first meter, need and consumed of the others.
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

// figureTable prints rows of windows with the figure columns between lead and trail columns, and says what had no room.
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
		v.prose("", span{"No room here for " + strings.Join(dropped, ", ") + ": use a wider terminal, or --format csv.", dim})
	}
}

// rowIndent is where the second line of a row begins.
const rowIndent = 10

// figureRow is one row of a figure table.
type figureRow struct {
	lead, trail []span
	figures     map[string]model.Figure
	below       []span
}

// usualSize fits "512.00 MiB", so that tables line up with each other.
const usualSize = 10

// Longer names names and texts of the target's making are cut.
const (
	maxName  = 28
	maxProse = 400
)
