package plan

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/model"
)

// A window lists only the stacks whose memory changed in it. So this file follows the memory of lines from window to
// window: it takes listed values from the window, and keeps all others from the windows before.

// standing follows the memory of some lines through the windows of a report.
type standing struct {
	d        *demand
	lines    []place
	maxBytes []int64 // the most memory of each
	index    map[place]int
	meters   []string // those that are a part of the demand
}

// heldBy is a line, by its index, and a meter.
type heldBy struct {
	line  int
	meter string
}

// listing has what a window lists for the lines.
type listing struct {
	entries map[heldBy]entry
	full    map[string]bool // the meters that it lists, and whether with all stacks that allocated
}

// entry is what a window lists for one line and meter, in bytes.
type entry struct {
	atPeak, allocated, net int64
	moved                  bool
}

// listing returns what a window lists.
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
		at := outermostPlace(a.Stack)
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

// atPeak returns the memory of a line at the peak of a window. stood is the line's memory when the window began.
func (l *listing) atPeak(key heldBy, stood int64) int64 {
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

// shares returns the memory of each line at the peak of a window. stood has the memory when the window began.
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
				gone += l.atPeak(heldBy{i, m}, stood[heldBy{i, m}])
			}
		}
		for i := range s.lines {
			of[i] += max(0, l.atPeak(heldBy{i, m}, stood[heldBy{i, m}])-max(0, gone))
		}
	}
	for i := range s.lines {
		inBlocks[i] = max(0, min(max(inBlocks[i], inMaps[i]), s.maxBytes[i]))
	}
	return inBlocks
}

// begin makes the memory before a window agree with what the window lists.
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

// end adds the changes by a window.
func (s *standing) end(l *listing, stood map[heldBy]int64) {
	for key, e := range l.entries {
		if stood[key] = max(0, stood[key]+e.net); stood[key] == 0 {
			delete(stood, key)
		}
	}
}

// candidates returns the lines to weigh: those of the highest cell, and then those of the other high windows.
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
				s.maxBytes[known] = max(s.maxBytes[known], bytes)
			} else if len(s.lines) < room && (i == 0 || bytes >= mib) {
				s.index[at] = len(s.lines)
				s.lines, s.maxBytes = append(s.lines, at), append(s.maxBytes, bytes)
			}
		}
	}
	return s
}

// heaviest returns the lines with memory at the peak of a window, the largest first.
func (t *highWindow) heaviest() []place {
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
