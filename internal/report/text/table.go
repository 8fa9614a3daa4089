package text

import (
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
)

// column is one column of a table.
type column struct {
	group string // columns side by side with the same group share a heading
	title string
	right bool
	// drop is the order in which columns give way when the width is short: the highest first, 0 never.
	drop int
	// size is the width of the column even for smaller cells, as long as there is room.
	size int
	// flex columns take the rest of the width; longer text goes on in lines below.
	flex bool
}

// row is one line of a table, with another below it for text that is too long for a column.
type row struct {
	cells []span
	below []span
}

// minFlex is the width that a flexible column keeps before other columns have to give way to it.
const minFlex = 24

type table struct {
	columns []column
	rows    []row
	indent  int // of the lines below
	space   int // between columns; 0 is 2 between groups
}

// print lays the table out and returns the groups without room.
func (t *table) print(p *printer) (dropped []string) {
	for i := range t.columns {
		t.columns[i].group, t.columns[i].title = escape.Text(t.columns[i].group), escape.Text(t.columns[i].title)
	}
	for i := range t.rows {
		for j := range t.rows[i].cells {
			t.rows[i].cells[j].text = escape.Text(t.rows[i].cells[j].text)
		}
	}
	columns, sizes := t.fit(p.width)
	for i, c := range t.columns {
		if !slices.Contains(columns, i) && c.group != "" && !slices.Contains(dropped, c.group) &&
			!t.holds(columns, c.group) {
			dropped = append(dropped, c.group)
		}
	}
	t.heading(p, columns, sizes)
	for _, r := range t.rows {
		t.line(p, columns, sizes, func(i int) span { return r.cells[i] })
		if len(r.below) > 0 {
			t.lineBelow(p, r.below)
		}
	}
	return dropped
}

func (t *table) holds(columns []int, group string) bool {
	return slices.ContainsFunc(columns, func(i int) bool { return t.columns[i].group == group })
}

// fit chooses the columns and their widths.
func (t *table) fit(width int) (columns, sizes []int) {
	roomy := make([]int, len(t.columns))
	sizes = make([]int, len(t.columns))
	for i, c := range t.columns {
		columns = append(columns, i)
		sizes[i] = escape.Cells(c.title)
		if i == 0 || t.columns[i-1].group != c.group {
			sizes[i] = max(sizes[i], escape.Cells(c.group))
		}
		for _, r := range t.rows {
			sizes[i] = max(sizes[i], escape.Cells(r.cells[i].text))
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
			if d := t.columns[i].drop; d > 0 && (victim < 0 || d >= t.columns[columns[victim]].drop) {
				victim = at
			}
		}
		if least <= width || victim < 0 {
			break
		}
		columns = slices.Delete(columns, victim, victim+1)
	}
	for i, c := range t.columns {
		if c.flex && width > 0 {
			over := t.span(columns, sizes, false) - width
			sizes[i] = max(min(sizes[i], minFlex), sizes[i]-max(0, over))
		}
	}
	return columns, sizes
}

// span returns the width of a line of these columns, with the flexible ones at their least if requested.
func (t *table) span(columns, sizes []int, least bool) int {
	n := 0
	for at, i := range columns {
		if at > 0 {
			n += t.gap(columns[at-1], i)
		}
		if least && t.columns[i].flex {
			n += min(sizes[i], minFlex)
		} else {
			n += sizes[i]
		}
	}
	return n
}

// gap returns the space between two columns: more where a group begins or ends.
func (t *table) gap(left, right int) int {
	if t.space > 0 {
		return t.space
	}
	if t.columns[left].group == t.columns[right].group && t.columns[left].group != "" {
		return 1
	}
	return 2
}

// line prints a row. Text without room in a flexible column goes on in the lines below.
func (t *table) line(p *printer, columns, sizes []int, cell func(int) span) {
	pending, at := 0, 0
	var below folding
	var look style
	for n, i := range columns {
		if n > 0 {
			pending += t.gap(columns[n-1], i)
			at += t.gap(columns[n-1], i)
		}
		s := cell(i)
		if t.columns[i].flex && p.width > 0 && escape.Cells(s.text) > sizes[i] {
			below, look = margins{t.indent, p.width}.fold(s.text, at, sizes[i], n == len(columns)-1), s.style
			s.text = below.lines[0]
		}
		at += sizes[i]
		space := max(0, sizes[i]-escape.Cells(s.text))
		if t.columns[i].right {
			pending += space
			space = 0
		}
		if s.text != "" {
			p.b.WriteString(strings.Repeat(" ", pending))
			p.paint(s.text, s.style)
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
func (t *table) heading(p *printer, columns, sizes []int) {
	groups := slices.ContainsFunc(columns, func(i int) bool { return t.columns[i].group != "" })
	var b strings.Builder
	for at := 0; at < len(columns); {
		if at > 0 {
			b.WriteString(strings.Repeat(" ", t.gap(columns[at-1], columns[at])))
		}
		group, n, end := t.columns[columns[at]].group, sizes[columns[at]], at+1
		for ; group != "" && end < len(columns) && t.columns[columns[end]].group == group; end++ {
			n += 1 + sizes[columns[end]]
		}
		b.WriteString(rule(group, n))
		at = end
	}
	if groups {
		p.paint(strings.TrimRight(b.String(), " "), dim)
		p.blank()
	}
	if slices.ContainsFunc(t.columns, func(c column) bool { return c.title != "" }) {
		t.line(p, columns, sizes, func(i int) span { return span{t.columns[i].title, dim} })
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
func (t *table) lineBelow(p *printer, spans []span) {
	indent := strings.Repeat(" ", t.indent)
	p.b.WriteString(indent)
	p.wrapFrom(t.indent, indent, fitting(splitWords(spans), p.width-t.indent))
	p.blank()
}
