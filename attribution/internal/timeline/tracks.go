package timeline

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// trackPoints is the number of points from which an item of a report's timeline ends. An item never ends within a gap.
const trackPoints = 8 << 10

// EachTrack yields the items of a report's timeline, all in the same memory.
func (tl *Timeline) EachTrack(yield func(*model.Track) bool) {
	d := drawing{t: tl, yield: yield}
	for _, process := range tl.Processes.Order {
		if process.Began == 0 && !process.HasWindows {
			continue
		}
		gone := tl.Session.Last
		if process.Ended {
			gone = process.Gone
		}
		if !d.each(tl.curveOf(process), process, false, gone) {
			return
		}
		if r := tl.Processes.Trees[process.Root]; r != nil && process.Session != nil && process.Parent == 0 &&
			(!d.each(tl.treeCurve(r), process, true, tl.Session.Last) || !d.eachOnlyOwn(tl.treeCurve(r), process)) {
			return
		}
	}
}

// eachOnlyOwn yields the tracks of a tree for meters that only its attached process has moved: each is a single gap,
// which tells the reader to take the process's own track.
func (d *drawing) eachOnlyOwn(tree *Line, process *windows.Process) bool {
	if len(tree.tracks) == 0 {
		return true
	}
	for _, track := range d.t.curveOf(process).tracks {
		if _, found := tree.find(track.Meter); found || !track.hasBegun ||
			!d.t.GPUs.Shows(track.Meter, nil, process.Info.Python != "") {
			continue
		}
		from, to := d.since(process.Began), d.since(d.t.Session.Last)
		if !d.yield(&model.Track{
			PID: int(process.Info.PID), Meter: track.Meter.String(), Tree: true,
			Points: []model.Point{{NS: from, Kind: model.PointGap}},
			Gaps:   []model.Gap{{StartNS: from, EndNS: to, Reason: model.GapAlone}},
		}) {
			return false
		}
	}
	return true
}

// each yields the tracks of a process or, if tree is set, of the tree of an attached process.
func (d *drawing) each(line *Line, process *windows.Process, tree bool, gone event.Nanoseconds) bool {
	for _, track := range line.tracks {
		if !d.t.GPUs.Shows(track.Meter, nil, process.Info.Python != "") {
			continue
		}
		d.track = model.Track{PID: int(process.Info.PID), Meter: track.Meter.String(), Tree: tree,
			Points: d.track.Points[:0], Gaps: d.track.Gaps[:0]}
		d.unprobed, d.inGap, d.points = d.t.Processes.UnprobedOf(process, tree, track.Meter), false, 0
		d.began, d.gone, d.alone = process.Began, gone, tree
		if !d.drawTrack(track) {
			return false
		}
	}
	return true
}

// drawing makes the items of one track.
type drawing struct {
	t           *Timeline
	track       model.Track
	unprobed    course.Spans
	began, gone event.Nanoseconds
	alone       bool // until its first point, the process is alone in the tree
	yield       func(*model.Track) bool
	last        Point
	inGap       bool
	points      int // number of points of the track so far
}

func (d *drawing) drawTrack(track *Track) bool {
	for p := range track.All(d.t.Table.Archive) {
		if d.alone && d.points == 0 && p.At > d.began &&
			!d.add(Point{At: d.began, Kind: model.PointGap, gap: gapAlone}) {
			return false
		}
		if !d.add(p) {
			return false
		}
	}
	if d.points == 0 {
		return true
	}
	switch {
	case d.inGap:
		d.track.Gaps[len(d.track.Gaps)-1].EndNS = d.since(max(d.gone, d.last.At))
	case d.gone > d.last.At: // it stood still until then
		if !d.add(Point{At: d.gone, Bytes: track.value, Kind: model.PointValue}) {
			return false
		}
	}
	return d.flush()
}

// add adds a point, and yields the item when it is full.
func (d *drawing) add(p Point) bool {
	if len(d.track.Points) >= trackPoints && !d.inGap && !d.flush() {
		return false
	}
	if d.inGap {
		d.track.Gaps[len(d.track.Gaps)-1].EndNS = d.since(p.At)
		d.inGap = false
	}
	if p.Kind == model.PointGap {
		d.inGap = true
		d.track.Gaps = append(d.track.Gaps, model.Gap{StartNS: d.since(p.At), Reason: p.gap.reason()})
	}
	d.track.Points = append(d.track.Points, model.Point{NS: d.since(p.At), Bytes: int64(p.Bytes), Kind: p.Kind})
	d.last = p
	d.points++
	return true
}

// since converts a time to that of the report.
func (d *drawing) since(at event.Nanoseconds) int64 { return int64(at - d.t.Session.Began) }

// flush yields the points so far as an item.
func (d *drawing) flush() bool {
	if len(d.track.Points) == 0 {
		return true
	}
	for len(d.unprobed) > 0 && d.unprobed[0].Since <= d.last.At {
		d.track.Gaps = append(d.track.Gaps, model.Gap{
			StartNS: d.since(max(d.unprobed[0].Since, d.t.Session.Began)),
			EndNS:   d.since(min(d.unprobed[0].Until, d.t.Session.Last)), Reason: model.GapUnknown,
		})
		d.unprobed = d.unprobed[1:]
	}
	goesOn := d.yield(&d.track)
	d.track.Points, d.track.Gaps = d.track.Points[:0], d.track.Gaps[:0]
	return goesOn
}

// reason returns the reason in the words of a report.
func (g gap) reason() string {
	switch g {
	case gapAlone:
		return model.GapAlone
	case gapNoRoom:
		return model.GapNoRoom
	}
	return words.GapOf(event.Group(g - gapGroups))
}
