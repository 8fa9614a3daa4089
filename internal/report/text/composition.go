package text

import (
	"fmt"
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// The largest number of named parts of the highest moment, and the reciprocal of the least share of a part.
const (
	mostParts = 4
	hardly    = 50
)

// madeBy names the parts of the highest moment, the largest first. The others follow as one sum: what is shown adds up
// to the figure.
func (m moment) madeBy() string {
	if text := words.Account(m.account(), mostParts, m.isLate()); text != "" {
		return text
	}
	return "not known: no line that allocated at least " + words.Bytes(WorthShowing) + " of it was seen"
}

// counts reports whether blocks of a meter are in the memory that ranks.
func (m moment) counts(meter string) bool {
	first := m.v.first()
	if !memory(first).has(meter) {
		return false
	}
	return words.OfGPU(first) || first == residentMeter || words.IsOutermost(first) || meter == first
}

// isLate reports whether the process began before the session.
func (m moment) isLate() bool {
	return slices.ContainsFunc(m.v.r.Processes, func(p model.Process) bool { return p.PID == m.in.pid && p.Late })
}

// heaviest returns " line 2", the line of a cell that kept the most, or needed most in the moment's own; "" if that is
// not most of the cell's.
func (m moment) heaviest(s *stretch) string {
	of := model.Figure.Need
	if s != m.at {
		of = func(f model.Figure) int64 { return f.Consumed }
	}
	best, all := model.Window{}, m.v.statementsOf(map[int]bool{s.id: true})[s.id]
	for _, w := range all {
		if of(w.Meters[residentMeter]) > of(best.Meters[residentMeter]) {
			best = w
		}
	}
	if whole := of(m.v.fetch(s.id).Meters[residentMeter]); best.Line == 0 || 2*of(best.Meters[residentMeter]) < whole {
		return ""
	}
	return fmt.Sprintf(" line %d", best.Line)
}
