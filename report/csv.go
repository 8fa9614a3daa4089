package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"ipytracer/internal/report/escape"
	"ipytracer/model"
)

// csvColumns come before the columns of the meters.
var csvColumns = []string{
	"kind", "id", "parent", "pid", "kernel", "execution", "execution_count", "silent", "name", "line", "status",
	"note", "start_ns", "duration_ns", "cpu_ns", "after", "before", "source", "source_truncated",
}

// csvCounters returns the counters' columns. In a session with counters they come between csvColumns and the columns of
// the meters.
func csvCounters() (names []string) {
	for _, c := range new(model.Counters).All() {
		names = append(names, c.Name)
	}
	return names
}

// csvFigure has the columns of one meter, each after the meter's id and a dot.
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
		if err := out.Write(row.take()); err != nil {
			return err
		}
	}
	for b := range report.AllBetweenPassing() {
		row.between(b)
		row.counters(counts, nil)
		row.figures(b.Meters, ids)
		if err := out.Write(row.take()); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// csvRow is an unfinished row. Its numbers are written one after another, and become one string.
type csvRow struct {
	fields  []string
	digits  []byte
	numbers []csvNumber
}

// csvNumber is the field of a number in a row, and the end of its digits.
type csvNumber struct{ field, end int }

func (r *csvRow) text(texts ...string) { r.fields = append(r.fields, texts...) }

func (r *csvRow) number(n int64) {
	r.digits = strconv.AppendInt(r.digits, n, 10)
	r.numbers = append(r.numbers, csvNumber{len(r.fields), len(r.digits)})
	r.fields = append(r.fields, "")
}

// numberIf adds a number, or an empty field if there is none.
func (r *csvRow) numberIf(is bool, n int64) {
	if is {
		r.number(n)
	} else {
		r.text("")
	}
}

// take returns the row, which becomes invalid when the next begins.
func (r *csvRow) take() []string {
	digits, begin := string(r.digits), 0
	for _, n := range r.numbers {
		r.fields[n.field] = digits[begin:n.end]
		begin = n.end
	}
	whole := r.fields
	r.fields, r.digits, r.numbers = r.fields[:0], r.digits[:0], r.numbers[:0]
	return whole
}

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

func (r *csvRow) counters(counts bool, c *model.Counters) {
	if !counts {
		return
	}
	known := c != nil
	if !known {
		c = new(model.Counters)
	}
	for _, one := range c.All() {
		r.numberIf(known && one.Count >= 0, one.Count)
	}
}

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
