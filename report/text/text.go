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
	"ipytracer/report/escape"
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

// view is a report on its way to becoming text.
type view struct {
	*printer
	survey
	r      *model.Report
	o      Options
	meters []string // headline meters, the one that ranks first
	near   limits
	ranked []stretch
	told   func(question, text string) // takes the first lines in the place of the page; nil: they are printed
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
	v := &view{printer: o.printer(), r: r, o: o, near: limits{near: r.Nearest()}}
	var err error
	if v.meters, err = headlines(r, cmp.Or(o.By, r.Ranking(v.near.near))); err != nil {
		return nil, err
	}
	v.lookThrough()
	v.rank()
	return v, nil
}

// full prints everything. Of a long session that is much: what is there is written before more is made.
func (v *view) full(w io.Writer) error {
	v.to = w
	v.lead()
	if len(v.ranked) > 0 {
		v.blank()
	}
	v.header()
	if len(v.cells) == 0 {
		v.noCells()
	} else {
		v.cellTable()
	}
	v.experiments()
	v.statements()
	v.allocations()
	v.lines()
	v.tensors()
	v.variables(v.r.Variables, v.r.Names, v.r.ToFree)
	v.resident(v.r.Resident)
	v.between()
	v.children()
	v.processes()
	v.footnotes()
	v.certificate()
	return v.flush(w)
}

// weight is what ranks a window: what it needs itself or, where that is more, with its children.
func (v *view) weight(w model.Window) int64 { return max(v.needOf(w.Meters), v.needOf(w.Tree)) }

// needOf is what figures say that the meter that ranks needs.
func (v *view) needOf(figures map[string]model.Figure) int64 {
	if len(v.meters) == 0 {
		return 0
	}
	return figures[v.meters[0]].Need()
}

// field prints "name  value" with the values wrapped and aligned. Values that are empty print nothing.
func (v *view) field(name string, parts ...span) {
	const column = 12
	indent := strings.Repeat(" ", column)
	spans := []span{{escape.Pad(name, column-1, false) + " ", dim}} // some names are longer than the column
	for i, part := range slices.DeleteFunc(parts, func(s span) bool { return s.text == "" }) {
		if i > 0 {
			spans = append(spans, span{" · ", dim})
		}
		spans = append(spans, part)
	}
	if len(spans) > 1 {
		v.prose(indent, spans...)
	}
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
