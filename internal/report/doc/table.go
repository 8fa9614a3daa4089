package doc

import (
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
)

// Column is a column of a table.
type Column struct {
	group string // columns side by side with the same group share a heading
	title string
	right bool
	drop  int  // the order in which columns give way when the width is short: the highest first, 0 never
	size  int  // the width even for smaller cells, as long as there is room
	flex  bool // takes the rest of the width; longer text goes on in lines below
}

// Left returns a column of texts.
func Left(title string) Column { return Column{title: title} }

// Right returns a column of numbers.
func Right(title string) Column { return Column{title: title, right: true} }

// Bytes returns a column of sizes. It fits "512.00 MiB", so that tables line up with each other.
func Bytes(title string) Column { return Column{title: title, right: true, size: UsualSize} }

// Flex returns a column of texts that takes the rest of the width.
func Flex(title string) Column { return Column{title: title, flex: true} }

// UsualSize is the width of a size.
const UsualSize = 10

// Drop returns the column with its place in the order in which columns give way, 0 never.
func (c Column) Drop(order int) Column {
	c.drop = order
	return c
}

// In returns the column with a heading that it shares with its neighbours of the same.
func (c Column) In(group string) Column {
	c.group = group
	return c
}

// row is one line of a table, with another below it for text that is too long for a column.
type row struct {
	cells []Span
	below []Span
	same  bool // it belongs to the item of the row above
}

// minFlex is the width that a flexible column keeps before other columns have to give way to it.
const minFlex = 24

// Table is a table. A text of its last column that takes many lines goes on below, from the indentation.
type Table struct {
	Columns []Column
	Indent  int
	Space   int // between columns; 0 is 2 between groups
	// Names: columns without room are named below the table.
	Names bool
	// Item is what a row is, on a page that has only the first ones; "": it has all.
	Item string
	// More is what a page says of items without a row, with %s for them if it counts these itself.
	More string
	rows []row
}

// RowIndent is the usual indentation of a row's second line.
const RowIndent = 10

// NewTable returns a table with the usual indentation.
func NewTable(columns ...Column) *Table { return &Table{Columns: columns, Indent: RowIndent} }

// Row adds a row of texts, marks, numbers and [Span]s. Columns without a cell are empty.
func (t *Table) Row(cells ...any) {
	t.rows = append(t.rows, row{cells: Spans(cells...)})
}

// Also adds a row to the item of the last row.
func (t *Table) Also(cells ...any) {
	t.rows = append(t.rows, row{cells: Spans(cells...), same: true})
}

// Below adds text below the last row.
func (t *Table) Below(parts []Span) { t.rows[len(t.rows)-1].below = parts }

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// String returns the table for a terminal without a limit of its width.
func (t *Table) String(color bool) string {
	p := printer{color: color}
	t.print(&p)
	return strings.TrimSuffix(p.b.String(), "\n")
}

// print lays the table out.
func (t *Table) print(p *printer) {
	for i, c := range t.Columns {
		t.Columns[i].group, t.Columns[i].title = escape.Text(c.group), escape.Text(c.title)
	}
	for i := range t.rows {
		cells := &t.rows[i].cells
		*cells = append(*cells, make([]Span, len(t.Columns)-len(*cells))...)
		for j := range t.rows[i].cells {
			t.rows[i].cells[j].Text = escape.Text(t.rows[i].cells[j].Text)
		}
	}
	columns, sizes := t.fit(p.width)
	var dropped []string
	for i, c := range t.Columns {
		if !slices.Contains(columns, i) && c.group != "" && !slices.Contains(dropped, c.group) &&
			!t.holds(columns, c.group) {
			dropped = append(dropped, c.group)
		}
	}
	t.heading(p, columns, sizes)
	for _, r := range t.rows {
		t.line(p, columns, sizes, func(i int) Span { return r.cells[i] })
		if len(r.below) > 0 {
			t.lineBelow(p, r.below)
		}
	}
	if t.Names && len(dropped) > 0 {
		text := "No room here for " + strings.Join(dropped, ", ") + ": use a wider terminal, or --format csv."
		p.wrap("", splitWords([]Span{Dim(text)}))
		p.blank()
	}
}

func (t *Table) holds(columns []int, group string) bool {
	return slices.ContainsFunc(columns, func(i int) bool { return t.Columns[i].group == group })
}

// fit chooses the columns and their widths.
func (t *Table) fit(width int) (columns, sizes []int) {
	roomy := make([]int, len(t.Columns))
	sizes = make([]int, len(t.Columns))
	for i, c := range t.Columns {
		columns = append(columns, i)
		sizes[i] = escape.Cells(c.title)
		if i == 0 || t.Columns[i-1].group != c.group {
			sizes[i] = max(sizes[i], escape.Cells(c.group))
		}
		for _, r := range t.rows {
			sizes[i] = max(sizes[i], escape.Cells(r.cells[i].Text))
		}
		roomy[i] = max(sizes[i], c.size)
	}
	if width == 0 || t.span(columns, roomy, true) <= width {
		sizes = roomy
	}
	for width > 0 {
		least := t.span(columns, sizes, true)
		victim := -1
		for at, i := range columns {
			if d := t.Columns[i].drop; d > 0 && (victim < 0 || d >= t.Columns[columns[victim]].drop) {
				victim = at
			}
		}
		if least <= width || victim < 0 {
			break
		}
		columns = slices.Delete(columns, victim, victim+1)
	}
	for i, c := range t.Columns {
		if c.flex && width > 0 {
			over := t.span(columns, sizes, false) - width
			sizes[i] = max(min(sizes[i], minFlex), sizes[i]-max(0, over))
		}
	}
	return columns, sizes
}

// span returns the width of a line of these columns, with the flexible ones at their least if requested.
func (t *Table) span(columns, sizes []int, least bool) int {
	n := 0
	for at, i := range columns {
		if at > 0 {
			n += t.gap(columns[at-1], i)
		}
		if least && t.Columns[i].flex {
			n += min(sizes[i], minFlex)
		} else {
			n += sizes[i]
		}
	}
	return n
}

// gap returns the space between two columns: more where a group begins or ends.
func (t *Table) gap(left, right int) int {
	if t.Space > 0 {
		return t.Space
	}
	if t.Columns[left].group == t.Columns[right].group && t.Columns[left].group != "" {
		return 1
	}
	return 2
}

// line prints a row. Text without room in a flexible column goes on in the lines below.
func (t *Table) line(p *printer, columns, sizes []int, cell func(int) Span) {
	pending, at := 0, 0
	var below folding
	var look Style
	for n, i := range columns {
		if n > 0 {
			pending += t.gap(columns[n-1], i)
			at += t.gap(columns[n-1], i)
		}
		s := cell(i)
		if t.Columns[i].flex && p.width > 0 && escape.Cells(s.Text) > sizes[i] {
			below, look = margins{t.Indent, p.width}.fold(s.Text, at, sizes[i], n == len(columns)-1), s.Style
			s.Text = below.lines[0]
		}
		at += sizes[i]
		space := max(0, sizes[i]-escape.Cells(s.Text))
		if t.Columns[i].right {
			pending += space
			space = 0
		}
		if s.Text != "" {
			p.b.WriteString(strings.Repeat(" ", pending))
			p.paint(s.Text, s.Style)
			pending = space
		} else {
			pending += space
		}
	}
	p.blank()
	for _, line := range below.lines[min(1, len(below.lines)):] {
		p.b.WriteString(strings.Repeat(" ", below.indent))
		p.paint(line, look)
		p.blank()
	}
}

// heading prints the line of groups, if there are any, and the line of titles.
func (t *Table) heading(p *printer, columns, sizes []int) {
	groups := slices.ContainsFunc(columns, func(i int) bool { return t.Columns[i].group != "" })
	var b strings.Builder
	for at := 0; at < len(columns); {
		if at > 0 {
			b.WriteString(strings.Repeat(" ", t.gap(columns[at-1], columns[at])))
		}
		group, n, end := t.Columns[columns[at]].group, sizes[columns[at]], at+1
		for ; group != "" && end < len(columns) && t.Columns[columns[end]].group == group; end++ {
			n += 1 + sizes[columns[end]]
		}
		b.WriteString(rule(group, n))
		at = end
	}
	if groups {
		p.paint(strings.TrimRight(b.String(), " "), faint)
		p.blank()
	}
	if slices.ContainsFunc(t.Columns, func(c Column) bool { return c.title != "" }) {
		t.line(p, columns, sizes, func(i int) Span { return Dim(t.Columns[i].title) })
	}
}

// rule draws a heading over n cells: ─── resident ───.
func rule(title string, n int) string {
	if title == "" {
		return strings.Repeat(" ", n)
	}
	rest := n - escape.Cells(title) - 2
	if rest < 2 {
		return escape.Pad(escape.Cut(title, n), n, false)
	}
	return strings.Repeat("─", rest/2) + " " + title + " " + strings.Repeat("─", rest-rest/2)
}

// lineBelow prints the text under a row, wrapped at the width.
func (t *Table) lineBelow(p *printer, spans []Span) {
	indent := strings.Repeat(" ", t.Indent)
	p.b.WriteString(indent)
	p.wrapFrom(t.Indent, indent, fitting(splitWords(spans), p.width-t.Indent))
	p.blank()
}
