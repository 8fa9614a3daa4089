// Package live is the screen of a running session, as rows of text in styles, and the effects of keys on it. Every text
// of a traced process is escaped. The source of the figures does not belong here. Only [Display] and [Terminal] touch a
// terminal: the one that the tracer was started from.
package live

import (
	"fmt"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/report/text"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Style is the look of a piece of text. No information is in the style alone.
type Style uint8

// The styles.
const (
	Plain Style = iota
	Bold
	Dim
	Good
	Warn
	Bad
	Reverse
)

// Span is a piece of a row in one style; its text is escaped.
type Span struct {
	Text  string
	Style Style
}

// Row is one line of a screen.
type Row []Span

// String returns the row without its styles.
func (r Row) String() string {
	var out strings.Builder
	for _, s := range r {
		out.WriteString(s.Text)
	}
	return strings.TrimRight(out.String(), " ")
}

// The least room for a screen, in cells.
const (
	LeastWidth  = 40
	LeastHeight = 10
)

// lowScreen is the height below which the table gets the room of the parts above it.
const lowScreen = 16

// Screen returns the height rows for a terminal, none wider than width. The glance is nil while nothing is known yet.
// It changes s.Offset if the table is shorter than that.
func Screen(glance *model.Glance, s *State, width, height int) []Row {
	p := &page{state: s, width: width, low: height < lowScreen}
	switch {
	case width < LeastWidth || height < LeastHeight:
		p.add(Span{fmt.Sprintf("tracer top needs %d × %d cells", LeastWidth, LeastHeight), Plain})
	case s.Help:
		p.help()
	case glance == nil || len(glance.Kernels) == 0:
		p.title(glance, nil)
		p.add(Span{"attached; nothing has been seen yet", Plain})
	default:
		k := s.kernel(glance)
		p.title(glance, k)
		p.cell(glance, k)
		p.figures(glance, k)
		p.lacks(glance, k)
		p.slower(glance)
		p.own(glance)
		if !p.low {
			p.add()
		}
		p.table(k, height-len(p.rows)-1)
	}
	rows := p.rows[:min(len(p.rows), height-1)]
	for len(rows) < height-1 {
		rows = append(rows, Row{})
	}
	p.rows = rows
	p.footer()
	return p.rows
}

// Text returns all tables of all processes as text, to be read once. Rows wider than width go on in lines below; a
// width of 0 or less is no limit.
func Text(glance *model.Glance, s *State, width int) string {
	p := &page{state: s, width: width, whole: true}
	for i := range glance.Kernels {
		kernel := &glance.Kernels[i]
		if i == 0 {
			p.title(glance, kernel)
			p.lacks(glance, kernel)
			p.slower(glance)
			p.own(glance)
		}
		p.add()
		p.cell(glance, kernel)
		p.figures(glance, kernel)
		for tab := range tabs {
			if tab == Cells && !s.ListCells {
				continue
			}
			tabState := *s
			tabState.Tab, p.state = tab, &tabState
			if n := len(p.rowsOf(kernel)); n > 0 || tab == Lines {
				p.add()
				p.table(kernel, n+tableFrame)
			}
		}
		p.state = s
	}
	if len(glance.Kernels) == 0 {
		p.title(glance, nil)
	}
	if glance.Truncated {
		p.add(Span{fmt.Sprintf("… and more than %d processes", len(glance.Kernels)), Dim})
	}
	var out strings.Builder
	for _, r := range p.rows {
		out.WriteString(r.String())
		out.WriteByte('\n')
	}
	return out.String()
}

// page collects rows.
type page struct {
	state *State
	width int
	rows  []Row
	low   bool // the screen is low: only the main parts are shown
	whole bool // nothing is cut: rows that are too wide go on below
}

// add adds a row. A whole page folds the row; any other page cuts it to the width, if there is one.
func (p *page) add(spans ...Span) {
	if p.whole {
		p.rows = append(p.rows, folded(spans, p.width, p.state.ASCII)...)
		return
	}
	row := Row{}
	room := p.width
	for _, s := range spans {
		s.Text = escape.Text(s.Text)
		if p.state.ASCII {
			s.Text = ascii(s.Text)
		}
		if p.width > 0 {
			if room <= 0 {
				break
			}
			cells := escape.Cells(s.Text)
			s.Text = escape.Cut(s.Text, room)
			if p.state.ASCII { // the text is ASCII, so an ellipsis is that of the cut
				s.Text = strings.TrimSuffix(s.Text, "…")
			}
			room -= cells // below 0 after a cut
		}
		if s.Text != "" {
			row = append(row, s)
		}
	}
	p.rows = append(p.rows, row)
}

// spread adds a row with a text at its right end. If there is no room, the text is left out.
func (p *page) spread(right string, spans ...Span) {
	gap := p.gap(right, spans)
	if right != "" && gap > 0 {
		spans = append(spans, Span{strings.Repeat(" ", gap) + right, Plain})
	}
	p.add(spans...)
}

// gap returns the number of cells between spans and a text at the right edge: 0 or less if they do not fit into one
// row, and 2 if the width is not limited.
func (p *page) gap(right string, spans []Span) int {
	if p.width == 0 {
		return 2
	}
	used := 0
	for _, s := range spans {
		used += escape.Cells(escape.Text(s.Text))
	}
	return p.width - used - escape.Cells(right)
}

// asciiFor replaces the characters that our own texts use, for a terminal without UTF-8.
var asciiFor = strings.NewReplacer("›", ">", "…", ".", "≥", ">=", "≈", "~", "·", "-", "–", "-", "µ", "u", "⏎", "|",
	"×", "x", "▼", "v", "▲", "^", "█", "#", "▒", "=", "░", ".", "→", "->", "—", "-")

// ascii returns a text in ASCII, for a terminal without UTF-8. Unknown characters become question marks.
func ascii(text string) string {
	text = asciiFor.Replace(text)
	return strings.Map(func(char rune) rune {
		if char > '~' {
			return '?'
		}
		return char
	}, text)
}

// title names the traced processes, and the time since the session began.
func (p *page) title(glance *model.Glance, kernel *model.Kernel) {
	left := []Span{{"tracer top", Bold}}
	if kernel != nil {
		left = append(left, Span{fmt.Sprintf("  pid %d", kernel.PID), Plain})
		for _, part := range []string{
			kernel.Frontend, version("Python", kernel.Python), version("IPython", kernel.IPython),
		} {
			if part != "" {
				left = append(left, Span{" · " + escape.Bounded(part, 40), Plain})
			}
		}
		if kernel.Frontend == "" && kernel.IPython == "" {
			left = append(left, Span{" · " + escape.Bounded(kernel.Command, 40), Plain})
		}
		if kernel.Ended {
			left = append(left, Span{" · ended", Warn})
		}
	}
	right := ""
	if glance != nil {
		right = words.Duration(glance.ElapsedNS)
		if n := len(glance.Kernels); n > 1 && kernel != nil {
			right = fmt.Sprintf("process %d of %d · ", p.state.index(glance)+1, n) + right
		}
	}
	if p.state.Frozen { // a screen that does not change must say so, if need be in the place of the versions
		right = "FROZEN · " + right
		for len(left) > 2 && p.gap(right, left) <= 0 {
			left = left[:len(left)-1]
		}
		if p.gap(right, left) <= 0 {
			right = "FROZEN"
		}
	}
	p.spread(right, left...)
}

// version returns a program's name with its version; "" if the version is not known.
func version(program, number string) string {
	if number == "" {
		return ""
	}
	return program + " " + number
}

// needs returns the cell's need of resident memory. If a GPU's memory came nearest to its limit, it returns the need of
// that memory as well.
func needs(glance *model.Glance, kernel *model.Kernel, window *model.Window) string {
	own := words.Need.At(window.Meters, resident)
	near := kernel.Nearest(glance.GPUs)
	if len(near) == 0 || !words.OfGPU(near[0].Meter) || near[0].Share() <= 0 {
		return own
	}
	meter := near[0].Meter
	if _, ok := window.Meters[meter]; !ok {
		return own
	}
	return words.Need.At(window.Meters, meter) + " " + words.Limited(meter) + ", " + own + " resident"
}

// cell shows the running cell and its beginning, or the last cell.
func (p *page) cell(glance *model.Glance, kernel *model.Kernel) {
	if p.width == 0 && len(glance.Kernels) > 1 {
		p.add(Span{fmt.Sprintf("pid %d", kernel.PID), Bold})
	}
	if kernel.Cell == nil {
		p.add(Span{"no cell has run since the attach", Dim})
		return
	}
	window := kernel.Cell
	spans := []Span{{escape.Bounded(text.Label(*window), 40) + words.OfKernel(window.Kernel) + " ", Bold}}
	duration := Span{" " + words.Duration(window.DurationNS), Plain}
	if kernel.Running {
		spans = append(spans, Span{"running", Good}, duration)
		if s := kernel.Statement; s != nil {
			spans = append(spans, Span{" · " + escape.Bounded(text.Label(*s), 40), Plain})
		}
	} else {
		spans = append(spans, Span{"ran", Plain}, duration)
		if window.Status != model.OK {
			spans = append(spans, Span{" · " + window.Status, Warn})
		}
	}
	if window.Meters != nil {
		spans = append(spans, Span{" · need " + needs(glance, kernel, window), Plain})
	}
	if source := escape.OneLine(window.Source, window.SourceTruncated, 400); source != "" {
		spans = append(spans, Span{"   " + source, Dim})
	}
	p.add(spans...)
}
