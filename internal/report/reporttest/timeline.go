package reporttest

import (
	"fmt"
	"sort"
	"testing"

	"ipytracer/model"
)

// trackKey identifies a track.
type trackKey struct {
	pid   int
	meter string
	tree  bool
}

// Timeline fails the test if a window's start, peak or end is not in the report's timeline.
func Timeline(t testing.TB, report *model.Report) {
	t.Helper()
	for i, wrong := range TimelineErrors(report) {
		if i == 10 {
			t.Error("…")
			return
		}
		t.Error(wrong)
	}
}

// TimelineErrors compares a report's timeline with the starts, peaks and ends of its windows, of processes and of
// trees. It returns a sentence for each difference.
func TimelineErrors(report *model.Report) (wrong []string) {
	tracks, gaps := map[trackKey][]model.Point{}, map[trackKey][]model.Gap{}
	reused, attached := reusedPIDs(report), attachedOf(report)
	for k := range report.AllTimeline() {
		key := trackKey{k.PID, k.Meter, k.Tree}
		before := tracks[key]
		for i, p := range k.Points {
			goesBack := false
			if i > 0 {
				goesBack = p.NS < k.Points[i-1].NS
			} else if n := len(before); n > 0 && !reused[k.PID] {
				goesBack = p.NS < before[n-1].NS
			}
			if goesBack {
				wrong = append(wrong, fmt.Sprintf("%v goes back in time at %d ns", key, p.NS))
			}
		}
		tracks[key], gaps[key] = append(before, k.Points...), append(gaps[key], k.Gaps...)
	}
	for key, points := range tracks {
		if key.tree {
			own := trackKey{key.pid, key.meter, false}
			tracks[key], gaps[key] = together(points, gaps[key], tracks[own])
			gaps[key] = append(gaps[key], gaps[own]...)
		}
	}
	check := func(what string, key trackKey, from, to int64, figure model.Figure) {
		points := tracks[key]
		for _, g := range gaps[key] {
			if g.StartNS <= to && from <= g.EndNS {
				return
			}
		}
		if reused[key.pid] {
			return
		}
		got := [3]int64{valueAt(points, from), mostIn(points, from, to), valueAt(points, to)}
		isLeast := !figure.Exact && figure.Bound == nil && figure.Peak <= got[1]
		if want := [3]int64{figure.Start, figure.Peak, figure.End}; got != want && !isLeast {
			wrong = append(wrong, fmt.Sprintf("%s, %v: %d from %d to %d ns, its figure %d",
				what, key, got, from, to, want))
		}
	}
	for w := range report.AllPassing() {
		what := fmt.Sprintf("%s %d (line %d, %q)", w.Kind, w.ID, w.Line, w.Note)
		for id, f := range w.Meters {
			check(what, trackKey{w.PID, id, false}, w.StartNS, w.StartNS+w.DurationNS, f)
		}
		for id, f := range w.Tree {
			check(what, trackKey{attached[w.PID], id, true}, w.StartNS, w.StartNS+w.DurationNS, f)
		}
	}
	for b := range report.AllBetweenPassing() {
		for id, f := range b.Meters {
			check(b.Label, trackKey{b.PID, id, false}, b.StartNS, b.StartNS+b.DurationNS, f)
		}
	}
	return wrong
}

// together completes the track of a tree: in the times without descendants it gets the points of the process's own
// track. others are the gaps for other reasons.
func together(tree []model.Point, gaps []model.Gap, own []model.Point) (points []model.Point, others []model.Gap) {
	for _, g := range gaps {
		if g.Reason != model.GapAlone {
			others = append(others, g)
			continue
		}
		i := sort.Search(len(tree), func(i int) bool { return tree[i].NS >= g.StartNS })
		for i < len(tree) && tree[i].Kind != model.PointGap {
			i++
		}
		points = append(points, tree[:i]...)
		tree = tree[min(i+1, len(tree)):]
		points = append(points, model.Point{NS: g.StartNS, Bytes: valueAt(own, g.StartNS), Kind: model.PointValue})
		for _, p := range own[behind(own, g.StartNS):] {
			if p.NS <= g.EndNS {
				points = append(points, p)
			}
		}
	}
	return append(points, tree...), others
}

// reusedPIDs returns the pids that several processes had, one after another.
func reusedPIDs(report *model.Report) map[int]bool {
	seen, reused := map[int]bool{}, map[int]bool{}
	for _, p := range report.Processes {
		reused[p.PID] = seen[p.PID]
		seen[p.PID] = true
	}
	return reused
}

// attachedOf returns, by pid, the attached process of each process's tree. The tree's track has that process's pid.
func attachedOf(report *model.Report) map[int]int {
	parents, attached := map[int]int{}, map[int]int{}
	for _, p := range report.Processes {
		parents[p.PID] = p.Parent
	}
	for pid := range parents {
		ancestor := pid
		for range len(parents) { // a report from elsewhere may have a circle of parents
			if parents[ancestor] == 0 {
				break
			}
			ancestor = parents[ancestor]
		}
		attached[pid] = ancestor
	}
	return attached
}

// behind returns the index of the first point that is later than a time.
func behind(points []model.Point, ns int64) int {
	return sort.Search(len(points), func(i int) bool { return points[i].NS > ns })
}

// valueAt returns the value of a track at a time; 0 before its first point.
func valueAt(points []model.Point, ns int64) int64 {
	if i := behind(points, ns); i > 0 {
		return points[i-1].Bytes
	}
	return 0
}

// mostIn returns the highest value of a track in a time, both ends included.
func mostIn(points []model.Point, from, to int64) int64 {
	most := valueAt(points, from)
	for _, p := range points[max(behind(points, from)-1, 0):behind(points, to)] {
		most = max(most, p.Bytes)
	}
	return most
}
