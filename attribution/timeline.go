package attribution

import (
	"encoding/binary"
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// The timeline of meters is kept as turning points (see [model.Track]): the values at each boundary, and in between the
// values of changes. Few of them are needed: windows need their starts, peaks and ends; of the others a chart needs a
// limited number for each cell. A stretch that is over is turned into bytes, see [stored].

// timeline has the tracks of all processes.
type timeline struct {
	*windows.State

	lines   []*line // of processes, by their index; nil for a process without
	trees   map[*windows.Tree]*line
	bytes   int // in the archive
	tracks  int
	folds   foldMemory
	full    bool
	pids    []int32
	waiting earlyChanges
	coded   []byte // buffer for records of the archive
}

// Limits of what is kept.
const (
	maxTracks   = 1 << 17
	maxTimeline = 192 << 20 // bytes, before they are packed
)

// track returns a meter's track, and adds it if it is new; nil where there is no room.
func (tl *timeline) track(l *line, m event.Meter) *track {
	i, found := l.find(m)
	if found {
		return l.tracks[i]
	}
	if !tl.Limits.Room(&tl.Limits.Timeline, tl.tracks < maxTracks && !tl.full) {
		return nil
	}
	tl.tracks++
	k := &track{meter: m}
	l.tracks = slices.Insert(l.tracks, i, k)
	return k
}

// tell adds a change to the track of its meter.
func (tl *timeline) tell(r *windows.Tree, c *event.Change, pending *event.Boundary) {
	over := r.Ended
	if pending != nil && pending.Root == c.Root {
		over = max(over, pending.Segment)
	}
	// The change's boundary has been drawn, or may have been: the peaks cover it.
	if c.Segment <= over || c.Passed > 0 || c.Learned {
		return
	}
	var k *track
	if tl.waitsFor(c, pending) {
		k = tl.waiting.track(course.Key{PID: c.PID, Meter: c.Meter})
	} else {
		k = tl.running(c.PID, c.Meter)
	}
	if k == nil || k.isGap {
		return
	}
	kind := c.Meter.Facts().Kind
	k.tell(&tl.folds, over, c.Segment, moment{c.Time, c.Value, kind == event.Pages || kind == event.Part ||
		kind == event.Ranges && !c.Block || c.IsTurn()})
}

// running returns the track of a meter of a process that has begun, nil otherwise.
func (tl *timeline) running(pid int32, m event.Meter) *track {
	p := tl.Processes.ByPID[pid]
	if p == nil || p.Began == 0 {
		return nil
	}
	return tl.track(tl.lineOf(p), m)
}

// store turns points into bytes, except those after the last beginning or end of a window.
func (tl *timeline) store(k *track) {
	if k.free > maxFree {
		k.thin()
	}
	if tl.full {
		if !k.isGap {
			k.pause(&tl.folds, k.end, gapNoRoom)
			k.stored.add(&k.points[len(k.points)-1])
		}
		tl.Limits.Timeline++
		k.points, k.edge, k.free = k.points[:0], 0, 0
		return
	}
	for i := range k.points[:k.edge] {
		k.stored.add(&k.points[i])
		if !k.points[i].kept {
			k.free--
		}
	}
	k.points = k.points[:copy(k.points, k.points[k.edge:])]
	k.edge = 0
	if len(k.stored.coded) < pieceSize {
		return
	}
	tl.coded = append(binary.AppendUvarint(tl.coded[:0], uint64(len(k.stored.coded))), k.stored.coded...)
	k.stored.places = append(k.stored.places, tl.Table.Archive.Add(tl.coded))
	tl.bytes += len(tl.coded)
	k.stored.coded, k.stored.last = k.stored.coded[:0], point{}
	tl.full = tl.bytes > maxTimeline
}

// waitsFor reports whether a change has to wait until the pending boundary has been processed: its track does not exist
// yet.
func (tl *timeline) waitsFor(c *event.Change, b *event.Boundary) bool {
	if b == nil || b.Root != c.Root {
		return false
	}
	p := tl.Processes.ByPID[c.PID]
	if p == nil || p.Began == 0 || b.Kind == event.ProcessStart && b.PID == c.PID {
		return true
	}
	l := tl.lineOf(p)
	i, found := l.find(c.Meter)
	return !found || l.tracks[i].isGap
}

// tellEarly adds the changes that waited to their tracks, once the boundary has been processed.
func (tl *timeline) tellEarly() {
	for key, waited := range tl.waiting {
		if k := tl.running(key.PID, key.Meter); k != nil && !k.isGap && len(k.folds) == 0 {
			k.folds, waited.folds = waited.folds, nil
		}
		waited.drop(&tl.folds, ^uint64(0))
	}
	clear(tl.waiting)
}

// pieceSize is the number of bytes that go into the archive at once.
const pieceSize = 2 << 10

// line is the course of the meters of a process, or of a tree.
type line struct {
	tracks []*track          // by meter, ascending
	began  event.Nanoseconds // the time from which their values are known
	isOn   bool              // of a tree: it has more than one process
}

// find returns the index of a meter's track, or the index for a new one.
func (l *line) find(m event.Meter) (at int, found bool) {
	return slices.BinarySearchFunc(l.tracks, m, func(k *track, m event.Meter) int { return int(k.meter) - int(m) })
}

// lineOf returns the line of a process.
func (tl *timeline) lineOf(p *windows.Process) *line {
	if more := p.Index + 1 - len(tl.lines); more > 0 {
		tl.lines = append(tl.lines, make([]*line, more)...)
	}
	l := tl.lines[p.Index]
	if l == nil {
		l = &line{}
		tl.lines[p.Index] = l
	}
	l.began = p.Began
	return l
}

// treeLine returns the line of a tree.
func (tl *timeline) treeLine(r *windows.Tree) *line {
	l := tl.trees[r]
	if l == nil {
		l = &line{}
		tl.trees[r] = l
	}
	return l
}
