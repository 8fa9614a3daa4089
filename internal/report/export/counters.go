package export

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"ipytracer/internal/report/escape"
	"ipytracer/model"
)

// counters prints the course of meters, point by point. A tree's counters have a prefix, [ofTree]. The points of one
// counter may come out of order: viewers sort them by time, and keep the order of points at the same time.
type counters struct {
	*timeline
	alone map[counterKey]*alone // of trees
	ends  map[int]int64         // of processes that have ended
	last  map[counterKey]int64  // time of a counter's last point
}

// counterKey identifies a counter of a process's own.
type counterKey struct {
	pid   int
	meter string
}

// alone has the times in which a process has no descendants. In these times the tree's counter repeats the process's
// own.
type alone struct {
	times    []model.Gap // in order
	atBegin  []int64     // the process's value at the beginning of each time
	next     int         // the index of the first time that has not begun, while the process's points are read
	nextTree int         // the same, while the tree's points are read
	value    int64       // the present value of the process
}

// print goes through the timeline twice. The track of a process's tree says when the process is alone, and comes after
// the process's own track.
func (c *counters) print(report *model.Report) {
	for i := range report.Processes {
		if p := &report.Processes[i]; p.Ended {
			c.ends[p.PID] = max(c.ends[p.PID], p.EndNS)
		}
	}
	for i := range report.Processes { // a pid may have been used again by a process that runs
		if p := &report.Processes[i]; !p.Ended {
			delete(c.ends, p.PID)
		}
	}
	for track := range report.AllTimeline() {
		if track.Tree {
			c.learn(track)
		}
	}
	for track := range report.AllTimeline() {
		c.process(track.PID, "")
		if track.Tree {
			c.tree(track)
		} else {
			c.own(track)
		}
	}
	c.endAll()
}

// endAll sets the counters of processes that have ended to 0 at their ends.
func (c *counters) endAll() {
	keys := slices.SortedFunc(maps.Keys(c.last), func(a, b counterKey) int {
		return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.meter, b.meter))
	})
	for _, key := range keys {
		end, ended := c.ends[key.pid]
		if !ended {
			continue
		}
		end = max(c.last[key], end)
		c.to.counter(key.pid, key.meter, end, 0)
		includesEnd := func(g model.Gap) bool { return g.StartNS <= end && end <= g.EndNS }
		if a := c.alone[key]; a != nil && slices.ContainsFunc(a.times, includesEnd) {
			c.to.counter(key.pid, ofTree+key.meter, end, 0)
		}
	}
}

// learn records the times of a tree's track in which the process is alone.
func (c *counters) learn(track *model.Track) {
	key := counterKey{track.PID, escape.Text(track.Meter)}
	if c.alone[key] == nil {
		c.alone[key] = &alone{}
	}
	a := c.alone[key]
	for _, g := range track.Gaps {
		if g.Reason == model.GapAlone {
			a.times, a.atBegin = append(a.times, g), append(a.atBegin, 0)
		}
	}
}

// own prints a process's own track, and the points of its tree's counter while the process is alone.
func (c *counters) own(track *model.Track) {
	key := counterKey{track.PID, escape.Text(track.Meter)}
	a := c.alone[key]
	for _, point := range track.Points {
		ns := max(0, point.NS)
		c.last[key] = max(c.last[key], ns)
		c.to.counter(key.pid, key.meter, ns, point.Bytes)
		if a != nil && a.add(point) {
			c.to.counter(key.pid, ofTree+key.meter, ns, point.Bytes)
		}
	}
	c.gaps(key, track.Gaps)
}

// add records a point of the process, and reports whether the tree's counter needs the point, too: the process is alone
// then. The tree's own track has the point at the beginning of such a time.
func (a *alone) add(point model.Point) bool {
	a.advance(point.NS)
	a.value = point.Bytes
	current := a.next - 1
	if current < 0 || point.NS > a.times[current].EndNS {
		return false
	}
	if point.NS == a.times[current].StartNS {
		a.atBegin[current] = point.Bytes
		return false
	}
	return true
}

// advance records the process's present value for each time that begins up to ns.
func (a *alone) advance(ns int64) {
	for a.next < len(a.times) && a.times[a.next].StartNS <= ns {
		a.atBegin[a.next] = a.value
		a.next++
	}
}

// tree prints the track of a process's tree. Where a time alone begins, the point has the process's own value.
func (c *counters) tree(track *model.Track) {
	key := counterKey{track.PID, escape.Text(track.Meter)}
	a := c.alone[key]
	a.advance(math.MaxInt64)
	for _, point := range track.Points {
		bytes := point.Bytes
		if point.Kind == model.PointGap {
			for a.nextTree < len(a.times) && a.times[a.nextTree].StartNS < point.NS {
				a.nextTree++
			}
			if a.nextTree < len(a.times) && a.times[a.nextTree].StartNS == point.NS {
				bytes = a.atBegin[a.nextTree]
			}
		}
		c.to.counter(key.pid, ofTree+key.meter, max(0, point.NS), bytes)
	}
	c.gaps(counterKey{key.pid, ofTree + key.meter}, track.Gaps)
}

// gaps prints the times in which a counter is not known.
func (c *counters) gaps(key counterKey, gaps []model.Gap) {
	for _, g := range gaps {
		if g.Reason == model.GapAlone {
			continue
		}
		c.to.gap(key.pid, key.meter, max(0, g.StartNS), max(0, g.StartNS, g.EndNS),
			escape.Bounded(g.Reason, maxExcerpt))
	}
}
