package text

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// segment is one figure of the live line.
type segment struct {
	name, meter string
	q           quantity
	drop        int // the highest gives way first when the width is short
	tree        bool
}

// minLiveSource is the least width of the source in the live line; figures give way to it. It does not depend on the
// source, so that the lines of a session stay aligned.
const minLiveSource = 20

// Live writes the line of a cell at its end, and below it the remarks that it has no room for.
func Live(w io.Writer, window model.Window, o Options) error {
	p := o.printer()
	first := o.By
	if first == "" {
		first = "cpu.resident"
	}
	segments := []segment{
		{name: "consumed", meter: first, q: consumed},
		{name: "peaked", meter: first, q: peaked, drop: 3},
		{name: "total", meter: first, q: total, drop: 1},
		{name: "need", meter: first, q: need},
	}
	others := words.BesideResident()
	for _, id := range (&model.Report{Windows: []model.Window{{Meters: window.Meters}}}).AllMeters() {
		if !words.IsPart(id) && !slices.Contains(others, id) {
			others = append(others, id)
		}
	}
	for i, id := range others {
		if _, ok := window.Meters[id]; ok && id != first && id != "cpu.mapped" { // mapped is not memory yet
			segments = append(segments, segment{name: meterName(id), meter: id, q: need, drop: 10 + i})
		}
	}
	if len(window.Children) > 0 {
		segments = append(segments, segment{name: "tree", meter: first, q: highest, drop: 2, tree: true})
	}
	liveLine(p, window, segments)
	_, err := io.WriteString(w, p.b.String())
	return err
}

// liveLine prints as many figures as fit, the time, remarks, and as much of the source as fits.
func liveLine(p *printer, window model.Window, segments []segment) {
	lead := span{escape.Pad(escape.Bounded(label(window), maxName), 8, false) + liveKernel(&window, p.width), bold}
	time := span{"  " + escape.Pad(words.Duration(window.DurationNS), 8, true) + "  ", plain}
	used := escape.Cells(lead.text) + escape.Cells(time.text)
	texts := make([][]span, len(segments))
	for i, s := range segments {
		figures := window.Meters
		if s.tree {
			figures = window.Figures()
		}
		value := s.q.show(figures, s.meter)
		texts[i] = []span{{"  " + s.name + " ", dim}, {escape.Pad(value.text, usualSize, true), value.style}}
		used += spanCells(texts[i])
	}
	for p.width > 0 && used+minLiveSource > p.width {
		victim := 0
		for i, s := range segments {
			if texts[i] != nil && s.drop > segments[victim].drop {
				victim = i
			}
		}
		if segments[victim].drop == 0 {
			break
		}
		used -= spanCells(texts[victim])
		texts[victim] = nil
	}
	line := append([]span{lead}, slices.Concat(texts...)...)
	for _, part := range append(line, time) {
		p.paint(escape.Text(part.text), part.style)
	}
	notes := remarks(window)
	source := span{escape.OneLine(window.Source, window.SourceTruncated, cmp.Or(p.width, maxProse)), plain}
	if p.width == 0 || used+spanCells(trimmed(notes)) <= p.width {
		p.clipped(trimmed(append(notes, source)), p.width-used)
		p.blank()
		return
	}
	p.clipped([]span{source}, p.width-used) // remarks have lines of their own: none of them is left out
	p.blank()
	indent := strings.Repeat(" ", rowIndent)
	p.b.WriteString(indent)
	p.wrapFrom(rowIndent, indent, fitting(splitWords(trimmed(notes)), p.width-rowIndent))
	p.blank()
}

func spanCells(spans []span) int {
	n := 0
	for _, s := range spans {
		n += escape.Cells(escape.Text(s.text))
	}
	return n
}
