package attribution

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/event"
)

// Limits of what windows keep of other processes.
const (
	maxProcesses = 1 << 14 // of a session
	maxPythons   = 1 << 12 // that found no room among those
	maxListing   = 2048    // children of one window: as many as the kernel half follows at once
	maxChildren  = 1 << 20 // of all windows
)

// others calls do with the processes of a tree that a window has seen, except its own: those that lived when it began,
// and those that moved since.
func (r *root) others(w *window, do func(p *process, atStart bool)) {
	for p := r.recent; p != nil && p.moved > w.since; p = p.older {
		if p != w.process {
			do(p, p.lives.At(w.since) == 1)
		}
	}
	for _, p := range r.living {
		if p != w.process && p.moved <= w.since && p.lives.At(w.since) == 1 {
			do(p, true)
		}
	}
}

// lives records that a process of the tree begins or ends.
func (r *root) lives(p *process, cut uint64, alive bool) {
	if p.alive == alive {
		return
	}
	p.alive = alive
	if alive {
		p.lives.Set(cut, r.latest(), 1)
		r.living = append(r.living, p)
		return
	}
	p.left = cut
	p.lives.Set(cut, r.latest(), 0)
	if i := slices.Index(r.living, p); i >= 0 {
		r.living = slices.Delete(r.living, i, i+1)
	}
}

// moved records that a process moved, or was born or ended, in the segment that ended at a cut.
func (r *root) moved(p *process, cut uint64) {
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

// leave removes a process from the list of those that moved.
func (r *root) leave(p *process) {
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

// latest returns the cut since which the youngest open window is open.
func (r *root) latest() uint64 {
	if n := len(r.open); n > 0 {
		return r.open[n-1].since
	}
	return 0
}

// cuts returns the cuts since which windows are open, ascending.
func (r *root) cuts() []uint64 {
	out := make([]uint64, 0, len(r.open))
	for _, w := range r.open {
		if w.isOpen {
			out = append(out, w.since)
		}
	}
	slices.Sort(out)
	return out
}

// thin removes the marks of a past that no open window needs any more, where there are many.
func (r *root) thin(p *course.Gauges) {
	p.Thin(crowded+2*len(r.open), r.cuts)
}

// crowded is the number of marks, beside two for each window, above which they are thinned.
const crowded = 8

// rises takes in a segment that ended. Where the tree was higher than in all segments before, it records the most that
// each process had: a process that did not move had its value. What a forked child has from its parent is its parent's.
func (r *root) rises(high *event.Readings, moved course.Movements, meters []event.Meter) {
	isTop := false
	for _, m := range meters {
		if m != event.Resident && m != event.Mapped && m < event.CPUMeters {
			continue
		}
		rose := r.summits.Rises(m, high[m], func(levels []course.Share) []course.Share {
			for _, p := range r.living {
				if own := p.highIn(m, moved) - p.shares(m); own > 0 {
					levels = append(levels, course.Share{PID: p.info.PID, Bytes: own})
				}
			}
			return levels
		})
		isTop = isTop || rose && m == event.Resident
	}
	for _, p := range r.living {
		if p.crest != nil {
			p.crest.Ends(p.highIn(event.Resident, moved), isTop)
		}
	}
}

// highIn returns the most that a process had in a segment that has just ended.
func (p *process) highIn(m event.Meter, moved course.Movements) event.Bytes {
	if one, ok := moved[p.info.PID]; ok && !one.Waited {
		return one.High[m]
	}
	return p.past.Value(m)
}
