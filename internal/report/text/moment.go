package text

import (
	"fmt"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// moment is the instant at which the ranking memory was highest, of all processes together, with its cell.
type moment struct {
	v  *view
	at *stretch // the cell, or the time between two, with that instant
	// in is the same, unless memory rose by almost nothing there: then it is the first cell before with the rest of the
	// rise.
	in *stretch
}

// nextToNothing is the reciprocal of a share. If the highest moment rose by less after a cell, it still belongs to that
// cell.
const nextToNothing = 100

// worthSaying is the reciprocal of a share: of less than that it is not said that it came later.
const worthSaying = 1000

// highestMoment finds the highest moment. It exists if [headlineView.leads] is true.
func highestMoment(v *view) moment {
	at, in := summitOf(v.ranked)
	return moment{v, &v.ranked[at], &v.ranked[in]}
}

// summitOf finds both stretches in the ranking.
func summitOf(ranked []stretch) (at, in int) {
	for i := range ranked {
		if ranked[i].peak > ranked[at].peak {
			at = i
		}
	}
	return at, risenIn(ranked, at)
}

// risenIn finds the cell of a highest moment.
func risenIn(ranked []stretch, at int) (in int) {
	top := &ranked[at]
	if !isNextToNothing(top.need, top.peak) {
		return at
	}
	last := -1 // the last one before that rose: since then memory only stood there
	for i := range ranked {
		s := &ranked[i]
		if s.pid == top.pid && s.start < top.start && !isNextToNothing(s.need, top.peak) &&
			(last < 0 || s.start > ranked[last].start) {
			last = i
		}
	}
	if last >= 0 && ranked[last].id > 0 && isNextToNothing(top.peak-ranked[last].peak, top.peak) {
		return last
	}
	return at
}

// isNextToNothing reports whether a rise is a small part of its result.
func isNextToNothing(rise, to int64) bool { return rise < to/nextToNothing }

// figure returns the meter's figure: with the cell's children if that is more.
func (m moment) figure() model.Figure {
	meter := m.v.first()
	f := m.at.figures[meter]
	if together, ok := m.at.tree()[meter]; ok && together.Peak > f.Peak {
		return together
	}
	return f
}

// maxLead is the shown length of a cell's source in a first line.
const maxLead = 160

// where describes the height of the moment, and its cell and line.
func (m moment) where() string {
	v, meter := m.v, m.v.first()
	own := words.Highest.At(m.at.figures, meter)
	size, with := own, ""
	if m.figure().Peak > m.at.figures[meter].Peak {
		size, with = words.Highest.At(m.at.tree(), meter), ", with its children ("+own+" without)"
	}
	if m.in.cell == nil {
		return v.near.reached(meter, m.figure(), size) + " " + v.gapLabel(*m.at.gap) + with
	}
	if more := m.at.peak - m.in.peak; m.at != m.in && more > 0 && more >= m.at.peak/worthSaying {
		with += fmt.Sprintf(" (%s of it came later)", words.Bytes(more))
	}
	cell := m.in.cell
	text := v.near.reached(meter, m.figure(), size) + " in " + m.in.label
	if v.several && cell.Kernel == "" {
		text += fmt.Sprintf(" of pid %d", cell.PID)
	}
	all := v.statementsOf(map[int]bool{cell.ID: true})[cell.ID]
	if i := v.summitAmong(all, cell); i >= 0 {
		where, source := statementLabel(all[i], cellLines(*cell))
		return text + ", " + where + with + source
	}
	if !strings.Contains(strings.TrimSpace(cell.Source), "\n") && cell.Source != "" {
		text += ", line 1"
	}
	return text + with + ": " + escape.Lines(cell.Source, cell.SourceTruncated, maxLead)
}
