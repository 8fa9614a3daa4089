package text

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Marks in front of figures that are not exact.
const (
	about   = "≈" // off by a known bound
	atLeast = "≥" // at least this much
)

// label returns the name of a window for people: In[3], an experiment's name, line 7. A cell that IPython ran without
// storing it is "(silent)", one with an unknown number "-". The result is not escaped.
func label(w model.Window) string {
	switch {
	case w.Kind == model.Experiment:
		return w.Name
	case w.Kind == model.Statement && w.Line > 0:
		return fmt.Sprintf("line %d", w.Line)
	case w.Kind == model.Statement && w.Name != "":
		return w.Name
	case w.Kind == model.Session:
		return "session"
	case w.Silent:
		return "(silent)"
	case w.ExecutionCount == nil:
		return "-"
	}
	return words.In(*w.ExecutionCount)
}

// quantity is one of the sizes that users read from a figure.
type quantity struct {
	title string
	of    func(model.Figure) int64
	// high: it rests on the peak, so a loss can only make it larger.
	high bool
}

var (
	need     = quantity{"need", model.Figure.Need, true}
	consumed = quantity{"consumed", func(f model.Figure) int64 { return f.Consumed }, false}
	peaked   = quantity{"peaked", func(f model.Figure) int64 { return f.Peaked }, true}
	total    = quantity{"total", func(f model.Figure) int64 { return f.End }, false}
	start    = quantity{"start", func(f model.Figure) int64 { return f.Start }, false}
	highest  = quantity{"highest", func(f model.Figure) int64 { return f.Peak }, true}
)

// show returns one quantity of a window's figure for a meter; a dash if it has none.
func (q quantity) show(figures map[string]model.Figure, meter string) span {
	f, ok := figures[meter]
	if !ok {
		return span{"–", dim}
	}
	text := words.Bytes(q.of(f))
	switch {
	case f.Exact && q.of(f) == 0:
		return span{text, dim}
	case f.Exact:
		return span{text, plain}
	case f.Bound == nil && q.high:
		return span{atLeast + text, yellow}
	default:
		return span{about + text, yellow}
	}
}

// meterName returns the name of a meter for people: resident, numpy, GPU 0 active.
func meterName(id string) string { return words.Meter(id) }

// headlines returns the meters of a table, the ranking one first, without parts of others.
func headlines(r *model.Report, by string) ([]string, error) {
	known := r.AllMeters()
	if by != "" && !slices.Contains(known, by) {
		return nil, fmt.Errorf("rank by %q: no such meter here; there are: %s", by, strings.Join(known, ", "))
	}
	ids := append([]string{by}, words.Headlines(known)...) // GPUs beside the CPU: the first meters get room
	ids = slices.DeleteFunc(ids, func(id string) bool { return !slices.Contains(known, id) })
	for _, id := range known {
		if !words.IsPart(id) {
			ids = append(ids, id)
		}
	}
	var unique []string
	for _, id := range ids {
		if !slices.Contains(unique, id) {
			unique = append(unique, id)
		}
	}
	return unique, nil
}
