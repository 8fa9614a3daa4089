package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// segment is one figure of the live line.
type segment struct {
	name, meter string
	q           words.Quantity
	drop        int  // if the width is too small, the segment with the highest drop is left out first; 0 is never
	tree        bool // the figure is that of the process with its children
}

// minLiveSource is the least width of the source in the live line; figures give way to it. It does not depend on the
// source, so that the lines of a session stay aligned.
const minLiveSource = 20

// Live writes the line about a cell that has just ended. Remarks that do not fit follow on a line below.
func Live(w io.Writer, window model.Window, o Options) error {
	first := cmp.Or(o.By, residentMeter)
	segments := []segment{
		{name: "consumed", meter: first, q: words.Consumed},
		{name: "peaked", meter: first, q: words.Peaked, drop: 3},
		{name: "total", meter: first, q: words.Total, drop: 1},
		{name: "need", meter: first, q: words.Need},
	}
	others := words.BesideResident()
	for _, id := range (&model.Report{Windows: []model.Window{{Meters: window.Meters}}}).AllMeters() {
		if !words.IsPart(id) && !slices.Contains(others, id) {
			others = append(others, id)
		}
	}
	for i, id := range others {
		if _, ok := window.Meters[id]; ok && id != first && id != "cpu.mapped" { // mapped is not memory yet
			segments = append(segments, segment{name: words.Meter(id), meter: id, q: words.Need, drop: 10 + i})
		}
	}
	if len(window.Children) > 0 {
		segments = append(segments, segment{name: "tree", meter: first, q: words.Highest, drop: 2, tree: true})
	}
	d := &doc.Document{}
	liveLine(d, o.Size().Width, window, segments)
	return d.Text(w, o.Size())
}

// liveLine prints the figures that fit into width, the time, the remarks, and the beginning of the source. A width of 0
// is no limit.
func liveLine(d *doc.Document, width int, window model.Window, segments []segment) {
	lead := doc.Bold(escape.Pad(escape.Bounded(Label(window), maxName), 8, false) + liveKernel(&window, width))
	time := doc.Plain("  " + escape.Pad(words.Duration(window.DurationNS), 8, true) + "  ")
	used := escape.Cells(lead.Text) + escape.Cells(time.Text)
	texts := make([][]doc.Span, len(segments))
	for i, s := range segments {
		figures := window.Meters
		if s.tree {
			figures = window.Figures()
		}
		value := doc.FigureAt(s.q, figures, s.meter)
		texts[i] = []doc.Span{doc.Dim("  " + s.name + " "),
			doc.In(value.Style, escape.Pad(value.Text, doc.UsualSize, true)),
		}
		used += doc.Cells(texts[i])
	}
	for width > 0 && used+minLiveSource > width {
		victim := 0
		for i, s := range segments {
			if texts[i] != nil && s.drop > segments[victim].drop {
				victim = i
			}
		}
		if segments[victim].drop == 0 {
			break
		}
		used -= doc.Cells(texts[victim])
		texts[victim] = nil
	}
	line := slices.Concat([]doc.Span{lead}, slices.Concat(texts...), []doc.Span{time})
	notes := remarks(window)
	source := doc.Plain(escape.OneLine(window.Source, window.SourceTruncated, cmp.Or(width, maxProse)))
	if width == 0 || used+doc.Cells(trimmed(notes)) <= width {
		d.Line(line, trimmed(append(notes, source)))
		return
	}
	d.Line(line, []doc.Span{source}) // remarks have lines of their own: none of them is left out
	d.Below(strings.Repeat(" ", doc.RowIndent), trimmed(notes))
}

// liveKernel returns the name of the cell's kernel for a live line of this width, with its pid; "" if the session has
// one kernel. In a narrow line it is the pid alone. It is padded, so that figures stand below each other.
func liveKernel(w *model.Window, width int) string {
	const usual, roomy = 20, 110
	if w.Kernel == "" {
		return ""
	}
	if width > 0 && width < roomy {
		return escape.Pad(fmt.Sprint(w.PID), 8, false)
	}
	text := escape.Bounded(w.Kernel, maxName)
	if pid := fmt.Sprintf("pid %d", w.PID); !strings.Contains(text, pid) {
		text = fmt.Sprintf("%d ", w.PID) + text
	}
	return escape.Pad(text, usual, false)
}
