package attribution

import (
	"slices"

	"ipytracer/event"
	"ipytracer/model"
)

// What meters did over time is kept as turning points (see [model.Track]): what each boundary says, and in between what
// changes tell. Few of them are needed: windows need their starts, peaks and ends; of the others a chart needs so many
// for each cell. A stretch that is over is turned into bytes, see [stored].

// timeline is what is kept of that for all processes.
type timeline struct {
	session   *session
	limits    *limits
	gpus      *gpus
	processes *processes
	archive   *archive

	bytes   int // in the archive
	tracks  int
	columns int // of all folds
	full    bool
	reasons []string // of gaps, by their numbers
	moments []moment // to be used again
	spare   [][]column
	pids    []int32
	waiting map[heldKey]*track
	coded   []byte // memory for what is to be put into the archive
}

// Limits of what is kept.
const (
	maxTracks     = 1 << 17
	maxColumns    = 1 << 16
	maxTimeline   = 192 << 20 // bytes, before they are packed
	maxFolds      = 4         // segments that are not over, of a track
	maxReasons    = 200
	maxSpareFolds = 32 // columns of folds, to be used again
)

// track is a meter's, made where it is not there yet; nil where there is no room.
func (tl *timeline) track(l *line, m event.Meter) *track {
	i, found := l.find(m)
	if found {
		return l.tracks[i]
	}
	if !tl.limits.room(&tl.limits.Timeline, tl.tracks < maxTracks && !tl.full) {
		return nil
	}
	tl.tracks++
	k := &track{meter: m}
	l.tracks = slices.Insert(l.tracks, i, k)
	return k
}

// tell takes in a change.
func (tl *timeline) tell(r *root, c *event.Change, pending *event.Boundary) {
	over := r.ended
	if pending != nil && pending.Root == c.Root {
		over = max(over, pending.Segment)
	}
	// Its boundary has been drawn, or may have been: that is for the peaks to settle.
	if c.Segment <= over || c.Passed > 0 || c.Learned {
		return
	}
	var k *track
	if tl.waitsFor(c, pending) {
		k = tl.early(heldKey{c.PID, c.Meter})
	} else {
		k = tl.running(c.PID, c.Meter)
	}
	if k == nil || k.isGap {
		return
	}
	kind := c.Meter.Facts().Kind
	k.tell(tl, over, c.Segment, moment{c.Time, c.Value, kind == event.Pages || kind == event.Part ||
		kind == event.Ranges && !c.Block || c.IsTurn()})
}

// tell takes in what a change says of a segment. What waits to be drawn, up to the segment that is over, does not
// count: how long it waits is another matter live than in a replay.
func (k *track) tell(l *timeline, over, segment uint64, m moment) {
	running := 0
	for i := range k.folds {
		if f := &k.folds[i]; f.segment == segment {
			before := len(f.columns)
			f.add(m)
			l.columns += len(f.columns) - before
			return
		}
		if k.folds[i].segment > over {
			running++
		}
	}
	if running == maxFolds || l.columns >= maxColumns {
		return
	}
	f := fold{segment: segment, origin: m.at, shift: firstShift}
	if n := len(l.spare); n > 0 {
		f.columns, l.spare = l.spare[n-1], l.spare[:n-1]
	}
	k.folds = append(k.folds, f)
	k.folds[len(k.folds)-1].add(m)
	l.columns++
}

// isEdge says whether windows begin or end at a boundary.
func isEdge(b *event.Boundary, p *process) bool {
	switch b.Kind {
	case event.MeterShed:
		return b.Text == event.Statements
	case event.ProcessStart, event.MeterBack, event.MeterSettled, event.Line, event.Asked:
		return false
	case event.ProcessExec, event.ProcessExit:
		return p != nil && p.hasWindows
	}
	return true
}

// draw takes in what a boundary says that has been applied.
func (tl *timeline) draw(r *root, b *event.Boundary, moved moves) {
	s := seen{at: b.Time, segment: b.Segment, hold: r.drawnAt, isEdge: isEdge(b, tl.processes.byPID[b.PID])}
	turns := b.Kind == event.CellOpen || b.Kind == event.CellClose
	for _, pid := range tl.inOrderOfPID(moved) {
		p := tl.processes.byPID[pid]
		if p == nil || p.began == 0 {
			continue
		}
		m := moved[pid]
		s.waited = m.waited
		tl.drawLine(r, &p.line, &s, m.value, m.high, turns)
	}
	tl.drawTree(r, b, &s, turns)
	if b.Kind == event.MeterShed || b.Kind == event.MeterBack {
		tl.drawShed(r, b)
	}
	if p := tl.processes.byPID[b.PID]; b.Kind == event.ProcessExit && p != nil {
		tl.close(&p.line)
	}
	tl.tellEarly()
}

// inOrderOfPID are the processes that moved, in an order that is the same every time.
func (tl *timeline) inOrderOfPID(moved moves) []int32 {
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

// drawLine takes in what a boundary says of a process, or of a tree.
func (tl *timeline) drawLine(r *root, l *line, s *seen, value, high *event.Readings, turns bool) {
	i := 0
	for _, m := range tl.gpus.meters {
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
		// made by a change of a later segment, which may be told what it has had all along
		if !k.hasBegun && s.value == 0 && s.high == 0 {
			k.drop(tl, s.segment)
			continue
		}
		if !k.hasBegun && s.at > l.began {
			k.begin(l.began, 0)
		}
		k.see(tl, s)
		if !k.isGap && tl.isShed(r, m) {
			k.pause(tl, s.at, tl.gapFor(r.whyShed(m)))
		}
		if n := len(k.points); n >= maxStretch || turns && n > 0 {
			tl.store(k)
		}
	}
}

// drawTree takes in what a boundary says of its tree, while there are more processes than the one that is attached.
func (tl *timeline) drawTree(r *root, b *event.Boundary, s *seen, turns bool) {
	isAlone := len(r.living) == 0 || len(r.living) == 1 && r.living[0].parent == 0
	wasOn, l := r.line.isOn, &r.line
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
			k.pause(tl, b.Time, tl.gapFor(model.GapAlone))
		}
	}
}

// isShed says whether a meter is stepped down.
func (tl *timeline) isShed(r *root, m event.Meter) bool { return len(r.shed) > 0 && r.shed[m].now }

// drawShed begins and ends the gaps of meters that are stepped down.
func (tl *timeline) drawShed(r *root, b *event.Boundary) {
	for _, m := range event.Paused(b.Text) {
		for _, p := range r.living {
			tl.drawShedOf(r, &p.line, b, m, p.past.value(m))
		}
		if r.line.isOn {
			tl.drawShedOf(r, &r.line, b, m, r.past.value(m))
		}
	}
}

func (tl *timeline) drawShedOf(r *root, l *line, b *event.Boundary, m event.Meter, value event.Bytes) {
	if !slices.Contains(tl.gpus.meters, m) {
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
		k.pause(tl, b.Time, tl.gapFor(r.whyShed(m)))
	} else {
		k.resume(b.Time, value)
	}
}

// gapFor is the number of a reason.
func (tl *timeline) gapFor(reason string) uint8 {
	i := slices.Index(tl.reasons, reason)
	switch {
	case i >= 0:
		return uint8(i)
	case len(tl.reasons) == maxReasons:
		return 0
	}
	reason, _ = tl.limits.keep(reason, maxName)
	tl.reasons = append(tl.reasons, reason)
	return uint8(len(tl.reasons) - 1)
}

// drawLearned notes what a meter has had all along.
func (tl *timeline) drawLearned(l *line, m event.Meter, value event.Bytes) {
	if l.began == 0 {
		return
	}
	if k := tl.track(l, m); k != nil && !k.hasBegun {
		k.begin(l.began, value)
	}
}

// close stores what a process did that has ended.
func (tl *timeline) close(l *line) {
	for _, k := range l.tracks {
		k.pin()
		k.drop(tl, ^uint64(0))
		tl.store(k)
		k.points, k.folds = nil, nil
		k.stored.coded = slices.Clip(k.stored.coded)
	}
}
