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
	right bool // aligned to the right
	drop  int  // if the width is too small, the column with the highest drop is left out first; 0 is never left out
	size  int  // the least width, as long as there is room
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

// Drop returns the column with an order for narrow terminals: the column with the highest order is left out first, one
// with 0 never.
func (c Column) Drop(order int) Column {
	c.drop = order
	return c
}

// In returns the column with a heading. Neighbours with the same heading share it.
func (c Column) In(group string) Column {
	c.group = group
	return c
}

// row is one row of a table.
type row struct {
	cells []Span
	below []Span // text on lines of its own below the cells
	same  bool   // it belongs to the item of the row above
}

// minFlex is the width that a flexible column keeps before other columns have to give way to it.
const minFlex = 24

// Table is a table.
type Table struct {
	Columns []Column
	Indent  int // of texts below rows, and of the later lines of a long text in the last column
	Space   int // cells between columns; 0 is 1 within a group and 2 elsewhere
	// Names: a line below the table names the columns that had no room.
	Names bool
	// Item is the noun for what a row is. A page then has only the first items; with "" it has all.
	Item string
	// More is what a page says about items that it leaves out. If Item is set, its %s is their number and Item.
	More string
	rows []row
}

// RowIndent is the usual indentation of a row's second line.
const RowIndent = 10

// NewTable returns a table with the usual indentation.
func NewTable(columns ...Column) *Table { return &Table{Columns: columns, Indent: RowIndent} }

// Row adds a row of texts, marks, numbers and [Span]s. Columns behind the last cell are empty.
func (t *Table) Row(cells ...any) {
	t.rows = append(t.rows, row{cells: Spans(cells...)})
}

// Also adds a row that belongs to the same item as the last row.
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

// print prints the table for a terminal.
func (t *Table) print(p *printer) {
	t.escape()
	columns, sizes := t.fit(p.width)
	t.heading(p, columns, sizes)
	for _, r := range t.rows {
		t.line(p, columns, sizes, func(i int) Span { return r.cells[i] })
		if len(r.below) > 0 {
			t.lineBelow(p, r.below)
		}
	}
	if dropped := t.droppedGroups(columns); t.Names && len(dropped) > 0 {
		text := "No room here for " + strings.Join(dropped, ", ") + ": use a wider terminal, or --format csv."
		p.wrap("", splitWords([]Span{Dim(text)}))
		p.blank()
	}
}

// escape escapes all texts of the table, and gives each row a cell for every column.
func (t *Table) escape() {
	for i, c := range t.Columns {
		t.Columns[i].group, t.Columns[i].title = escape.Text(c.group), escape.Text(c.title)
	}
	for i := range t.rows {
		cells := &t.rows[i].cells
		*cells = append(*cells, make([]Span, len(t.Columns)-len(*cells))...)
		for k := range *cells {
			(*cells)[k].Text = escape.Text((*cells)[k].Text)
		}
	}
}

// droppedGroups returns the groups of which no column is shown. columns are the indices of the shown columns.
func (t *Table) droppedGroups(columns []int) (dropped []string) {
	isShown := func(group string) bool {
		return slices.ContainsFunc(columns, func(i int) bool { return t.Columns[i].group == group })
	}
	for _, c := range t.Columns {
		if c.group != "" && !isShown(c.group) && !slices.Contains(dropped, c.group) {
			dropped = append(dropped, c.group)
		}
	}
	return dropped
}

// fit chooses the columns that fit into a width, as indices, and the width of every column of the table.
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
	for width > 0 && t.span(columns, sizes, true) > width {
		next := t.nextToDrop(columns)
		if next < 0 {
			break
		}
		columns = slices.Delete(columns, next, next+1)
	}
	for i, c := range t.Columns {
		if c.flex && width > 0 {
			over := t.span(columns, sizes, false) - width
			sizes[i] = max(min(sizes[i], minFlex), sizes[i]-max(0, over))
		}
	}
	return columns, sizes
}

// nextToDrop returns the place in columns of the column to leave out next: of those with the highest drop the last one.
// It returns -1 if every column must stay.
func (t *Table) nextToDrop(columns []int) int {
	next, highest := -1, 1
	for place, i := range columns {
		if drop := t.Columns[i].drop; drop >= highest {
			next, highest = place, drop
		}
	}
	return next
}

// span returns the width of a line of these columns. With least, flexible columns count with the width that they need
// at least.
func (t *Table) span(columns, sizes []int, least bool) int {
	width := 0
	for place, i := range columns {
		if place > 0 {
			width += t.gap(columns[place-1], i)
		}
		if least && t.Columns[i].flex {
			width += min(sizes[i], minFlex)
		} else {
			width += sizes[i]
		}
	}
	return width
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

// line prints the shown columns of a row. cell returns the cell of a column. A text without room in a flexible column
// goes on in the lines below.
func (t *Table) line(p *printer, columns, sizes []int, cell func(int) Span) {
	pending := 0 // spaces that are written only if a text follows
	position := 0
	var below folding
	var belowStyle Style
	for place, i := range columns {
		if place > 0 {
			gap := t.gap(columns[place-1], i)
			pending += gap
			position += gap
		}
		s := cell(i)
		if t.Columns[i].flex && p.width > 0 && escape.Cells(s.Text) > sizes[i] {
			isLast := place == len(columns)-1
			below, belowStyle = margins{t.Indent, p.width}.fold(s.Text, position, sizes[i], isLast), s.Style
			s.Text = below.lines[0]
		}
		position += sizes[i]
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
		p.paint(line, belowStyle)
		p.blank()
	}
}

// heading prints the line of groups, if there are any, and the line of titles.
func (t *Table) heading(p *printer, columns, sizes []int) {
	hasGroups := slices.ContainsFunc(columns, func(i int) bool { return t.Columns[i].group != "" })
	var b strings.Builder
	for begin := 0; begin < len(columns); {
		if begin > 0 {
			b.WriteString(strings.Repeat(" ", t.gap(columns[begin-1], columns[begin])))
		}
		group, width, end := t.Columns[columns[begin]].group, sizes[columns[begin]], begin+1
		for ; group != "" && end < len(columns) && t.Columns[columns[end]].group == group; end++ {
			width += 1 + sizes[columns[end]]
		}
		b.WriteString(rule(group, width))
		begin = end
	}
	if hasGroups {
		p.paint(strings.TrimRight(b.String(), " "), faint)
		p.blank()
	}
	if slices.ContainsFunc(t.Columns, func(c Column) bool { return c.title != "" }) {
		t.line(p, columns, sizes, func(i int) Span { return Dim(t.Columns[i].title) })
	}
}

// rule draws a heading over width cells: ─── resident ───.
func rule(title string, width int) string {
	if title == "" {
		return strings.Repeat(" ", width)
	}
	rest := width - escape.Cells(title) - 2
	if rest < 2 {
		return escape.Pad(escape.Cut(title, width), width, false)
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
