package evidence

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/model"
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

// standing follows the memory of sites from window to window. A window lists the sites of meters that moved in it; a
// cell that only uses the memory of earlier ones moves none. So listed values are taken from the window, and others
// stand as the windows before left them.
type standing struct {
	n    *Notebook
	live map[*Site]int64
}

// listing has the entries of a window by site.
type listing struct {
	of   map[*Site]*model.Allocation
	full map[string]bool // meters with all their sites
}

func (s *standing) listing(w *model.Window) *listing {
	l := &listing{of: map[*Site]*model.Allocation{}, full: map[string]bool{}}
	for meter, c := range w.Coverage {
		if counts, _ := s.n.counts(meter); counts {
			l.full[meter] = c.Unlisted == 0
		}
	}
	for i := range w.Allocations {
		a := &w.Allocations[i]
		if counts, _ := s.n.counts(a.Meter); !counts {
			continue
		}
		if site := s.n.site(a); site != nil {
			if _, covered := l.full[a.Meter]; !covered {
				l.full[a.Meter] = true
			}
			l.of[site] = a
		}
	}
	return l
}

// at returns the sites that lived at the peak of a window, and those that allocated in it. With low, it leaves out
// sites that only stood there.
func (s *standing) at(l *listing, low bool) *Moment {
	m := &Moment{Live: map[*Site]int64{}, Made: map[*Site]int64{}, Kept: map[*Site]int64{}, Count: map[*Site]int64{}}
	if s.n.entries += len(s.live); s.n.entries > maxEntries {
		s.n.Dropped = s.n.Dropped || !low
		low = true
	}
	if !low {
		for site, bytes := range s.live {
			if _, listed := l.of[site]; !listed && !l.full[site.Meter] {
				m.Live[site] = bytes
			}
		}
	}
	for site, a := range l.of {
		if a.AtPeak > 0 {
			m.Live[site] = a.AtPeak
		}
		if a.Allocated > 0 {
			m.Made[site], m.Count[site] = a.Allocated, a.Count
			if a.Net > 0 {
				m.Kept[site] = a.Net
			}
		}
	}
	return m
}

// begin corrects what stood before a window by the window's entries.
func (s *standing) begin(l *listing) {
	maps.DeleteFunc(s.live, func(site *Site, _ int64) bool {
		_, listed := l.of[site]
		return !listed && l.full[site.Meter]
	})
	for site, a := range l.of {
		s.live[site] = max(s.live[site], a.AtPeak-a.Allocated)
		if a.Allocated == 0 && a.Freed == 0 && l.full[site.Meter] {
			s.live[site] = a.AtPeak
		}
	}
}

// end adds the memory that sites kept or lost on balance in a window.
func (s *standing) end(l *listing) {
	for site, a := range l.of {
		if s.live[site] = max(0, s.live[site]+a.Net); s.live[site] == 0 {
			delete(s.live, site)
		}
	}
}

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
