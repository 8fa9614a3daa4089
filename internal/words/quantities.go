package words

import (
	"fmt"

	"ipytracer/model"
)

// Marks in front of figures that are not exact.
const (
	About       = "≈" // off by a known bound
	AtLeastMark = "≥" // at least this much
)

// Quantity is one of the sizes that users read from a figure.
type Quantity struct {
	Title string
	Of    func(model.Figure) int64
	high  bool // it is computed from the peak: after a loss the true value can only be larger
}

// The quantities.
var (
	Need     = Quantity{"need", model.Figure.Need, true}
	Consumed = Quantity{"consumed", func(f model.Figure) int64 { return f.Consumed }, false}
	Peaked   = Quantity{"peaked", func(f model.Figure) int64 { return f.Peaked }, true}
	Total    = Quantity{"total", func(f model.Figure) int64 { return f.End }, false}
	Start    = Quantity{"start", func(f model.Figure) int64 { return f.Start }, false}
	Highest  = Quantity{"highest", func(f model.Figure) int64 { return f.Peak }, true}
)

// Text returns the size of a figure with the mark of its certainty; a dash if there is no figure.
func (q Quantity) Text(f *model.Figure) string {
	if f == nil {
		return "–"
	}
	return q.Mark(f.Exact, f.Bound) + Bytes(q.Of(*f))
}

// At is Text for the figure of a meter among those of a window.
func (q Quantity) At(figures map[string]model.Figure, meter string) string {
	if f, ok := figures[meter]; ok {
		return q.Text(&f)
	}
	return q.Text(nil)
}

// Mark returns the mark in front of a size, "" if it is exact.
func (q Quantity) Mark(exact bool, bound *int64) string {
	switch {
	case exact:
		return ""
	case bound == nil && q.high:
		return AtLeastMark
	}
	return About
}

// BytesOrMore returns a size, marked as a lower bound unless it is exact.
func BytesOrMore(bytes int64, exact bool) string {
	if !exact {
		return AtLeastMark + " " + Bytes(bytes)
	}
	return Bytes(bytes)
}

// Freed returns by how much memory falls when an entry's code runs: of the CPU, of a GPU, or of both. Beside a GPU's
// memory it leaves out less than least bytes of the CPU's. If nobody knows by how much resident memory falls, it
// returns the size of the objects instead.
func Freed(f *model.Freeing, least int64) string {
	cpu := BytesOrMore(f.Falls(), f.Exact)
	if f.OfObjects() {
		cpu = Objects + cpu
	}
	switch gpu := BytesOrMore(f.Device, f.Exact) + " GPU"; {
	case f.Device == 0:
		return cpu
	case f.Falls() < least:
		return gpu
	default:
		return cpu + " + " + gpu
	}
}

// Objects stands in front of the size of objects.
const Objects = "objects of "

// Sampled puts a "~" in front of a size or a count that is estimated from samples.
func Sampled(figure string, isEstimate bool) string {
	if isEstimate {
		return "~" + figure
	}
	return figure
}

// SampledLines says how many bytes of lines at the peak are estimated, and how far they may be off (standard error).
func SampledLines(bytes, standardError int64) string {
	return fmt.Sprintf("~ %s at the peak are estimated, ± %s: of blocks below 64 KiB only samples were recorded "+
		"at times, to keep the overhead budget. The meter counted each.",
		Bytes(bytes), Bytes(standardError))
}
