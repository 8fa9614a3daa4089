package text

import (
	"cmp"
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Programs reserve memory that they hardly touch: malloc for a thread, a library for its buffers, an allocator for
// later, np.zeros. Meters of blocks count all of it. In the highest moment a line's memory counts only as far as its
// pages are present, but pages are counted by process only. So if most of a line's memory may be untouched, it counts
// for no more than the rise of resident memory since its statement began.

// touched returns the most that lines can have of the moment, for those that may have less of it than they have
// allocated.
func (m moment) touched(all []*caller) map[*caller]int64 {
	var doubtful []*caller
	var before []claim // the certain ones come first
	for _, a := range all {
		if p := m.spotOf(a); 2*m.idle(p) > a.AtPeak {
			doubtful = append(doubtful, a)
		} else {
			before = append(before, claim{p, a.AtPeak})
		}
	}
	// then memory within another's, and memory in small pieces, which programs use at once
	slices.SortStableFunc(doubtful, func(a, b *caller) int {
		return cmp.Or(last(words.IsOutermost(a.Meter), words.IsOutermost(b.Meter)), cmp.Compare(a.each(), b.each()))
	})
	most := map[*caller]int64{}
	for _, a := range doubtful {
		p := m.spotOf(a)
		room := p.risen
		for _, c := range before {
			if c.spot.began >= p.began { // it is a part of the same rise
				room -= c.bytes
			}
		}
		there := min(a.AtPeak, max(0, room))
		if there < a.AtPeak {
			most[a] = there
		}
		before = append(before, claim{p, there})
	}
	return most
}

// claim is a line's part of the rise of resident memory from a spot on.
type claim struct {
	spot  spot
	bytes int64
}

// idle is the growth of mapped and untouched memory from the beginning of its cell to the moment; for other cells from
// the session's beginning.
func (m moment) idle(p spot) int64 {
	since, now := m.v.sessions[m.in.pid], m.at.figures
	if m.in.cell != nil && p.execution == m.in.cell.Execution {
		since = m.in.cell.Meters
	}
	const mapped, touched = "cpu.mapped", "cpu.resident.anon"
	return now[mapped].Peak - now[touched].Peak - (since[mapped].Start - since[touched].Start)
}

// spot is the statement, or the cell, in which a line's memory was allocated.
type spot struct {
	execution int
	began     int64 // its beginning, since the session began
	risen     int64 // rise of resident memory from the lowest since then to the moment
}

// each returns the average size of a line's pieces.
func (c *caller) each() int64 { return c.AtPeak / max(1, c.Count) }

// spotOf finds the place of an allocation: the statement, in the moment's own cell; for others the cell.
func (m moment) spotOf(a *caller) spot {
	cell, at := m.in.cell, spot{execution: a.of.Execution, began: m.in.start}
	peak, low := m.at.figures[residentMeter].Peak, m.at.from
	if all := m.statements(); len(all) > 0 && a.of.Execution == cell.Execution {
		first, last := statementAt(all, a.of.Line), m.v.summitAmong(all, cell)
		low = peak
		for i, w := range all[first:] {
			if low = min(low, w.Meters[residentMeter].Start); first+i >= last {
				break
			}
		}
		at.began = all[first].StartNS
		at.risen = peak - low
		return at
	}
	for _, id := range m.v.byRun[run{m.in.pid, a.of.Execution}] {
		at.began = min(at.began, m.v.fetch(id).StartNS)
	}
	for i := range m.v.ranked {
		if s := &m.v.ranked[i]; s.pid == m.in.pid && s.start >= at.began && s.start <= m.at.start {
			low = min(low, s.from)
		}
	}
	at.risen = peak - low
	return at
}

// statements returns those of the moment's cell.
func (m moment) statements() []model.Window {
	if m.in.cell == nil {
		return nil
	}
	return m.v.statementsOf(map[int]bool{m.in.cell.ID: true})[m.in.cell.ID]
}

// statementAt returns the statement of a cell that has a line; the first, if none is known to.
func statementAt(all []model.Window, line int) int {
	at, best := 0, 0
	for i, w := range all {
		if w.Line <= line && w.Line > best {
			at, best = i, w.Line
		}
	}
	return at
}
