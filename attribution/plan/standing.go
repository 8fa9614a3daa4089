package plan

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/model"
)

// A window lists who allocated of the meters that moved in it, and a cell that only uses what earlier ones have made
// moves none. So what lines have in memory is followed from window to window: what a window lists is taken from there,
// and what it does not list stands as it was left.

// standing is what some lines have in memory while the windows of a report are gone through.
type standing struct {
	d      *demand
	lines  []place
	most   []int64 // what of each is in memory at the most
	index  map[place]int
	meters []string // those that are a part of the demand
}

// heldBy is what one line has of one meter.
type heldBy struct {
	line  int
	meter string
}

// listing is what a window says of the lines.
type listing struct {
	entries map[heldBy]entry
	full    map[string]bool // the meters that it lists, and whether with all who allocated
}

// entry is what a window says of one line and meter.
type entry struct {
	atPeak, allocated, net int64
	moved                  bool
}

// listing reads what a window lists.
func (s *standing) listing(w *model.Window) *listing {
	l := &listing{entries: map[heldBy]entry{}, full: map[string]bool{}}
	for meter, c := range w.Coverage {
		if counts, _ := s.d.counts(meter); counts {
			l.full[meter] = c.Unlisted == 0
		}
	}
	for i := range w.Allocations {
		a := &w.Allocations[i]
		if counts, _ := s.d.counts(a.Meter); !counts {
			continue
		}
		if _, covered := l.full[a.Meter]; !covered {
			l.full[a.Meter] = true
		}
		at := placeOf(a.Stack)
		at.pid = w.PID
		line, ok := s.index[at]
		if !ok {
			continue
		}
		key := heldBy{line, a.Meter}
		e := l.entries[key]
		e.atPeak, e.allocated, e.net = e.atPeak+a.AtPeak, e.allocated+a.Allocated, e.net+a.Net
		e.moved = e.moved || a.Allocated != 0 || a.Freed != 0
		l.entries[key] = e
	}
	return l
}

// of is what a line has at the peak of a window in which it had stood when that began.
func (l *listing) of(key heldBy, stood int64) int64 {
	if e, ok := l.entries[key]; ok {
		if !l.full[key.meter] { // some calls of the line may not be listed: what stood beside those that are
			return e.atPeak + max(0, stood-(e.atPeak-e.allocated))
		}
		return e.atPeak
	}
	if l.full[key.meter] {
		return 0
	}
	return stood
}

// shares are what the lines have in memory at the peak of a window.
func (s *standing) shares(w *model.Window, l *listing, stood map[heldBy]int64) []int64 {
	inBlocks, inMaps := make([]int64, len(s.lines)), make([]int64, len(s.lines))
	for _, m := range s.meters {
		of := inMaps
		if _, blocks := s.d.counts(m); blocks {
			of = inBlocks
		}
		gone := int64(0) // what was given back unseen: it may have been any line's
		if f, ok := w.Meters[m]; ok {
			gone = -f.Peak
			for i := range s.lines {
				gone += l.of(heldBy{i, m}, stood[heldBy{i, m}])
			}
		}
		for i := range s.lines {
			of[i] += max(0, l.of(heldBy{i, m}, stood[heldBy{i, m}])-max(0, gone))
		}
	}
	for i := range s.lines {
		inBlocks[i] = max(0, min(max(inBlocks[i], inMaps[i]), s.most[i]))
	}
	return inBlocks
}

// begin corrects what stood before a window by what the window says of it.
func (s *standing) begin(l *listing, stood map[heldBy]int64) {
	maps.DeleteFunc(stood, func(key heldBy, _ int64) bool {
		_, listed := l.entries[key]
		return !listed && l.full[key.meter]
	})
	for key, e := range l.entries {
		if stood[key] = max(stood[key], e.atPeak-e.allocated); !e.moved && l.full[key.meter] {
			stood[key] = e.atPeak
		}
	}
}

// end takes in what lines kept and gave back in a window.
func (s *standing) end(l *listing, stood map[heldBy]int64) {
	for key, e := range l.entries {
		if stood[key] = max(0, stood[key]+e.net); stood[key] == 0 {
			delete(stood, key)
		}
	}
}

// candidates are the lines of which it is found out what follows without them: of the highest cell first, then of the
// other high ones.
func candidates(d *demand, meters []string) *standing {
	s := &standing{d: d, index: map[place]int{}}
	for _, m := range meters {
		if counts, _ := d.counts(m); counts {
			s.meters = append(s.meters, m)
		}
	}
	for i, t := range slices.Concat(d.top, d.high) {
		room := maxCandidates
		if i == 0 {
			room = maxCandidates / 2
		}
		for _, at := range t.heaviest() {
			bytes := t.lines[at].touched
			if known, ok := s.index[at]; ok {
				s.most[known] = max(s.most[known], bytes)
			} else if len(s.lines) < room && (i == 0 || bytes >= mib) {
				s.index[at] = len(s.lines)
				s.lines, s.most = append(s.lines, at), append(s.most, bytes)
			}
		}
	}
	return s
}

// heaviest are the lines that have something in memory at the peak of a cell, the most first.
func (t *top) heaviest() []place {
	var all []place
	for at, s := range t.lines {
		if at != (place{}) && s.touched > 0 {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, func(a, b place) int {
		return cmp.Or(cmp.Compare(t.lines[b].touched, t.lines[a].touched), cmp.Compare(a.execution, b.execution),
			cmp.Compare(a.line, b.line),
			cmp.Compare(a.file, b.file), cmp.Compare(a.function, b.function))
	})
	return all
}
