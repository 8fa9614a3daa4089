package notebook

import (
	"maps"

	"ipytracer/model"
)

// standing follows the memory of sites from window to window. A window lists the sites of meters that moved in it; a
// cell that only uses the memory of earlier ones moves none. So listed values are taken from the window, and others
// stand as the windows before left them.
type standing struct {
	n *Notebook
	// live are the bytes of each site, by meter: a window that lists all sites of a meter is no work for the others.
	live map[string]map[*Site]int64
	// before are the bytes that sites had when a cell began, of those that its statements have changed, and net what
	// the cell itself adds: it lists more sites than its statements do. Both are nil outside of cells.
	before, net map[*Site]int64
}

func newStanding(n *Notebook) standing { return standing{n: n, live: map[string]map[*Site]int64{}} }

// enter goes into a cell: what follows are its statements.
func (s *standing) enter(l *listing) {
	s.begin(l)
	s.before, s.net = map[*Site]int64{}, make(map[*Site]int64, len(l.of))
	for site, a := range l.of {
		s.net[site] = a.Net
	}
}

// leave goes behind the cell.
func (s *standing) leave() {
	before, net := s.before, s.net
	s.before, s.net = nil, nil
	for site, bytes := range before {
		s.set(site, bytes)
	}
	for site, bytes := range net {
		s.set(site, max(0, s.live[site.Meter][site]+bytes))
	}
}

// step goes behind a statement.
func (s *standing) step(l *listing) {
	s.begin(l)
	for site, a := range l.of {
		s.set(site, max(0, s.live[site.Meter][site]+a.Net))
	}
}

// all returns the bytes of each site.
func (s *standing) all() map[*Site]int64 {
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
// sites that only stood there; it does so for all windows once moments have more sites than there is room for.
func (s *standing) at(l *listing, low bool) *Moment {
	m := &Moment{Live: map[*Site]int64{}, Made: map[*Site]int64{}, Kept: map[*Site]int64{}, Count: map[*Site]int64{}}
	if !low {
		s.stood(m, l)
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

// stood adds the sites that only stood there to a moment.
func (s *standing) stood(m *Moment, l *listing) {
	for meter, live := range s.live {
		if l.full[meter] {
			continue
		}
		if s.n.entries += len(live); s.n.entries > s.n.room {
			s.n.Dropped = true
			return
		}
		for site, bytes := range live {
			if _, listed := l.of[site]; !listed {
				m.Live[site] = bytes
			}
		}
	}
}

// begin corrects what stood before a window by the window's entries.
func (s *standing) begin(l *listing) {
	for meter, live := range s.live {
		if l.full[meter] {
			for site := range live {
				if _, listed := l.of[site]; !listed {
					s.set(site, 0)
				}
			}
		}
	}
	for site, a := range l.of {
		bytes := max(s.live[site.Meter][site], a.AtPeak-a.Allocated)
		if a.Allocated == 0 && a.Freed == 0 && l.full[site.Meter] {
			bytes = a.AtPeak
		}
		s.set(site, bytes)
	}
}
