package doc

import (
	"fmt"
	"slices"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Style is the look of a piece of text. A style never carries information that the text does not.
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
	codes   = [...]string{"", "1", "2", "31", "32", "33", "33", "32", "33"} // of a terminal, by style
	classes = map[Style]string{More: "more", Less: "less", Doubt: "doubt"}  // of a page
)

// Change returns the style of a difference: More, Less, or Normal for 0.
func Change(difference int64) Style {
	switch {
	case difference > 0:
		return More
	case difference < 0:
		return Less
	}
	return Normal
}

// Span is a piece of text in one style. The text may be hostile.
type Span struct {
	Text  string
	Style Style
	// Source: the text is a notebook's, and a page shows it as code.
	Source bool
}

// Plain returns a text without a style.
func Plain(text string) Span { return Span{Text: text} }

// Bold returns a text in the style of what matters most.
func Bold(text string) Span { return Span{Text: text, Style: strong} }

// Dim returns a text in the style of what matters less.
func Dim(text string) Span { return Span{Text: text, Style: faint} }

// Red returns a text in the style of what failed.
func Red(text string) Span { return Span{Text: text, Style: bad} }

// Green returns a text in the style of what is well.
func Green(text string) Span { return Span{Text: text, Style: good} }

// Yellow returns a text in the style of what is not certain.
func Yellow(text string) Span { return Span{Text: text, Style: warning} }

// Source returns a text of a notebook, which a page shows as code.
func Source(text string) Span { return Span{Text: text, Source: true} }

// In returns a text in a style.
func In(style Style, text string) Span { return Span{Text: text, Style: style} }

// Spans returns its arguments as one list of spans. It flattens lists of spans, and formats other values as
// [fmt.Sprint] does.
func Spans(parts ...any) (spans []Span) {
	for _, part := range parts {
		switch part := part.(type) {
		case Span:
			spans = append(spans, part)
		case []Span:
			spans = append(spans, part...)
		case Mark:
			spans = append(spans, part.sign)
		default:
			spans = append(spans, Plain(fmt.Sprint(part)))
		}
	}
	return spans
}

// notEmpty removes spans without a text. It overwrites its argument.
func notEmpty(spans []Span) []Span {
	return slices.DeleteFunc(spans, func(s Span) bool { return s.Text == "" })
}

// Cells returns the width of spans on a terminal, escaped.
func Cells(spans []Span) int {
	n := 0
	for _, s := range spans {
		n += escape.Cells(escape.Text(s.Text))
	}
	return n
}

// Figure returns a quantity of a figure, in the style of its certainty; a dash for nil.
func Figure(q words.Quantity, f *model.Figure) Span {
	switch {
	case f == nil || f.Exact && q.Of(*f) == 0:
		return Dim(q.Text(f))
	case f.Exact:
		return Plain(q.Text(f))
	}
	return In(Doubt, q.Text(f))
}

// FigureAt is [Figure] for the figure of a meter, of those of a window.
func FigureAt(q words.Quantity, figures map[string]model.Figure, meter string) Span {
	if f, ok := figures[meter]; ok {
		return Figure(q, &f)
	}
	return Figure(q, nil)
}

// Mark is a sign in a colour for the state of something.
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

// Dash returns a text of a traced process, escaped; "-" if it is empty.
func Dash(s string) string {
	if s == "" {
		return "-"
	}
	return escape.Text(s)
}
