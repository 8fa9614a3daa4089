package timeline

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// Draw takes in the values of a boundary that has been applied.
func (tl *Timeline) Draw(r *windows.Tree, b *event.Boundary, moved course.SegmentEnds) {
	s := Seen{At: b.Time, Segment: b.Segment, Hold: r.DrawnAt, IsEdge: isEdge(b, tl.Processes.ByPID[b.PID])}
	turns := b.Kind == event.CellOpen || b.Kind == event.CellClose
	for _, pid := range tl.inOrderOfPID(moved) {
		p := tl.Processes.ByPID[pid]
		if p == nil || p.Began == 0 {
			continue
		}
		m := moved[pid]
		s.waited = m.Waited
		tl.drawCurve(r, tl.curveOf(p), &s, m.Value, m.High, turns)
	}
	tl.drawTree(r, b, &s, turns)
	if b.Kind == event.MeterShed || b.Kind == event.MeterBack {
		tl.drawPause(r, b)
	}
	if p := tl.Processes.ByPID[b.PID]; b.Kind == event.ProcessExit && p != nil {
		tl.close(tl.curveOf(p))
	}
	tl.tellEarly()
}

// inOrderOfPID returns the processes that moved, in an order that is the same each time.
func (tl *Timeline) inOrderOfPID(moved course.SegmentEnds) []int32 {
	pids := tl.pids[:0]
	for pid := range moved {
		pids = append(pids, pid)
	}
	if len(pids) > 1 {
		slices.Sort(pids)
	}
	tl.pids = pids
	return pids
}

// drawCurve takes in a boundary's values of a process, or of a tree.
func (tl *Timeline) drawCurve(r *windows.Tree, l *Line, s *Seen, value, high *event.Readings, turns bool) {
	i := 0
	for _, m := range tl.GPUs.Meters {
		for i < len(l.tracks) && l.tracks[i].Meter < m {
			i++
		}
		if i == len(l.tracks) || l.tracks[i].Meter != m {
			if value[m] == 0 && high[m] == 0 || tl.track(l, m) == nil {
				continue
			}
		}
		k := l.tracks[i]
		s.Value, s.High = value[m], high[m]
		// made by a change of a later segment, which may yet report the value that it has had all along
		if !k.hasBegun && s.Value == 0 && s.High == 0 {
			k.drop(&tl.Folds, s.Segment)
			continue
		}
		if !k.hasBegun && s.At > l.began {
			k.Begin(l.began, 0)
		}
		k.See(&tl.Folds, s)
		if !k.isGap && tl.isPaused(r, m) {
			k.pause(&tl.Folds, s.At, gapOfGroup(r.WhyPaused(m)))
		}
		if n := len(k.Points); n >= maxStretch || turns && n > 0 {
			tl.Store(k)
		}
	}
}

// drawTree takes in a boundary's values of its tree, while there are more processes than the one that is attached.
func (tl *Timeline) drawTree(r *windows.Tree, b *event.Boundary, s *Seen, turns bool) {
	isAlone := len(r.Living) == 0 || len(r.Living) == 1 && r.Living[0].Parent == 0
	l := tl.treeCurve(r)
	wasOn := l.isOn
	l.isOn = !isAlone
	if !wasOn && isAlone {
		return
	}
	s.waited = false
	if !wasOn {
		l.began = b.Time
		for _, k := range l.tracks {
			k.resume(b.Time, b.Tree[k.Meter])
		}
		s.Hold = b.Time
		tl.drawCurve(r, l, s, &b.Tree, &b.Tree, turns)
		return
	}
	tl.drawCurve(r, l, s, &b.Tree, &b.TreeHigh, turns)
	if isAlone {
		for _, k := range l.tracks {
			k.pause(&tl.Folds, b.Time, gapAlone)
		}
	}
}

// isPaused reports whether a meter is paused.
func (tl *Timeline) isPaused(r *windows.Tree, m event.Meter) bool {
	return len(r.Paused) > 0 && r.Paused[m].Now
}

// drawPause begins and ends the gaps of meters that are paused.
func (tl *Timeline) drawPause(r *windows.Tree, b *event.Boundary) {
	for _, m := range b.Group.Paused() {
		for _, p := range r.Living {
			tl.drawPauseOf(r, tl.curveOf(p), b, m, p.Gauges.Value(m))
		}
		if tree := tl.treeCurve(r); tree.isOn {
			tl.drawPauseOf(r, tree, b, m, r.Gauges.Value(m))
		}
	}
}

func (tl *Timeline) drawPauseOf(r *windows.Tree, l *Line, b *event.Boundary, m event.Meter, value event.Bytes) {
	if !slices.Contains(tl.GPUs.Meters, m) {
		return
	}
	k := tl.track(l, m)
	if k == nil {
		return
	}
	if !k.hasBegun {
		k.Begin(l.began, value)
	}
	if tl.isPaused(r, m) {
		k.pause(&tl.Folds, b.Time, gapOfGroup(r.WhyPaused(m)))
	} else {
		k.resume(b.Time, value)
	}
}

// DrawLearned records the value that a meter of a process, and so its tree, has had all along.
func (tl *Timeline) DrawLearned(r *windows.Tree, p *windows.Process, m event.Meter, value event.Bytes) {
	tl.learned(tl.curveOf(p), m, value)
	if tree := tl.treeCurve(r); tree.isOn {
		tl.learned(tree, m, value)
	}
}

func (tl *Timeline) learned(l *Line, m event.Meter, value event.Bytes) {
	if l.began == 0 {
		return
	}
	if k := tl.track(l, m); k != nil && !k.hasBegun {
		k.Begin(l.began, value)
	}
}

// close stores the track of a process that has ended.
func (tl *Timeline) close(l *Line) {
	for _, k := range l.tracks {
		k.pin()
		k.drop(&tl.Folds, ^uint64(0))
		tl.Store(k)
		k.Points, k.folds = nil, nil
		k.stored.coded = slices.Clip(k.stored.coded)
	}
}

// isEdge reports whether windows begin or end at a boundary.
func isEdge(b *event.Boundary, p *windows.Process) bool {
	switch b.Kind {
	case event.MeterShed:
		return b.Group == event.Statements
	case event.ProcessStart, event.MeterBack, event.MeterSettled, event.Line, event.Asked:
		return false
	case event.ProcessExec, event.ProcessExit:
		return p != nil && p.HasWindows
	}
	return true
}
