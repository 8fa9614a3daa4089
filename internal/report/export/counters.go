package export

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/internal/report/escape"
	"ipytracer/model"
)

// counters prints the course of meters, point by point; those of trees have a name of their own. They come in any order
// of time: viewers sort them, and keep the order of points at one time.
type counters struct {
	*timeline
	alone map[counted]*alone // of trees
	ends  map[int]int64      // of processes that have ended
	last  map[counted]int64  // time of a counter's last point
}

// counted is a counter.
type counted struct {
	pid   int
	meter string
}

// alone has the times in which a process has no descendants, so that its own counter is its tree's: in order, with the
// process's value at the beginning of each.
type alone struct {
	times []model.Gap
	had   []int64
	at    int   // the next of them, for the process
	next  int   // the next of them, for the tree
	value int64 // the present value of the process
}

// print goes through the timeline twice. The track of a process's tree says when the process is alone, and comes after
// the process's own track.
func (c *counters) print(report *model.Report) {
	for i := range report.Processes {
		if one := &report.Processes[i]; one.Ended {
			c.ends[one.PID] = max(c.ends[one.PID], one.EndNS)
		}
	}
	for i := range report.Processes { // a reused pid has not ended
		if one := &report.Processes[i]; !one.Ended {
			delete(c.ends, one.PID)
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
	for _, of := range slices.SortedFunc(maps.Keys(c.last), func(a, b counted) int {
		return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.meter, b.meter))
	}) {
		if end, ended := c.ends[of.pid]; ended { // nothing follows its last point
			end = max(c.last[of], end)
			c.to.counter(of.pid, of.meter, end, 0)
			if a := c.alone[of]; a != nil &&
				slices.ContainsFunc(a.times, func(g model.Gap) bool { return g.StartNS <= end && end <= g.EndNS }) {
				c.to.counter(of.pid, ofTree+of.meter, end, 0)
			}
		}
	}
}

// learn records a time in which a process is alone.
func (c *counters) learn(track *model.Track) {
	of := counted{track.PID, escape.Text(track.Meter)}
	if c.alone[of] == nil {
		c.alone[of] = &alone{}
	}
	a := c.alone[of]
	for _, g := range track.Gaps {
		if g.Reason == model.GapAlone {
			a.times, a.had = append(a.times, g), append(a.had, 0)
		}
	}
}

func (c *counters) own(track *model.Track) {
	of := counted{track.PID, escape.Text(track.Meter)}
	a := c.alone[of]
	for _, point := range track.Points {
		at := max(0, point.NS)
		c.last[of] = max(c.last[of], at)
		c.to.counter(of.pid, of.meter, at, point.Bytes)
		if a != nil && a.take(point) {
			c.to.counter(of.pid, ofTree+of.meter, at, point.Bytes)
		}
	}
	c.gaps(of, track.Gaps)
}

// take reports whether a point of a process is one of its tree's. The tree's track has the value at the beginning of
// such a time.
func (a *alone) take(point model.Point) bool {
	a.begun(point.NS)
	a.value = point.Bytes
	if a.at == 0 || point.NS > a.times[a.at-1].EndNS {
		return false
	}
	if point.NS == a.times[a.at-1].StartNS {
		a.had[a.at-1] = point.Bytes
		return false
	}
	return true
}

// begun records the value of the process at the beginning of each such time up to a point.
func (a *alone) begun(ns int64) {
	for a.at < len(a.times) && a.times[a.at].StartNS <= ns {
		a.had[a.at] = a.value
		a.at++
	}
}

func (c *counters) tree(track *model.Track) {
	of := counted{track.PID, escape.Text(track.Meter)}
	a := c.alone[of]
	a.begun(1<<63 - 1)
	for _, point := range track.Points {
		bytes := point.Bytes
		if point.Kind == model.PointGap {
			for a.next < len(a.times) && a.times[a.next].StartNS < point.NS {
				a.next++
			}
			if a.next < len(a.times) && a.times[a.next].StartNS == point.NS {
				bytes = a.had[a.next]
			}
		}
		c.to.counter(of.pid, ofTree+of.meter, max(0, point.NS), bytes)
	}
	c.gaps(counted{of.pid, ofTree + of.meter}, track.Gaps)
}

func (c *counters) gaps(of counted, gaps []model.Gap) {
	for _, g := range gaps {
		if g.Reason == model.GapAlone {
			continue
		}
		c.to.gap(of.pid, of.meter, max(0, g.StartNS), max(0, g.StartNS, g.EndNS), escape.Bounded(g.Reason, maxExcerpt))
	}
}
