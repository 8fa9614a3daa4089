package attribution

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// draw takes in the values of a boundary that has been applied.
func (tl *timeline) draw(r *windows.Tree, b *event.Boundary, moved course.Movements) {
	s := seen{at: b.Time, segment: b.Segment, hold: r.DrawnAt, isEdge: isEdge(b, tl.Processes.ByPID[b.PID])}
	turns := b.Kind == event.CellOpen || b.Kind == event.CellClose
	for _, pid := range tl.inOrderOfPID(moved) {
		p := tl.Processes.ByPID[pid]
		if p == nil || p.Began == 0 {
			continue
		}
		m := moved[pid]
		s.waited = m.Waited
		tl.drawLine(r, tl.lineOf(p), &s, m.Value, m.High, turns)
	}
	tl.drawTree(r, b, &s, turns)
	if b.Kind == event.MeterShed || b.Kind == event.MeterBack {
		tl.drawShed(r, b)
	}
	if p := tl.Processes.ByPID[b.PID]; b.Kind == event.ProcessExit && p != nil {
		tl.close(tl.lineOf(p))
	}
	tl.tellEarly()
}

// inOrderOfPID returns the processes that moved, in an order that is the same each time.
func (tl *timeline) inOrderOfPID(moved course.Movements) []int32 {
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

// drawLine takes in a boundary's values of a process, or of a tree.
func (tl *timeline) drawLine(r *windows.Tree, l *line, s *seen, value, high *event.Readings, turns bool) {
	i := 0
	for _, m := range tl.GPUs.Meters {
		for i < len(l.tracks) && l.tracks[i].meter < m {
			i++
		}
		if i == len(l.tracks) || l.tracks[i].meter != m {
			if value[m] == 0 && high[m] == 0 || tl.track(l, m) == nil {
				continue
			}
		}
		k := l.tracks[i]
		s.value, s.high = value[m], high[m]
		// made by a change of a later segment, which may yet report the value that it has had all along
		if !k.hasBegun && s.value == 0 && s.high == 0 {
			k.drop(&tl.folds, s.segment)
			continue
		}
		if !k.hasBegun && s.at > l.began {
			k.begin(l.began, 0)
		}
		k.see(&tl.folds, s)
		if !k.isGap && tl.isShed(r, m) {
			k.pause(&tl.folds, s.at, gapOfGroup(r.WhyPaused(m)))
		}
		if n := len(k.points); n >= maxStretch || turns && n > 0 {
			tl.store(k)
		}
	}
}

// drawTree takes in a boundary's values of its tree, while there are more processes than the one that is attached.
func (tl *timeline) drawTree(r *windows.Tree, b *event.Boundary, s *seen, turns bool) {
	isAlone := len(r.Living) == 0 || len(r.Living) == 1 && r.Living[0].Parent == 0
	l := tl.treeLine(r)
	wasOn := l.isOn
	l.isOn = !isAlone
	if !wasOn && isAlone {
		return
	}
	s.waited = false
	if !wasOn {
		l.began = b.Time
		for _, k := range l.tracks {
			k.resume(b.Time, b.Tree[k.meter])
		}
		s.hold = b.Time
		tl.drawLine(r, l, s, &b.Tree, &b.Tree, turns)
		return
	}
	tl.drawLine(r, l, s, &b.Tree, &b.TreeHigh, turns)
	if isAlone {
		for _, k := range l.tracks {
			k.pause(&tl.folds, b.Time, gapAlone)
		}
	}
}

// isShed reports whether a meter is stepped down.
func (tl *timeline) isShed(r *windows.Tree, m event.Meter) bool {
	return len(r.Paused) > 0 && r.Paused[m].Now
}

// drawShed begins and ends the gaps of meters that are stepped down.
func (tl *timeline) drawShed(r *windows.Tree, b *event.Boundary) {
	for _, m := range b.Group.Paused() {
		for _, p := range r.Living {
			tl.drawShedOf(r, tl.lineOf(p), b, m, p.Gauges.Value(m))
		}
		if tree := tl.treeLine(r); tree.isOn {
			tl.drawShedOf(r, tree, b, m, r.Gauges.Value(m))
		}
	}
}

func (tl *timeline) drawShedOf(r *windows.Tree, l *line, b *event.Boundary, m event.Meter, value event.Bytes) {
	if !slices.Contains(tl.GPUs.Meters, m) {
		return
	}
	k := tl.track(l, m)
	if k == nil {
		return
	}
	if !k.hasBegun {
		k.begin(l.began, value)
	}
	if tl.isShed(r, m) {
		k.pause(&tl.folds, b.Time, gapOfGroup(r.WhyPaused(m)))
	} else {
		k.resume(b.Time, value)
	}
}

// drawLearned records the value that a meter of a process, and so its tree, has had all along.
func (tl *timeline) drawLearned(r *windows.Tree, p *windows.Process, m event.Meter, value event.Bytes) {
	tl.learned(tl.lineOf(p), m, value)
	if tree := tl.treeLine(r); tree.isOn {
		tl.learned(tree, m, value)
	}
}

func (tl *timeline) learned(l *line, m event.Meter, value event.Bytes) {
	if l.began == 0 {
		return
	}
	if k := tl.track(l, m); k != nil && !k.hasBegun {
		k.begin(l.began, value)
	}
}

// close stores the track of a process that has ended.
func (tl *timeline) close(l *line) {
	for _, k := range l.tracks {
		k.pin()
		k.drop(&tl.folds, ^uint64(0))
		tl.store(k)
		k.points, k.folds = nil, nil
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
