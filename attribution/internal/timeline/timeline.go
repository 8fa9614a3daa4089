// Package timeline keeps the values of meters over time as a chart shows them.
package timeline

import (
	"encoding/binary"
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// The timeline of meters is kept as turning points (see [model.Track]): the values at each boundary, and between them
// the values of changes. Windows need their starts, peaks and ends. Of the other points a chart needs a limited number
// for each cell. The points of a cell that is over become bytes, see [stored].

// Timeline has the tracks of all processes.
type Timeline struct {
	*windows.State

	curves  []*Line // of processes, by Process.Index; nil for a process without a curve
	trees   map[*windows.Tree]*Line
	bytes   int // number of bytes in the archive
	tracks  int // number of tracks
	Folds   foldMemory
	full    bool
	pids    []int32
	waiting earlyChanges
	coded   []byte // buffer for records of the archive
}

// New returns the timeline of a session.
func New(s *windows.State) *Timeline {
	return &Timeline{State: s, trees: map[*windows.Tree]*Line{}}
}

// Limits of what is kept.
const (
	maxTracks   = 1 << 17
	maxTimeline = 192 << 20 // bytes, before they are compressed
)

// track returns a meter's track, and adds it if it is new; nil where there is no room.
func (tl *Timeline) track(line *Line, m event.Meter) *Track {
	i, found := line.find(m)
	if found {
		return line.tracks[i]
	}
	if !tl.Limits.Room(&tl.Limits.Timeline, tl.tracks < maxTracks && !tl.full) {
		return nil
	}
	tl.tracks++
	k := &Track{Meter: m}
	line.tracks = slices.Insert(line.tracks, i, k)
	return k
}

// Tell adds a change to the track of its meter.
func (tl *Timeline) Tell(tree *windows.Tree, change *event.Change, pending *event.Boundary) {
	over := tree.Ended
	if pending != nil && pending.Root == change.Root {
		over = max(over, pending.Segment)
	}
	// The change's boundary was drawn, or may have been: the highs at the boundary cover the change.
	if change.Segment <= over || change.Passed > 0 || change.Learned {
		return
	}
	var track *Track
	if tl.waitsFor(change, pending) {
		track = tl.waiting.track(course.Key{PID: change.PID, Meter: change.Meter})
	} else {
		track = tl.running(change.PID, change.Meter)
	}
	if track == nil || track.isGap {
		return
	}
	kind := change.Meter.Facts().Kind
	onlyFalls := kind == event.Pages || kind == event.Part || kind == event.Ranges && !change.Block
	fell := onlyFalls || change.IsTurn()
	track.AddChange(&tl.Folds, over, change.Segment, Moment{change.Time, change.Value, fell})
}

// running returns the track of a meter of a process that has begun, nil otherwise.
func (tl *Timeline) running(pid int32, m event.Meter) *Track {
	process := tl.Processes.ByPID[pid]
	if process == nil || process.Began == 0 {
		return nil
	}
	return tl.track(tl.curveOf(process), m)
}

// Store turns points into bytes, except those after the last beginning or end of a window.
func (tl *Timeline) Store(track *Track) {
	if track.free > MaxFree {
		track.thin()
	}
	if tl.full {
		if !track.isGap {
			track.pause(&tl.Folds, track.end, gapNoRoom)
			track.stored.add(&track.Points[len(track.Points)-1])
		}
		tl.Limits.Timeline++
		track.Points, track.edge, track.free = track.Points[:0], 0, 0
		return
	}
	for i := range track.Points[:track.edge] {
		track.stored.add(&track.Points[i])
		if !track.Points[i].kept {
			track.free--
		}
	}
	track.Points = track.Points[:copy(track.Points, track.Points[track.edge:])]
	track.edge = 0
	if len(track.stored.coded) < pieceSize {
		return
	}
	tl.coded = append(binary.AppendUvarint(tl.coded[:0], uint64(len(track.stored.coded))), track.stored.coded...)
	track.stored.places = append(track.stored.places, tl.Table.Archive.Add(tl.coded))
	tl.bytes += len(tl.coded)
	track.stored.coded, track.stored.last = track.stored.coded[:0], Point{}
	tl.full = tl.bytes > maxTimeline
}

// waitsFor reports whether a change has to wait until the pending boundary has been processed: the boundary may begin
// the change's track.
func (tl *Timeline) waitsFor(change *event.Change, boundary *event.Boundary) bool {
	if boundary == nil || boundary.Root != change.Root {
		return false
	}
	process := tl.Processes.ByPID[change.PID]
	if process == nil || process.Began == 0 || boundary.Kind == event.ProcessStart && boundary.PID == change.PID {
		return true
	}
	l := tl.curveOf(process)
	i, found := l.find(change.Meter)
	return !found || l.tracks[i].isGap
}

// addEarly adds the changes that waited for the boundary to their tracks.
func (tl *Timeline) addEarly() {
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
	isOn   bool              // for a tree: it has more than one process
}

// find returns the index of a meter's track, or the index for a new one.
func (l *Line) find(m event.Meter) (at int, found bool) {
	return slices.BinarySearchFunc(l.tracks, m, func(k *Track, m event.Meter) int { return int(k.Meter) - int(m) })
}

// curveOf returns the curve of a process.
func (tl *Timeline) curveOf(process *windows.Process) *Line {
	if more := process.Index + 1 - len(tl.curves); more > 0 {
		tl.curves = append(tl.curves, make([]*Line, more)...)
	}
	line := tl.curves[process.Index]
	if line == nil {
		line = &Line{}
		tl.curves[process.Index] = line
	}
	line.began = process.Began
	return line
}

// treeCurve returns the curve of a tree.
func (tl *Timeline) treeCurve(tree *windows.Tree) *Line {
	line := tl.trees[tree]
	if line == nil {
		line = &Line{}
		tl.trees[tree] = line
	}
	return line
}

// A boundary waits for its readings, in a replay longer than live. Meanwhile, changes may arrive of a process that the
// boundary begins, or of a meter whose gap it ends. They are kept until the boundary has been taken in, so that the
// timeline is the same live and in a replay.

// maxEarly is the largest number of tracks that wait for a boundary.
const maxEarly = 1 << 12

// earlyChanges are the tracks that record changes while a boundary waits.
type earlyChanges map[course.Key]*Track

// track returns the track of a meter, nil if there is no room.
func (early *earlyChanges) track(key course.Key) *Track {
	track := (*early)[key]
	if track == nil && len(*early) < maxEarly {
		if *early == nil {
			*early = earlyChanges{}
		}
		track = &Track{Meter: key.Meter}
		(*early)[key] = track
	}
	return track
}
