package text

import (
	"cmp"
	"slices"

	"ipytracer/model"
	"ipytracer/words"
)

// Programs reserve memory that they hardly touch: malloc for a thread, a library for its buffers, an allocator for what may come, np.zeros. Meters of blocks
// count all of it. What a line has allocated makes the highest moment as far as its pages are there, and pages are counted by process only. So where most of
// what a line has may be untouched, it counts by no more than resident memory has risen by since its statement began.

// touched are the most that lines can have of the moment, those that may have less of it than they have allocated.
func (m moment) touched(all []*caller) map[*caller]int64 {
	rises, room := map[spot]int64{}, map[spot]int64{}
	of := func(a *caller) spot {
		p := spot{a.of.Execution, m.statement(a.of)}
		if _, known := rises[p]; !known {
			rises[p] = m.risen(p)
			room[p] = rises[p]
		}
		return p
	}
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b *caller) int { // what lies in another's memory first, and what is in small pieces: that is used at once
		return cmp.Or(cmp.Compare(outermost(a), outermost(b)), cmp.Compare(a.each(), b.each()))
	})
	most := map[*caller]int64{}
	for _, a := range order {
		p := of(a)
		if there := max(0, room[p]); there < a.AtPeak && 2*m.idle(p) > a.AtPeak {
			most[a] = there
		}
		room[p] -= a.AtPeak
	}
	return most
}

// idle is by how much more was mapped and not touched at the moment than when its cell began or, of what is of other cells, the session.
func (m moment) idle(p spot) int64 {
	since, now := m.in.cell.Meters, m.in.cell.Meters
	if p.execution != m.in.cell.Execution {
		since = m.v.sessions[m.in.pid]
	}
	const mapped, touched = "cpu.mapped", "cpu.resident.anon"
	return now[mapped].Peak - now[touched].Peak - (since[mapped].Start - since[touched].Start)
}

func outermost(a *caller) int {
	if words.IsOutermost(a.Meter) {
		return 1
	}
	return 0
}

// spot is a statement of a cell: where it is among them, -1 for the whole cell.
type spot struct{ execution, statement int }

// each is the size of one piece of a line's, on average.
func (c *caller) each() int64 { return c.AtPeak / max(1, c.Count) }

// statement is the one of the moment's cell that a call is in; -1 where it is of another cell, or not known.
func (m moment) statement(f model.Frame) int {
	cell := m.in.cell
	if f.Execution != cell.Execution || f.Execution == 0 {
		return -1
	}
	at, best := -1, 0
	for i, w := range m.v.statementsOf(map[int]bool{cell.ID: true})[cell.ID] {
		if w.Line <= f.Line && w.Line > best {
			at, best = i, w.Line
		}
	}
	return at
}

// risen is how far resident memory has risen from the lowest since a spot was reached to the moment.
func (m moment) risen(p spot) int64 {
	cell := m.in.cell
	peak := cell.Meters[residentMeter].Peak
	if p.statement >= 0 {
		all := m.v.statementsOf(map[int]bool{cell.ID: true})[cell.ID]
		low, last := peak, m.v.summitAmong(all, cell)
		for i, w := range all[p.statement:] {
			if low = min(low, w.Meters[residentMeter].Start); p.statement+i >= last {
				break
			}
		}
		return peak - low
	}
	began, low := m.in.start, m.in.from
	for _, id := range m.v.byRun[run{m.in.pid, p.execution}] {
		began = min(began, m.v.fetch(id).StartNS)
	}
	for i := range m.v.ranked {
		if s := &m.v.ranked[i]; s.pid == m.in.pid && s.start >= began && s.start <= m.in.start {
			low = min(low, s.from)
		}
	}
	return peak - low
}
