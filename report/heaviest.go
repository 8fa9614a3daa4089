package report

import (
	"cmp"
	"container/heap"
	"iter"
	"slices"
	"sort"

	"ipytracer/model"
)

// some returns a copy of a report with the windows and the times between cells that are kept, and with other tracks: a
// nil track is left out.
func some(report *model.Report, keepWindow func(*model.Window) bool, keepBetween func(*model.Between) bool,
	otherTrack func(*model.Track) *model.Track) *model.Report {
	session := *report
	session.Windows, session.Between, session.Timeline = nil, nil, nil
	session.Stream = filtered(report.All, keepWindow)
	session.Passing = func(pick model.Pick) iter.Seq[*model.Window] {
		return filtered(func() iter.Seq[*model.Window] { return report.Picked(pick) }, keepWindow)
	}
	session.StreamBetween = filtered(report.AllBetween, keepBetween)
	session.PassingBetween = filtered(report.AllBetweenPassing, keepBetween)
	session.StreamTimeline = func(yield func(*model.Track) bool) {
		for t := range report.AllTimeline() {
			if t = otherTrack(t); t != nil && !yield(t) {
				return
			}
		}
	}
	return &session
}

// filtered yields the items of a stream that are kept.
func filtered[T any](stream func() iter.Seq[*T], keep func(*T) bool) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for item := range stream() {
			if keep(item) && !yield(item) {
				return
			}
		}
	}
}

// weighed is a cell among the heaviest so far.
type weighed struct {
	id, order int // order is the cell's place in the session
	need      int64
}

// lightestFirst is a heap of cells with the lightest on top; of equal ones the last.
type lightestFirst []weighed

func (l lightestFirst) Len() int { return len(l) }
func (l lightestFirst) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(l[i].need, l[j].need), cmp.Compare(l[j].order, l[i].order)) < 0
}
func (l lightestFirst) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *lightestFirst) Push(x any)   { *l = append(*l, x.(weighed)) }
func (l *lightestFirst) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}

// Heaviest returns a report with the count cells that needed the most of a meter, by the larger need of the process and
// of its tree; of equal needs the earlier cell. The report keeps their statements, the times before and after them,
// sessions and experiments. The timeline has every point of their times; elsewhere it has two of a hundred points,
// among them the highest. Nothing else of the report changes.
func Heaviest(report *model.Report, count int, meter string) *model.Report {
	var heaviest lightestFirst
	order := 0
	for w := range report.Picked(model.IsCell) {
		order++
		heap.Push(&heaviest, weighed{w.ID, order, max(w.Meters[meter].Need(), w.Tree[meter].Need())})
		if heaviest.Len() > count {
			heap.Pop(&heaviest)
		}
	}
	kept := map[int]bool{}
	for _, cell := range heaviest {
		kept[cell.id] = true
	}
	var fine stretches
	for w := range report.Picked(func(_ string, id, _ int) bool { return kept[id] }) {
		fine = append(fine, stretch{w.StartNS, w.StartNS + w.DurationNS})
	}
	fine = fine.merged()
	var thin model.Track
	return some(report,
		func(window *model.Window) bool {
			switch window.Kind {
			case model.Cell:
				return kept[window.ID]
			case model.Statement:
				return kept[window.Parent]
			}
			return true
		},
		func(b *model.Between) bool { return kept[b.After] || kept[b.Before] },
		func(track *model.Track) *model.Track {
			points := thin.Points[:0]
			thin = *track
			thin.Points = fine.thinned(points, track.Points)
			return &thin
		})
}

// coarse is the number of points of which two stay, the highest and the last, outside of kept cells.
const coarse = 100

// stretch is a time, in nanoseconds since the session began, both ends included.
type stretch struct{ from, to int64 }

// stretches are times. Once merged, they are sorted and do not overlap.
type stretches []stretch

// merged sorts the times and joins those that overlap.
func (s stretches) merged() (out stretches) {
	slices.SortFunc(s, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	for _, next := range s {
		if n := len(out); n > 0 && next.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, next.to)
		} else {
			out = append(out, next)
		}
	}
	return out
}

// has reports whether one of the times includes ns. The times must be merged.
func (s stretches) has(ns int64) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].to >= ns })
	return i < len(s) && s[i].from <= ns
}

// thinned appends to kept the points of a track that stay: those within the times, and gaps. Of each run of up to
// coarse other points the highest and the last stay.
func (s stretches) thinned(kept, points []model.Point) []model.Point {
	highest, seen := -1, 0 // of the present run: the index of its highest point; its length
	endRun := func(last int) {
		if seen > 0 {
			if highest != last {
				kept = append(kept, points[highest])
			}
			kept = append(kept, points[last])
		}
		seen = 0
	}
	for i, p := range points {
		if p.Kind == model.PointGap || s.has(p.NS) {
			endRun(i - 1)
			kept = append(kept, p)
			continue
		}
		if seen == 0 || p.Bytes > points[highest].Bytes {
			highest = i
		}
		if seen++; seen == coarse {
			endRun(i)
		}
	}
	endRun(len(points) - 1)
	return kept
}
