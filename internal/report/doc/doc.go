// Package doc has reports for people as documents: headings, fields, paragraphs, tables and code, in order. Three back
// ends write a document: [Document.Text] for a terminal, [Document.Markdown] for pull requests, and [Document.HTML], a
// page without scripts. Every text may come from a traced process: the back ends escape it. The choice and order of
// blocks belong to the layouts, in packages text and sheet.
package doc

import (
	"fmt"

	"ipytracer/internal/report/escape"
)

// Document is a report for people.
type Document struct {
	Title string // of a page
	// Flow: Markdown has lines and tables in their order, not in a section for each heading. Their texts are Markdown
	// then, and each text of a notebook must be a [Source].
	Flow   bool
	blocks []block
	on     Medium
	item   int
}

// block is a part of a document, on one medium or on all.
type block struct {
	on   Medium
	item int // its place in a list, of which a page has only the first
	part any // one of the types below
}

// Medium is where a block is shown.
type Medium uint8

// The media. A terminal and a page differ in room: one says in a line what the other has a table for.
const (
	Everywhere Medium = iota
	Terminal
	Page
)

// On has the following blocks shown on one medium.
func (d *Document) On(m Medium) { d.on = m }

// Item has the following blocks belong to an item of a list, by its index. A page has only the first items.
func (d *Document) Item(index int) { d.item = index }

func (d *Document) add(part any) { d.blocks = append(d.blocks, block{d.on, d.item, part}) }

type (
	blank   struct{}
	heading string
	// paragraph is words, wrapped between them at the width. Later lines begin with the indentation.
	paragraph struct {
		first, indent string
		words         [][]Span
		fit           bool // words that are longer than a line are split
	}
	// line is one line. Its second part is cut at the width.
	line struct{ whole, cut []Span }
	// field is a name and what is to say about it.
	field struct {
		name  string
		parts []Span
	}
	// firstLine is one of the first lines of a report. The code in it stays in one piece.
	firstLine struct {
		Answer
		code []string
	}
	// code is text to paste. It is never wrapped.
	code Span
)

// Answer is one of the first lines of a report.
type Answer struct{ Question, Text string }

// Blank adds an empty line.
func (d *Document) Blank() { d.add(blank{}) }

// Heading begins a section.
func (d *Document) Heading(text string) { d.add(heading(text)) }

// Prose adds a paragraph of texts and [Span]s. On a terminal its later lines begin with indent.
func (d *Document) Prose(indent string, parts ...any) {
	d.add(paragraph{indent: indent, words: splitWords(Spans(parts...))})
}

// Note adds a remark below a table or a heading, as [fmt.Sprintf] makes it.
func (d *Document) Note(format string, args ...any) { d.Prose("", Dim(fmt.Sprintf(format, args...))) }

// Below adds a paragraph that begins with its indentation. Words that are longer than a line are split.
func (d *Document) Below(indent string, parts []Span) {
	d.add(paragraph{indent, indent, splitWords(parts), true})
}

// Line adds one line, of which the second part is cut at the width.
func (d *Document) Line(whole, cut []Span) { d.add(line{whole, cut}) }

// WithCode adds a paragraph with code between two texts. The code is one word, and so stands whole on a line of its own
// where it does not fit behind the text before it.
func (d *Document) WithCode(indent string, before []Span, code string, after ...Span) {
	words := append(splitWords(before), []Span{Plain(escape.Text(code))})
	if after = notEmpty(after); len(after) > 0 {
		words = append(words, splitWords(after)...)
	}
	d.add(paragraph{indent: indent, words: words})
}

// Field adds "name  value · value". A field without a value is left out.
func (d *Document) Field(name string, parts ...any) {
	if all := notEmpty(Spans(parts...)); len(all) > 0 {
		d.add(field{name, all})
	}
}

// Answer adds one of the first lines. Code in its text stays in one piece.
func (d *Document) Answer(question, text string, codes ...string) {
	d.add(firstLine{Answer{question, text}, codes})
}

// Answers returns the first lines.
func (d *Document) Answers() (all []Answer) {
	for _, b := range d.blocks {
		if a, ok := b.part.(firstLine); ok {
			all = append(all, a.Answer)
		}
	}
	return all
}

// Code adds text to paste, which may have several lines.
func (d *Document) Code(text Span) { d.add(code(text)) }

// Table adds a table, if it has a row or belongs on a page.
func (d *Document) Table(t *Table) { d.add(t) }
