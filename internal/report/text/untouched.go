package text

import (
	"cmp"
	"slices"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Programs reserve memory that they hardly touch: malloc for a thread, a library for its buffers, an allocator for
// later, np.zeros. Meters of blocks count all of it. At the highest moment, a line should count only with the pages
// that are present, but Linux counts pages by process, not by line. So if most of a line's memory may be untouched, the
// line counts for no more than the rise of resident memory since its statement began.

// touched returns an upper limit, in bytes, for each line that may have touched less than it allocated. Other lines are
// not in the map.
func (m moment) touched(callers []*caller) map[*caller]int64 {
	var doubtful []*caller
	var claims []claim // lines that are not doubtful come first
	for _, c := range callers {
		if s := m.spotOf(c); 2*m.untouchedGrowth(s) > c.AtPeak {
			doubtful = append(doubtful, c)
		} else {
			claims = append(claims, claim{s, c.AtPeak})
		}
	}
	// programs use small pieces, and memory within other memory, at once: these come next
	slices.SortStableFunc(doubtful, func(a, b *caller) int {
		return cmp.Or(falseFirst(words.IsOutermost(a.Meter), words.IsOutermost(b.Meter)),
			cmp.Compare(a.pieceSize(), b.pieceSize()))
	})
	limits := map[*caller]int64{}
	for _, c := range doubtful {
		s := m.spotOf(c)
		room := s.risen
		for _, earlier := range claims {
			if earlier.spot.began >= s.began { // it is a part of the same rise
				room -= earlier.bytes
			}
		}
		there := min(c.AtPeak, max(0, room))
		if there < c.AtPeak {
			limits[c] = there
		}
		claims = append(claims, claim{s, there})
	}
	return limits
}

// claim is a line's part of the rise of resident memory since its spot.
type claim struct {
	spot  spot
	bytes int64
}

// untouchedGrowth returns by how much mapped but untouched memory grew up to the moment: since the moment's cell began
// if the spot is in it, else since the session began.
func (m moment) untouchedGrowth(s spot) int64 {
	since, now := m.v.sessions[m.in.pid], m.at.figures
	if m.in.cell != nil && s.execution == m.in.cell.Execution {
		since = m.in.cell.Meters
	}
	const mapped, touched = "cpu.mapped", "cpu.resident.anon"
	return now[mapped].Peak - now[touched].Peak - (since[mapped].Start - since[touched].Start)
}

// spot is the statement, or the cell, in which a line's memory was allocated.
type spot struct {
	execution int   // the run of the cell
	began     int64 // nanoseconds since the session began
	risen     int64 // bytes by which resident memory rose, from the lowest value since began to the moment
}

// pieceSize returns the average size of a line's blocks.
func (c *caller) pieceSize() int64 { return c.AtPeak / max(1, c.Count) }

// spotOf returns the spot of an allocation: its statement if it is in the moment's cell, else its cell.
func (m moment) spotOf(c *caller) spot {
	if all := m.statements(); len(all) > 0 && c.of.Execution == m.in.cell.Execution {
		return m.spotInCell(all, c.of)
	}
	s := spot{execution: c.of.Execution, began: m.in.start}
	for _, id := range m.v.byRun[run{m.in.pid, c.of.Execution}] {
		s.began = min(s.began, m.v.fetch(id).StartNS)
	}
	low := m.at.from
	for i := range m.v.ranked {
		if r := &m.v.ranked[i]; r.pid == m.in.pid && r.start >= s.began && r.start <= m.at.start {
			low = min(low, r.from)
		}
	}
	s.risen = m.at.figures[residentMeter].Peak - low
	return s
}

// spotInCell returns the spot of a call in the moment's cell, which has these statements.
func (m moment) spotInCell(statements []model.Window, call model.Frame) spot {
	first, last := statementAt(statements, call.Line), m.v.summitAmong(statements, m.in.cell)
	peak := m.at.figures[residentMeter].Peak
	low := peak
	for i, w := range statements[first:] {
		if low = min(low, w.Meters[residentMeter].Start); first+i >= last {
			break
		}
	}
	return spot{execution: call.Execution, began: statements[first].StartNS, risen: peak - low}
}

// statements returns the statements of the moment's cell.
func (m moment) statements() []model.Window {
	if m.in.cell == nil {
		return nil
	}
	return m.v.statementsOf(map[int]bool{m.in.cell.ID: true})[m.in.cell.ID]
}

// statementAt returns the index of the statement that has a line: the last one that begins at it or above it. It
// returns 0 if there is none.
func statementAt(statements []model.Window, line int) int {
	found, begin := 0, 0
	for i, w := range statements {
		if w.Line <= line && w.Line > begin {
			found, begin = i, w.Line
		}
	}
	return found
}
