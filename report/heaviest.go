package report

import (
	"cmp"
	"container/heap"
	"iter"
	"slices"
	"sort"

	"ipytracer/model"
)

// some returns a report with some of its windows, times between cells and points of its timeline; the rest of the
// report is the same. The kept items do not change.
func some(report *model.Report, window func(*model.Window) bool, between func(*model.Between) bool,
	track func(*model.Track) *model.Track) *model.Report {
	session := *report
	session.Windows, session.Between, session.Timeline = nil, nil, nil
	session.Stream, session.Passing = keep(report.All, window), keep(report.AllPassing, window)
	session.StreamBetween, session.PassingBetween = keep(report.AllBetween, between), keep(report.AllBetweenPassing,
		between)
	session.StreamTimeline = func(yield func(*model.Track) bool) {
		for t := range report.AllTimeline() {
			if t = track(t); t != nil && !yield(t) {
				return
			}
		}
	}
	return &session
}

// keep iterates over the kept items of a stream.
func keep[T any](all func() iter.Seq[*T], kept func(*T) bool) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for one := range all() {
			if kept(one) && !yield(one) {
				return
			}
		}
	}
}

// weighed is a cell among the heaviest so far.
type weighed struct {
	id, order int
	need      int64
}

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

// Heaviest returns a report with the n cells that needed the most of a meter, by the process's own figure or its
// tree's, whichever is more; for equal needs the earlier cell. Their statements and the times before and after them
// stay with them, and so do sessions and experiments. The timeline has every point of their times; of others one in
// [coarse], so that the highest stays. Nothing else of the report changes.
func Heaviest(report *model.Report, width int, meter string) *model.Report {
	var heaviest lightestFirst
	order := 0
	for w := range report.AllPassing() {
		if w.Kind != model.Cell {
			continue
		}
		order++
		heap.Push(&heaviest, weighed{w.ID, order, max(w.Meters[meter].Need(), w.Tree[meter].Need())})
		if heaviest.Len() > width {
			heap.Pop(&heaviest)
		}
	}
	kept := map[int]bool{}
	for _, one := range heaviest {
		kept[one.id] = true
	}
	var fine stretches
	for w := range report.AllPassing() {
		if kept[w.ID] {
			fine = append(fine, stretch{w.StartNS, w.StartNS + w.DurationNS})
		}
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

// coarse is the number of points of a timeline that become two, the highest and the last, outside of kept cells.
const coarse = 100

// stretch is a time, both ends included.
type stretch struct{ from, to int64 }

// stretches are sorted and do not overlap.
type stretches []stretch

func (s stretches) merged() (out stretches) {
	slices.SortFunc(s, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	for _, one := range s {
		if n := len(out); n > 0 && one.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, one.to)
		} else {
			out = append(out, one)
		}
	}
	return out
}

func (s stretches) has(ns int64) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].to >= ns })
	return i < len(s) && s[i].from <= ns
}

// thinned adds the points of a track: all in the stretches, all gaps, and those at the ends of runs of the others; of
// the rest the highest.
func (s stretches) thinned(points, of []model.Point) []model.Point {
	highest, seen := -1, 0
	flush := func(to int) {
		if seen > 0 {
			if highest != to {
				points = append(points, of[highest])
			}
			points = append(points, of[to])
		}
		seen = 0
	}
	for i, p := range of {
		if p.Kind == model.PointGap || s.has(p.NS) {
			flush(i - 1)
			points = append(points, p)
			continue
		}
		if seen == 0 || p.Bytes > of[highest].Bytes {
			highest = i
		}
		if seen++; seen == coarse {
			flush(i)
		}
	}
	flush(len(of) - 1)
	return points
}
