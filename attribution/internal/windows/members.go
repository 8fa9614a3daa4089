package windows

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// Limits of what windows keep of other processes.
const (
	MaxProcesses = 1 << 14 // of a session
	MaxPythons   = 1 << 12 // Pythons beyond MaxProcesses
	MaxListing   = 2048    // children of one window: as many as the kernel half follows at once
	maxChildren  = 1 << 20 // of all windows
)

// eachOther calls do for the processes of a tree that a window has seen, except its own process: the processes that
// lived when the window began, and the processes that moved since. atStart: the process lived when the window began.
func (r *Tree) eachOther(w *Window, do func(p *Process, atStart bool)) {
	for p := r.recent; p != nil && p.moved > w.Since; p = p.older {
		if p != w.Process {
			do(p, p.lives.At(w.Since) == 1)
		}
	}
	for _, p := range r.Living {
		if p != w.Process && p.moved <= w.Since && p.lives.At(w.Since) == 1 {
			do(p, true)
		}
	}
}

// SetAlive records that a process of the tree begins or ends at a cut.
func (r *Tree) SetAlive(p *Process, cut uint64, alive bool) {
	if p.Alive == alive {
		return
	}
	p.Alive = alive
	if alive {
		p.lives.Set(cut, r.Latest(), 1)
		r.Living = append(r.Living, p)
		return
	}
	p.left = cut
	p.lives.Set(cut, r.Latest(), 0)
	if i := slices.Index(r.Living, p); i >= 0 {
		r.Living = slices.Delete(r.Living, i, i+1)
	}
}

// MarkMoved records that a process moved, or was born or ended, in the segment that ended at a cut.
func (r *Tree) MarkMoved(p *Process, cut uint64) {
	p.moved = cut
	if r.recent == p {
		return
	}
	r.leave(p)
	p.older = r.recent
	if p.older != nil {
		p.older.newer = p
	}
	r.recent = p
}

// leave removes a process from the list of processes that moved.
func (r *Tree) leave(p *Process) {
	if r.recent == p {
		r.recent = p.older
	}
	if p.older != nil {
		p.older.newer = p.newer
	}
	if p.newer != nil {
		p.newer.older = p.older
	}
	p.older, p.newer = nil, nil
}

// Latest returns the cut at which the youngest open window opened, 0 if none is open.
func (r *Tree) Latest() uint64 {
	if n := len(r.Open); n > 0 {
		return r.Open[n-1].Since
	}
	return 0
}

// Cuts returns the cuts at which the open windows opened, ascending.
func (r *Tree) Cuts() []uint64 {
	out := make([]uint64, 0, len(r.Open))
	for _, w := range r.Open {
		if w.IsOpen {
			out = append(out, w.Since)
		}
	}
	slices.Sort(out)
	return out
}

// Thin removes marks of gauges that no open window needs any more, if the gauges have many.
func (r *Tree) Thin(p *course.Gauges) {
	p.Thin(Crowded+2*len(r.Open), r.Cuts)
}

// Crowded is the number of marks, beside two for each window, above which they are thinned.
const Crowded = 8

// RecordSummits takes in the highs of a segment that ended. If the tree was higher than in all segments before, it
// records the most that each process had. A process that did not move had its value. Memory that a forked child shares
// with its parent counts with the parent.
func (r *Tree) RecordSummits(high *event.Readings, moved course.SegmentEnds, meters []event.Meter) {
	isTop := false
	for _, m := range meters {
		if m != event.Resident && m != event.Mapped && m < event.CPUMeters {
			continue
		}
		isHighest := r.Summits.Rises(m, high[m], func(levels []course.Share) []course.Share {
			for _, p := range r.Living {
				if own := p.highIn(m, moved) - p.shares(m); own > 0 {
					levels = append(levels, course.Share{PID: p.Info.PID, Bytes: own})
				}
			}
			return levels
		})
		isTop = isTop || isHighest && m == event.Resident
	}
	for _, p := range r.Living {
		if p.Crest != nil {
			p.Crest.EndSegment(p.highIn(event.Resident, moved), isTop)
		}
	}
}

// highIn returns the most that a process had in a segment that has just ended.
func (p *Process) highIn(m event.Meter, moved course.SegmentEnds) event.Bytes {
	if one, ok := moved[p.Info.PID]; ok && !one.Waited {
		return one.High[m]
	}
	return p.Gauges.Value(m)
}
