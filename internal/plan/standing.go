package plan

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/model"
)

// A window lists the stacks that allocated, of the meters that moved in it; a cell that only uses the memory of earlier
// ones moves none. So the memory of lines is followed from window to window: listed values are taken from the window,
// and others stand as the windows before left them.

// standing is the memory of some lines while the windows of a report are gone through.
type standing struct {
	d      *demand
	lines  []place
	most   []int64 // the most memory of each
	index  map[place]int
	meters []string // those that are a part of the demand
}

// heldBy is a line and a meter.
type heldBy struct {
	line  int
	meter string
}

// listing has the entries of a window for the lines.
type listing struct {
	entries map[heldBy]entry
	full    map[string]bool // the meters that it lists, and whether with all stacks that allocated
}

// entry is the entry of a window for one line and meter.
type entry struct {
	atPeak, allocated, net int64
	moved                  bool
}

// listing returns the listing of a window.
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

// of returns the memory of a line at the peak of a window, from its memory when the window began.
func (l *listing) of(key heldBy, stood int64) int64 {
	if e, ok := l.entries[key]; ok {
		if !l.full[key.meter] { // some calls of the line may not be listed: their memory stood beside the listed one
			return e.atPeak + max(0, stood-(e.atPeak-e.allocated))
		}
		return e.atPeak
	}
	if l.full[key.meter] {
		return 0
	}
	return stood
}

// shares returns the memory of the lines at the peak of a window.
func (s *standing) shares(w *model.Window, l *listing, stood map[heldBy]int64) []int64 {
	inBlocks, inMaps := make([]int64, len(s.lines)), make([]int64, len(s.lines))
	for _, m := range s.meters {
		of := inMaps
		if _, blocks := s.d.counts(m); blocks {
			of = inBlocks
		}
		gone := int64(0) // memory that was freed unseen: it may have been any line's
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

// begin corrects the memory that stood before a window by the window's entries.
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

// end adds the bytes that lines kept or freed on balance in a window.
func (s *standing) end(l *listing, stood map[heldBy]int64) {
	for key, e := range l.entries {
		if stood[key] = max(0, stood[key]+e.net); stood[key] == 0 {
			delete(stood, key)
		}
	}
}

// candidates returns the lines that are weighed: those of the highest cell first, then those of the other high ones.
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

// heaviest returns the lines with memory at the peak of a cell, the most first.
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
