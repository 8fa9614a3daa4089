// Package sheet lays out comparisons, plans, merged recordings, audits, advice, trials and checks as documents. A
// document is for a terminal or a page without scripts. A session's Markdown is such a document, too. The content and
// order of such a document belong here; the interactive page of a session does not.
package sheet

import (
	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
)

// Options are settings of a document. With the zero value, long lists are cut and small figures are left out.
type Options struct {
	// Full leaves nothing out.
	Full bool
	// Cells is the number of cells in the tables of a terminal; 0 is the usual one, or all of them if Full.
	Cells int
}

// layout is a document under construction.
type layout struct {
	*doc.Document
	o Options
}

func newLayout(title string, o Options) layout { return layout{&doc.Document{Title: title}, o} }

// The lengths at which names and texts from the target are cut.
const (
	maxName  = 28
	maxProse = 400
	maxLead  = 160 // a cell's source
)

// clip returns a text of a notebook in one line, cut to a row's width.
func clip(text string) string { return escape.OneLine(text, false, maxLead) }

// code returns code of a notebook, cut to a row's width.
func code(text string) doc.Span { return doc.Source(clip(text)) }

// changed returns a difference with its sign, in the style of more or of less memory.
func changed(bytes int64) doc.Span { return doc.In(doc.Change(bytes), words.Change(bytes)) }

func abs(n int64) int64 { return max(n, -n) }

// more adds a note about n items that a terminal leaves out. what is one such item.
func (l layout) more(n int, what string) {
	if n > 0 {
		l.Note("… and %s; --full prints all.", words.Plural(n, "more "+what))
	}
}

// doubts lists the reasons why the document may mislead.
func (l layout) doubts(doubts []string) {
	const most = 12
	if len(doubts) == 0 {
		return
	}
	l.On(doc.Everywhere)
	l.Heading("Doubts")
	l.On(doc.Terminal)
	shown := doubts
	if !l.o.Full {
		shown = doubts[:min(len(doubts), most)]
	}
	for _, text := range shown {
		l.Prose("  ", doc.Dim("· "), doc.Yellow(escape.Bounded(text, maxProse)))
	}
	l.more(len(doubts)-len(shown), "doubt")
	l.On(doc.Page)
	l.Prose("", "What speaks against taking everything at its word.")
	table := &doc.Table{Columns: []doc.Column{doc.Left("doubt")}, Item: "doubt", More: "%s"}
	for _, text := range doubts {
		table.Row(doc.In(doc.Doubt, text))
	}
	l.Table(table)
}

// sizeColumn is the width of a column of sizes. Only the sum of a CPU's and a GPU's memory is longer.
const sizeColumn = 12
