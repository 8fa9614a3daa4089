package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"ipytracer/internal/report/escape"
	"ipytracer/model"
)

// csvColumns are the first columns. Those of counters and meters follow.
var csvColumns = []string{
	"kind", "id", "parent", "pid", "kernel", "execution", "execution_count", "silent", "name", "line", "status",
	"note", "start_ns", "duration_ns", "cpu_ns", "after", "before", "source", "source_truncated",
}

// csvCounters returns the columns of counters, which only a session with counters has.
func csvCounters() (names []string) {
	for _, c := range new(model.Counters).All() {
		names = append(names, c.Name)
	}
	return names
}

// csvFigure has the names of one meter's columns, behind the meter's id and a dot: cpu.resident.peak.
var csvFigure = []string{"start", "peak", "end", "consumed", "peaked", "exact", "bound"}

// CSV writes one row for each window and, with kind "between", one for each stretch of time between cells. Sizes are
// exact bytes; a missing value is empty. Texts keep their newlines. Other control characters are escaped as by
// [Escape], and a text that a spreadsheet would take for a formula begins with an apostrophe.
func CSV(w io.Writer, report *model.Report) error {
	out := csv.NewWriter(w)
	ids := report.AllMeters()
	counts := report.Counts()
	head := append([]string{}, csvColumns...)
	if counts {
		head = append(head, csvCounters()...)
	}
	for _, id := range ids {
		for _, name := range csvFigure {
			head = append(head, escape.Formula(id+"."+name))
		}
	}
	if err := out.Write(head); err != nil {
		return err
	}
	var row csvRow
	for w := range report.AllPassing() {
		row.window(w)
		row.counters(counts, w.Counters)
		row.figures(w.Meters, ids)
		if err := out.Write(row.finish()); err != nil {
			return err
		}
	}
	for b := range report.AllBetweenPassing() {
		row.between(b)
		row.counters(counts, nil)
		row.figures(b.Meters, ids)
		if err := out.Write(row.finish()); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// csvRow is an unfinished row. The digits of all its numbers are collected, and become one string: that saves an
// allocation for each number.
type csvRow struct {
	fields  []string
	digits  []byte // of all numbers
	numbers []csvNumber
}

// csvNumber is the index of a number's field, and the end of its digits.
type csvNumber struct{ field, end int }

// text adds fields.
func (r *csvRow) text(texts ...string) { r.fields = append(r.fields, texts...) }

// number adds a field with a number.
func (r *csvRow) number(n int64) {
	r.digits = strconv.AppendInt(r.digits, n, 10)
	r.numbers = append(r.numbers, csvNumber{len(r.fields), len(r.digits)})
	r.fields = append(r.fields, "")
}

// numberIf adds a field with a number; an empty field if the number is not known.
func (r *csvRow) numberIf(known bool, n int64) {
	if known {
		r.number(n)
	} else {
		r.text("")
	}
}

// finish returns the row, and begins the next one. The returned row is valid until a field is added.
func (r *csvRow) finish() []string {
	digits, begin := string(r.digits), 0
	for _, n := range r.numbers {
		r.fields[n.field] = digits[begin:n.end]
		begin = n.end
	}
	fields := r.fields
	r.fields, r.digits, r.numbers = r.fields[:0], r.digits[:0], r.numbers[:0]
	return fields
}

// window adds the fields of csvColumns for a window.
func (r *csvRow) window(cell *model.Window) {
	r.text(escape.Formula(cell.Kind))
	r.number(int64(cell.ID))
	r.number(int64(cell.Parent))
	r.number(int64(cell.PID))
	r.text(escape.Formula(cell.Kernel))
	r.numberIf(cell.Execution > 0, int64(cell.Execution))
	if cell.ExecutionCount == nil {
		r.text("")
	} else {
		r.number(int64(*cell.ExecutionCount))
	}
	r.text(strconv.FormatBool(cell.Silent), escape.Formula(cell.Name))
	r.numberIf(cell.Line > 0, int64(cell.Line))
	r.text(escape.Formula(cell.Status), escape.Formula(cell.Note))
	r.number(cell.StartNS)
	r.number(cell.DurationNS)
	r.numberIf(cell.CPUNS >= 0, cell.CPUNS)
	r.text("", "", escape.Formula(cell.Source), strconv.FormatBool(cell.SourceTruncated))
}

// counters adds the fields of counters, empty ones for nil, if the table has their columns.
func (r *csvRow) counters(hasColumns bool, c *model.Counters) {
	if !hasColumns {
		return
	}
	known := c != nil
	if !known {
		c = new(model.Counters)
	}
	for _, counter := range c.All() {
		r.numberIf(known && counter.Count >= 0, counter.Count)
	}
}

// between adds the fields of csvColumns for a time between cells.
func (r *csvRow) between(gap *model.Between) {
	r.text("between", "", "")
	r.number(int64(gap.PID))
	r.text(escape.Formula(gap.Kernel), "", "", "", escape.Formula(gap.Label), "", "", escape.Formula(gap.Note))
	r.number(gap.StartNS)
	r.number(gap.DurationNS)
	r.text("")
	r.number(int64(gap.After))
	r.number(int64(gap.Before))
	r.text("", "")
}

// figures adds the fields of the meters with these ids.
func (r *csvRow) figures(figures map[string]model.Figure, ids []string) {
	for _, id := range ids {
		figure, ok := figures[id]
		if !ok {
			for range csvFigure {
				r.text("")
			}
			continue
		}
		for _, n := range [...]int64{figure.Start, figure.Peak, figure.End, figure.Consumed, figure.Peaked} {
			r.number(n)
		}
		r.text(strconv.FormatBool(figure.Exact))
		if figure.Bound == nil {
			r.text("")
		} else {
			r.number(*figure.Bound)
		}
	}
}
