package doc

import "slices"

// Text returns the mark for a terminal, with or without its colour.
func (m Mark) Text(color bool) string {
	p := printer{color: color}
	p.paint(m.sign.Text, m.sign.Style)
	return p.b.String()
}

// Listing is a table that a command prints by itself, without a document.
type Listing struct {
	Table
	color bool
	right []int
}

// NewListing returns an empty table. right are the numbers, from 1, of the columns that are aligned to the right.
func NewListing(color bool, right ...int) *Listing {
	return &Listing{color: color, right: right, Table: Table{Space: 1}}
}

// Header gives the columns their titles.
func (l *Listing) Header(titles ...string) {
	l.widen(len(titles))
	for i, title := range titles {
		l.Columns[i].title = title
	}
}

// Row adds a row of marks, texts, and any values that fmt prints.
func (l *Listing) Row(cells ...any) {
	l.widen(len(cells))
	l.Table.Row(cells...)
}

// String returns the table, without a line feed behind its last line.
func (l *Listing) String() string { return l.Table.String(l.color) }

// widen adds columns until the table has n.
func (l *Listing) widen(n int) {
	for len(l.Columns) < n {
		l.Columns = append(l.Columns, Column{right: slices.Contains(l.right, len(l.Columns)+1)})
	}
}
