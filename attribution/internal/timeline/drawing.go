package timeline

import (
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// Draw takes in the values of a boundary that has been applied.
func (tl *Timeline) Draw(tree *windows.Tree, boundary *event.Boundary, moved course.SegmentEnds) {
	s := Seen{At: boundary.Time, Segment: boundary.Segment, Hold: tree.DrawnAt,
		IsEdge: isEdge(boundary, tl.Processes.ByPID[boundary.PID])}
	isCellEdge := boundary.Kind == event.CellOpen || boundary.Kind == event.CellClose
	for _, pid := range tl.inOrderOfPID(moved) {
		process := tl.Processes.ByPID[pid]
		if process == nil || process.Began == 0 {
			continue
		}
		m := moved[pid]
		s.waited = m.Waited
		tl.drawCurve(tree, tl.curveOf(process), &s, m.Value, m.High, isCellEdge)
	}
	tl.drawTree(tree, boundary, &s, isCellEdge)
	if boundary.Kind == event.MeterShed || boundary.Kind == event.MeterBack {
		tl.drawPause(tree, boundary)
	}
	if p := tl.Processes.ByPID[boundary.PID]; boundary.Kind == event.ProcessExit && p != nil {
		tl.close(tl.curveOf(p))
	}
	tl.addEarly()
}

// inOrderOfPID returns the pids of the processes that moved, ascending.
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
func (tl *Timeline) drawCurve(tree *windows.Tree, line *Line, s *Seen, value, high *event.Readings, isCellEdge bool) {
	i := 0
	for _, m := range tl.GPUs.Meters {
		for i < len(line.tracks) && line.tracks[i].Meter < m {
			i++
		}
		if i == len(line.tracks) || line.tracks[i].Meter != m {
			if value[m] == 0 && high[m] == 0 || tl.track(line, m) == nil {
				continue
			}
		}
		track := line.tracks[i]
		s.Value, s.High = value[m], high[m]
		// A change of a later segment made the track. Another change may still report the value from the beginning.
		if !track.hasBegun && s.Value == 0 && s.High == 0 {
			track.drop(&tl.Folds, s.Segment)
			continue
		}
		if !track.hasBegun && s.At > line.began {
			track.Begin(line.began, 0)
		}
		track.See(&tl.Folds, s)
		if !track.isGap && tl.isPaused(tree, m) {
			track.pause(&tl.Folds, s.At, gapOfGroup(tree.WhyPaused(m)))
		}
		if n := len(track.Points); n >= maxStretch || isCellEdge && n > 0 {
			tl.Store(track)
		}
	}
}

// drawTree takes in a boundary's values of its tree. The tree has a curve only while the attached process is not alone.
func (tl *Timeline) drawTree(tree *windows.Tree, boundary *event.Boundary, s *Seen, isCellEdge bool) {
	isAlone := len(tree.Living) == 0 || len(tree.Living) == 1 && tree.Living[0].Parent == 0
	line := tl.treeCurve(tree)
	wasOn := line.isOn
	line.isOn = !isAlone
	if !wasOn && isAlone {
		return
	}
	s.waited = false
	if !wasOn {
		line.began = boundary.Time
		for _, k := range line.tracks {
			k.resume(boundary.Time, boundary.Tree[k.Meter])
		}
		s.Hold = boundary.Time
		tl.drawCurve(tree, line, s, &boundary.Tree, &boundary.Tree, isCellEdge)
		return
	}
	tl.drawCurve(tree, line, s, &boundary.Tree, &boundary.TreeHigh, isCellEdge)
	if isAlone {
		for _, k := range line.tracks {
			k.pause(&tl.Folds, boundary.Time, gapAlone)
		}
	}
}

// isPaused reports whether a meter is paused.
func (tl *Timeline) isPaused(r *windows.Tree, m event.Meter) bool {
	return len(r.Paused) > 0 && r.Paused[m].Now
}

// drawPause begins or ends the gaps of the meters that a boundary pauses or resumes.
func (tl *Timeline) drawPause(r *windows.Tree, boundary *event.Boundary) {
	for _, m := range boundary.Group.Paused() {
		for _, p := range r.Living {
			tl.drawPauseOf(r, tl.curveOf(p), boundary, m, p.Gauges.Value(m))
		}
		if tree := tl.treeCurve(r); tree.isOn {
			tl.drawPauseOf(r, tree, boundary, m, r.Gauges.Value(m))
		}
	}
}

func (tl *Timeline) drawPauseOf(tree *windows.Tree, line *Line, boundary *event.Boundary, m event.Meter,
	value event.Bytes) {
	if !slices.Contains(tl.GPUs.Meters, m) {
		return
	}
	track := tl.track(line, m)
	if track == nil {
		return
	}
	if !track.hasBegun {
		track.Begin(line.began, value)
	}
	if tl.isPaused(tree, m) {
		track.pause(&tl.Folds, boundary.Time, gapOfGroup(tree.WhyPaused(m)))
	} else {
		track.resume(boundary.Time, value)
	}
}

// DrawLearned records a value that a meter of a process has had since the curve began, and that became known only now.
func (tl *Timeline) DrawLearned(r *windows.Tree, process *windows.Process, m event.Meter, value event.Bytes) {
	tl.beginLearned(tl.curveOf(process), m, value)
	if tree := tl.treeCurve(r); tree.isOn {
		tl.beginLearned(tree, m, value)
	}
}

func (tl *Timeline) beginLearned(line *Line, m event.Meter, value event.Bytes) {
	if line.began == 0 {
		return
	}
	if k := tl.track(line, m); k != nil && !k.hasBegun {
		k.Begin(line.began, value)
	}
}

// close stores the track of a process that has ended.
func (tl *Timeline) close(line *Line) {
	for _, track := range line.tracks {
		track.pin()
		track.drop(&tl.Folds, ^uint64(0))
		tl.Store(track)
		track.Points, track.folds = nil, nil
		track.stored.coded = slices.Clip(track.stored.coded)
	}
}

// isEdge reports whether windows begin or end at a boundary.
func isEdge(boundary *event.Boundary, process *windows.Process) bool {
	switch boundary.Kind {
	case event.MeterShed:
		return boundary.Group == event.Statements
	case event.ProcessStart, event.MeterBack, event.MeterSettled, event.Line, event.Asked:
		return false
	case event.ProcessExec, event.ProcessExit:
		return process != nil && process.HasWindows
	}
	return true
}
