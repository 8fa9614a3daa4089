package doc

import (
	"fmt"
	"slices"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Style is the look of a piece of text. No information is in it alone.
type Style uint8

// The styles. More, Less and Doubt are colours of a terminal, and classes of their own on a page.
const (
	Normal Style = iota
	strong
	faint
	bad
	good
	warning
	More
	Less
	Doubt
)

var (
	codes   = [...]string{"", "1", "2", "31", "32", "33", "33", "32", "33"}
	classes = map[Style]string{More: "more", Less: "less", Doubt: "doubt"}
)

// Change returns the style of a difference.
func Change(by int64) Style {
	switch {
	case by > 0:
		return More
	case by < 0:
		return Less
	}
	return Normal
}

// Span is a piece of text in one style. The text may be hostile.
type Span struct {
	Text  string
	Style Style
	// Source: the text is code, on a page.
	Source bool
}

// Plain returns a text.
func Plain(text string) Span { return Span{Text: text} }

// Bold returns a text that matters.
func Bold(text string) Span { return Span{Text: text, Style: strong} }

// Dim returns a text beside what matters.
func Dim(text string) Span { return Span{Text: text, Style: faint} }

// Red returns a text about what failed.
func Red(text string) Span { return Span{Text: text, Style: bad} }

// Green returns a text about what is well.
func Green(text string) Span { return Span{Text: text, Style: good} }

// Yellow returns a text about what is not certain.
func Yellow(text string) Span { return Span{Text: text, Style: warning} }

// Source returns code of a notebook.
func Source(text string) Span { return Span{Text: text, Source: true} }

// In returns a text in a style.
func In(style Style, text string) Span { return Span{Text: text, Style: style} }

// Spans returns texts and spans as spans, and the spans of lists of them.
func Spans(parts ...any) (all []Span) {
	for _, part := range parts {
		switch part := part.(type) {
		case Span:
			all = append(all, part)
		case []Span:
			all = append(all, part...)
		case Mark:
			all = append(all, part.sign)
		default:
			all = append(all, Plain(fmt.Sprint(part)))
		}
	}
	return all
}

func notEmpty(all []Span) []Span {
	return slices.DeleteFunc(all, func(s Span) bool { return s.Text == "" })
}

// Cells returns the width of spans.
func Cells(spans []Span) int {
	n := 0
	for _, s := range spans {
		n += escape.Cells(escape.Text(s.Text))
	}
	return n
}

// Figure returns a quantity of a figure; a dash if there is none.
func Figure(q words.Quantity, f *model.Figure) Span {
	switch {
	case f == nil || f.Exact && q.Of(*f) == 0:
		return Dim(q.Text(f))
	case f.Exact:
		return Plain(q.Text(f))
	}
	return In(Doubt, q.Text(f))
}

// FigureAt is Figure for a meter among the figures of a window.
func FigureAt(q words.Quantity, figures map[string]model.Figure, meter string) Span {
	if f, ok := figures[meter]; ok {
		return Figure(q, &f)
	}
	return Figure(q, nil)
}

// Mark is a sign with a colour for a state.
type Mark struct{ sign Span }

// The marks of commands.
var (
	Good    = Mark{Green("✓")}
	Bad     = Mark{Red("✗")}
	Reduced = Mark{Yellow("~")}
	Unknown = Mark{Plain("?")}
)

// MarkOf returns Good or Bad.
func MarkOf(good bool) Mark {
	if good {
		return Good
	}
	return Bad
}

// Dash returns a text of a traced process, made safe to show; "-" if it is empty.
func Dash(s string) string {
	if s == "" {
		return "-"
	}
	return escape.Text(s)
}
