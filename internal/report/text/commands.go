package text

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
)

// Mark is a sign with a colour for a state.
type Mark struct {
	sign  string
	style style
}

// The marks of commands.
var (
	Good    = Mark{"✓", green}
	Bad     = Mark{"✗", red}
	Reduced = Mark{"~", yellow}
	Unknown = Mark{"?", plain}
)

// MarkOf returns Good or Bad.
func MarkOf(good bool) Mark {
	if good {
		return Good
	}
	return Bad
}

// Text returns the mark for a terminal, with or without its colour.
func (m Mark) Text(color bool) string {
	p := printer{color: color}
	p.paint(m.sign, m.style)
	return p.b.String()
}

// Table is a table of a command's own. The texts of its cells are escaped when it is printed.
type Table struct {
	color bool
	right []int
	inner table
}

// NewTable returns a table; the columns named, from 1, are aligned to the right.
func NewTable(color bool, right ...int) *Table {
	return &Table{color: color, right: right, inner: table{space: 1}}
}

// Header gives the columns their titles.
func (t *Table) Header(titles ...string) {
	t.widen(len(titles))
	for i, title := range titles {
		t.inner.columns[i].title = title
	}
}

// Row adds a row: a cell is a [Mark], a text, or any value that fmt prints.
func (t *Table) Row(cells ...any) {
	t.widen(len(cells))
	var r row
	for _, cell := range cells {
		if m, ok := cell.(Mark); ok {
			r.cells = append(r.cells, span{m.sign, m.style})
		} else {
			r.cells = append(r.cells, span{fmt.Sprint(cell), plain})
		}
	}
	t.inner.rows = append(t.inner.rows, r)
}

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.inner.rows) }

// String returns the table, without a line feed behind its last line. Rows may have fewer cells than there are columns.
func (t *Table) String() string {
	for i := range t.inner.rows {
		cells := &t.inner.rows[i].cells
		*cells = append(*cells, make([]span, len(t.inner.columns)-len(*cells))...)
	}
	p := printer{color: t.color}
	t.inner.print(&p)
	return strings.TrimSuffix(p.b.String(), "\n")
}

func (t *Table) widen(n int) {
	for len(t.inner.columns) < n {
		t.inner.columns = append(t.inner.columns, column{right: slices.Contains(t.right, len(t.inner.columns)+1)})
	}
}

// Dash returns a text of a traced process, made safe to show; "-" if it is empty.
func Dash(s string) string {
	if s == "" {
		return "-"
	}
	return escape.Text(s)
}
