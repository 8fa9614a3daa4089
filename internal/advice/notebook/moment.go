package notebook

import (
	"cmp"
	"slices"
)

// Moment is the highest moment of a statement's run, or of a cell outside of its statements.
type Moment struct {
	Order     int
	Cell      *Cell      // nil for the time between two cells
	Statement *Statement // nil outside of statements
	Start     int64      // of the meter, when the statement began
	Peak, End int64
	// Live are the bytes of each site that lived at that moment.
	// A moment below a quarter of the highest has only those that moved in its statement: no advice saves so much that
	// the others matter.
	Live map[*Site]int64
	// Made are the bytes that each site allocated in this statement, Kept those of them that outlived it, on balance.
	Made, Kept map[*Site]int64
	// Count is the number of blocks that each site allocated in this statement.
	Count map[*Site]int64
}

// Behind reports whether the moment is later than the end of a statement's run.
func (m *Moment) Behind(s *Statement) bool {
	return m.Order > s.Order || m.Order == s.Order && m.Statement == nil
}

// Bytes returns the memory of some sites that lived at the moment. Blocks that lie in mapped memory which the same
// sites mapped count once.
func (m *Moment) Bytes(of func(*Site) bool) int64 { return bytesOf(m.Live, of) }

func bytesOf(all map[*Site]int64, of func(*Site) bool) int64 {
	var blocks, maps int64
	for s, bytes := range all {
		switch {
		case !of(s):
		case s.Meter == mapped:
			maps += bytes
		default:
			blocks += bytes
		}
	}
	return max(blocks, maps)
}

// Resident returns the part of the memory of some sites that was certainly in memory at the moment. Pages that were
// never written to are not: where the blocks are more than the memory that came since the first cell, the sites have at
// least the rise of the statements that made them.
func (n *Notebook) Resident(m *Moment, of func(*Site) bool) int64 {
	bytes := m.Bytes(of)
	if n.Meter != "cpu.resident" || bytes == 0 {
		return bytes
	}
	missing := m.Bytes(func(*Site) bool { return true }) - max(0, m.Peak-n.Base)
	if missing <= bytes/50 {
		return bytes
	}
	rose, known := int64(0), map[*Statement]bool{}
	for s := range m.Live {
		if of(s) && s.Statement != nil && !known[s.Statement] {
			known[s.Statement] = true
			f, _ := n.Figure(s.Statement.Window)
			rose += f.Need()
		}
	}
	return max(0, bytes-missing, min(bytes, rose))
}

// Allocated returns the memory that some sites allocated in the statement, whether it lived at the moment or not.
func (m *Moment) Allocated(of func(*Site) bool) int64 { return bytesOf(m.Made, of) }

// KeptBytes returns the memory that some sites allocated in the statement and that was not freed in it, on balance.
func (m *Moment) KeptBytes(of func(*Site) bool) int64 { return bytesOf(m.Kept, of) }

// add keeps a moment if it is among the highest.
func (n *Notebook) add(m *Moment) {
	n.Moments = append(n.Moments, m)
	if len(n.Moments) < 2*maxMoments {
		return
	}
	n.prune()
}

// prune keeps the highest moments.
func (n *Notebook) prune() {
	if len(n.Moments) <= maxMoments {
		return
	}
	slices.SortStableFunc(n.Moments, func(a, b *Moment) int { return cmp.Compare(b.Peak, a.Peak) })
	for _, m := range n.Moments[maxMoments:] {
		n.unlisted = max(n.unlisted, m.Peak)
		if m.Statement != nil {
			m.Statement.Moment = nil
		}
		if m.Cell != nil && m.Cell.Moment == m {
			m.Cell.Moment = nil
		}
	}
	clear(n.Moments[maxMoments:])
	n.Moments = n.Moments[:maxMoments]
	slices.SortStableFunc(n.Moments, func(a, b *Moment) int { return cmp.Compare(a.Order, b.Order) })
}
