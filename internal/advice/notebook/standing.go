package notebook

import (
	"maps"

	"ipytracer/model"
)

// standing follows the live bytes of each site from window to window. A window lists only sites whose memory changed in
// it. So standing takes the bytes of listed sites from the window, and keeps those of all others from earlier windows.
type standing struct {
	n *Notebook
	// live are the bytes of each site, by meter: most windows list all sites of some meters.
	live map[string]map[*Site]int64
	// before has, for sites that the cell's statements have changed, the bytes when the cell began. It is nil outside
	// of cells.
	before map[*Site]int64
	// net has by how many bytes the cell changes each site. A cell lists more sites than its statements do. It is nil
	// outside of cells.
	net map[*Site]int64
}

func newStanding(n *Notebook) standing { return standing{n: n, live: map[string]map[*Site]int64{}} }

// enterCell begins a cell: the next windows are its statements.
func (s *standing) enterCell(l *listing) {
	s.correct(l)
	s.before, s.net = map[*Site]int64{}, make(map[*Site]int64, len(l.bySite))
	for site, a := range l.bySite {
		s.net[site] = a.Net
	}
}

// leaveCell ends the cell. It replaces the changes by the cell's statements by the cell's own.
func (s *standing) leaveCell() {
	before, net := s.before, s.net
	s.before, s.net = nil, nil
	for site, bytes := range before {
		s.set(site, bytes)
	}
	for site, bytes := range net {
		s.set(site, max(0, s.live[site.Meter][site]+bytes))
	}
}

// passStatement adds the changes of a statement.
func (s *standing) passStatement(l *listing) {
	s.correct(l)
	for site, a := range l.bySite {
		s.set(site, max(0, s.live[site.Meter][site]+a.Net))
	}
}

// snapshot returns a copy of the bytes of each site.
func (s *standing) snapshot() map[*Site]int64 {
	out := make(map[*Site]int64, s.sites())
	for _, live := range s.live {
		maps.Copy(out, live)
	}
	return out
}

// sites returns the number of sites with memory.
func (s *standing) sites() (n int) {
	for _, live := range s.live {
		n += len(live)
	}
	return n
}

// set sets the bytes of a site. Within a cell it keeps the bytes from before the cell.
func (s *standing) set(site *Site, bytes int64) {
	live := s.live[site.Meter]
	if _, known := s.before[site]; !known && s.before != nil {
		s.before[site] = live[site]
	}
	switch {
	case bytes == 0:
		delete(live, site)
		return
	case live == nil:
		live = map[*Site]int64{}
		s.live[site.Meter] = live
	}
	live[site] = bytes
}

// listing has the allocations that a window lists.
type listing struct {
	bySite map[*Site]*model.Allocation
	full   map[string]bool // meters of which the window lists all sites
}

func (s *standing) listing(w *model.Window) *listing {
	l := &listing{bySite: map[*Site]*model.Allocation{}, full: map[string]bool{}}
	for meter, c := range w.Coverage {
		if s.n.counts(meter) {
			l.full[meter] = c.Unlisted == 0
		}
	}
	for i := range w.Allocations {
		a := &w.Allocations[i]
		if !s.n.counts(a.Meter) {
			continue
		}
		if site := s.n.site(a); site != nil {
			if _, covered := l.full[a.Meter]; !covered {
				l.full[a.Meter] = true
			}
			l.bySite[site] = a
		}
	}
	return l
}

// momentOf returns a moment with the sites that lived at the peak of a window, and those that allocated in it. The
// moment of a low window lacks the sites that the window does not list.
func (s *standing) momentOf(l *listing, isLow bool) *Moment {
	m := &Moment{Live: map[*Site]int64{}, Made: map[*Site]int64{}, Kept: map[*Site]int64{}, Count: map[*Site]int64{}}
	if !isLow {
		s.addUnlisted(m, l)
	}
	for site, a := range l.bySite {
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

// addUnlisted adds to a moment the sites that its window does not list, as long as all moments together have no more
// than maxEntries.
func (s *standing) addUnlisted(m *Moment, l *listing) {
	for meter, live := range s.live {
		if l.full[meter] {
			continue
		}
		if s.n.entries += len(live); s.n.entries > s.n.maxEntries {
			s.n.Dropped = true
			return
		}
		if len(m.Live) == 0 {
			m.Live = make(map[*Site]int64, len(live)+len(l.bySite))
		}
		for site, bytes := range live {
			if _, listed := l.bySite[site]; !listed {
				m.Live[site] = bytes
			}
		}
	}
}

// correct makes the bytes before a window agree with the window. A meter whose sites are all listed has no other sites.
// A site had at least the bytes at the window's peak that the window did not allocate.
func (s *standing) correct(l *listing) {
	for meter, live := range s.live {
		if l.full[meter] {
			for site := range live {
				if _, listed := l.bySite[site]; !listed {
					s.set(site, 0)
				}
			}
		}
	}
	for site, a := range l.bySite {
		bytes := max(s.live[site.Meter][site], a.AtPeak-a.Allocated)
		if a.Allocated == 0 && a.Freed == 0 && l.full[site.Meter] {
			bytes = a.AtPeak
		}
		s.set(site, bytes)
	}
}
