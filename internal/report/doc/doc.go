// Package doc has reports for people as documents. A document has headings, fields, paragraphs, tables and code, in
// order. Three back ends write a document: [Document.Text] for a terminal, [Document.Markdown] for pull requests, and
// [Document.HTML], a page without scripts. Every text may come from a traced process: the back ends escape it. The
// choice and order of blocks belong to the layouts, in packages text and sheet.
package doc

import (
	"fmt"

	"ipytracer/internal/report/escape"
)

// Document is a report for people.
type Document struct {
	Title string // of a page
	// Flow: Markdown has only the lines and tables, in their order, and no sections. The document's texts are then
	// written as Markdown, so each text of a notebook must be a [Source].
	Flow   bool
	blocks []block
	on     Medium
	item   int
}

// block is a part of a document, on one medium or on all.
type block struct {
	on   Medium
	item int // the index of the list item that it belongs to, see [Document.Item]
	part any // one of the types below, or a *Table
}

// Medium is where a block is shown.
type Medium uint8

// The media. A terminal has less room than a page: what a page shows in a table, a terminal may show in a line.
const (
	Everywhere Medium = iota
	Terminal
	Page
)

// On sets the medium on which the following blocks are shown.
func (d *Document) On(m Medium) { d.on = m }

// Item sets the list item that the following blocks belong to, by its index. A page leaves out the blocks of items
// beyond a number.
func (d *Document) Item(index int) { d.item = index }

func (d *Document) add(part any) { d.blocks = append(d.blocks, block{d.on, d.item, part}) }

type (
	blank   struct{}
	heading string
	// paragraph is a text that is wrapped at the width.
	paragraph struct {
		first  string // in front of the first line
		indent string // in front of later lines
		words  [][]Span
		fit    bool // words that are longer than a line are split
	}
	// line is one line: whole is never cut, and cut is cut at the width.
	line struct{ whole, cut []Span }
	// field is a name with values.
	field struct {
		name  string
		parts []Span
	}
	// firstLine is one of the first lines of a report.
	firstLine struct {
		Answer
		code  []string // parts of the text that are not wrapped
		forms []Form   // shorter ones
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

// Prose adds a paragraph of texts and [Span]s. On a terminal its lines but the first begin with indent.
func (d *Document) Prose(indent string, parts ...any) {
	d.add(paragraph{indent: indent, words: splitWords(Spans(parts...))})
}

// Note adds a remark below a table or a heading. It formats the text as [fmt.Sprintf] does.
func (d *Document) Note(format string, args ...any) { d.Prose("", Dim(fmt.Sprintf(format, args...))) }

// Below adds a paragraph, each line of which begins with indent. Words that are longer than a line are split.
func (d *Document) Below(indent string, parts []Span) {
	d.add(paragraph{indent, indent, splitWords(parts), true})
}

// Line adds one line: whole, and then as much of cut as fits into the width.
func (d *Document) Line(whole, cut []Span) { d.add(line{whole, cut}) }

// WithCode adds a paragraph with code between two texts. The code is never wrapped: it has a line of its own if it does
// not fit behind the text before it.
func (d *Document) WithCode(indent string, before []Span, code string, after ...Span) {
	words := append(splitWords(before), []Span{Plain(escape.Text(code))})
	if after = notEmpty(after); len(after) > 0 {
		words = append(words, splitWords(after)...)
	}
	d.add(paragraph{indent: indent, words: words})
}

// Field adds "name  value · value". A field without a value is left out.
func (d *Document) Field(name string, parts ...any) {
	if values := notEmpty(Spans(parts...)); len(values) > 0 {
		d.add(field{name, values})
	}
}

// Answer adds one of the first lines. The codes, which are parts of its text, are not wrapped.
func (d *Document) Answer(question, text string, codes ...string) {
	d.AnswerIn(question, Form{text, codes})
}

// Answers returns the first lines that the document has so far.
func (d *Document) Answers() (answers []Answer) {
	for _, b := range d.blocks {
		if a, ok := b.part.(firstLine); ok {
			answers = append(answers, a.Answer)
		}
	}
	return answers
}

// Code adds text to paste, which may have several lines.
func (d *Document) Code(text Span) { d.add(code(text)) }

// Table adds a table.
func (d *Document) Table(t *Table) { d.add(t) }
