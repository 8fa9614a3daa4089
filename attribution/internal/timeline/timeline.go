// Package timeline keeps the values of meters over time as a chart shows them.
package timeline

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

// Timeline has the tracks of all processes.
type Timeline struct {
	*windows.State

	curves  []*Line // of processes, by their index; nil for a process without
	Trees   map[*windows.Tree]*Line
	bytes   int // in the archive
	tracks  int
	Folds   foldMemory
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
func (tl *Timeline) track(l *Line, m event.Meter) *Track {
	i, found := l.find(m)
	if found {
		return l.tracks[i]
	}
	if !tl.Limits.Room(&tl.Limits.Timeline, tl.tracks < maxTracks && !tl.full) {
		return nil
	}
	tl.tracks++
	k := &Track{Meter: m}
	l.tracks = slices.Insert(l.tracks, i, k)
	return k
}

// Tell adds a change to the track of its meter.
func (tl *Timeline) Tell(r *windows.Tree, c *event.Change, pending *event.Boundary) {
	over := r.Ended
	if pending != nil && pending.Root == c.Root {
		over = max(over, pending.Segment)
	}
	// The change's boundary has been drawn, or may have been: the peaks cover it.
	if c.Segment <= over || c.Passed > 0 || c.Learned {
		return
	}
	var k *Track
	if tl.waitsFor(c, pending) {
		k = tl.waiting.track(course.Key{PID: c.PID, Meter: c.Meter})
	} else {
		k = tl.running(c.PID, c.Meter)
	}
	if k == nil || k.isGap {
		return
	}
	kind := c.Meter.Facts().Kind
	k.Tell(&tl.Folds, over, c.Segment, Moment{c.Time, c.Value, kind == event.Pages || kind == event.Part ||
		kind == event.Ranges && !c.Block || c.IsTurn()})
}

// running returns the track of a meter of a process that has begun, nil otherwise.
func (tl *Timeline) running(pid int32, m event.Meter) *Track {
	p := tl.Processes.ByPID[pid]
	if p == nil || p.Began == 0 {
		return nil
	}
	return tl.track(tl.curveOf(p), m)
}

// Store turns points into bytes, except those after the last beginning or end of a window.
func (tl *Timeline) Store(k *Track) {
	if k.free > MaxFree {
		k.thin()
	}
	if tl.full {
		if !k.isGap {
			k.pause(&tl.Folds, k.end, gapNoRoom)
			k.stored.add(&k.Points[len(k.Points)-1])
		}
		tl.Limits.Timeline++
		k.Points, k.edge, k.free = k.Points[:0], 0, 0
		return
	}
	for i := range k.Points[:k.edge] {
		k.stored.add(&k.Points[i])
		if !k.Points[i].kept {
			k.free--
		}
	}
	k.Points = k.Points[:copy(k.Points, k.Points[k.edge:])]
	k.edge = 0
	if len(k.stored.coded) < pieceSize {
		return
	}
	tl.coded = append(binary.AppendUvarint(tl.coded[:0], uint64(len(k.stored.coded))), k.stored.coded...)
	k.stored.places = append(k.stored.places, tl.Table.Archive.Add(tl.coded))
	tl.bytes += len(tl.coded)
	k.stored.coded, k.stored.last = k.stored.coded[:0], Point{}
	tl.full = tl.bytes > maxTimeline
}

// waitsFor reports whether a change has to wait until the pending boundary has been processed: its track does not exist
// yet.
func (tl *Timeline) waitsFor(c *event.Change, b *event.Boundary) bool {
	if b == nil || b.Root != c.Root {
		return false
	}
	p := tl.Processes.ByPID[c.PID]
	if p == nil || p.Began == 0 || b.Kind == event.ProcessStart && b.PID == c.PID {
		return true
	}
	l := tl.curveOf(p)
	i, found := l.find(c.Meter)
	return !found || l.tracks[i].isGap
}

// tellEarly adds the changes that waited to their tracks, once the boundary has been processed.
func (tl *Timeline) tellEarly() {
	for key, waited := range tl.waiting {
		if k := tl.running(key.PID, key.Meter); k != nil && !k.isGap && len(k.folds) == 0 {
			k.folds, waited.folds = waited.folds, nil
		}
		waited.drop(&tl.Folds, ^uint64(0))
	}
	clear(tl.waiting)
}

// pieceSize is the number of bytes that go into the archive at once.
const pieceSize = 2 << 10

// Line is the course of the meters of a process, or of a tree.
type Line struct {
	tracks []*Track          // by meter, ascending
	began  event.Nanoseconds // the time from which their values are known
	isOn   bool              // of a tree: it has more than one process
}

// find returns the index of a meter's track, or the index for a new one.
func (l *Line) find(m event.Meter) (at int, found bool) {
	return slices.BinarySearchFunc(l.tracks, m, func(k *Track, m event.Meter) int { return int(k.Meter) - int(m) })
}

// curveOf returns the curve of a process.
func (tl *Timeline) curveOf(p *windows.Process) *Line {
	if more := p.Index + 1 - len(tl.curves); more > 0 {
		tl.curves = append(tl.curves, make([]*Line, more)...)
	}
	l := tl.curves[p.Index]
	if l == nil {
		l = &Line{}
		tl.curves[p.Index] = l
	}
	l.began = p.Began
	return l
}

// treeCurve returns the curve of a tree.
func (tl *Timeline) treeCurve(r *windows.Tree) *Line {
	l := tl.Trees[r]
	if l == nil {
		l = &Line{}
		tl.Trees[r] = l
	}
	return l
}

// A boundary waits for its readings, in a replay for longer than live. Meanwhile, changes may arrive of a process that
// it begins, or of a meter with a gap that it ends. They are kept until the boundary has been taken in, so the timeline
// is the same live and in a replay.

// maxEarly is the most meters of processes that may wait in this way.
const maxEarly = 1 << 12

// earlyChanges are the tracks that record changes while a boundary waits.
type earlyChanges map[course.Key]*Track

// track returns the track of a meter, nil if there is no room.
func (early *earlyChanges) track(key course.Key) *Track {
	k := (*early)[key]
	if k == nil && len(*early) < maxEarly {
		if *early == nil {
			*early = earlyChanges{}
		}
		k = &Track{Meter: key.Meter}
		(*early)[key] = k
	}
	return k
}
