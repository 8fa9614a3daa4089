package merge

import (
	"cmp"
	"container/heap"
	"slices"

	"ipytracer/model"
)

// edge is the beginning or the end of a segment on the timeline.
type edge struct {
	at      int64
	course  int32
	segment int32
	ends    bool
}

// highestPossible returns the most that the courses can have had at once, if each segment begins as early and ends as
// late as its clock's bounds allow.
func highestPossible(courses []*course, clocks []*clock) (highest int64) {
	var edges []edge
	for i, c := range courses {
		of := clocks[i]
		for j, s := range c.segments {
			edges = append(edges, edge{of.earliest(s.from), int32(i), int32(j), false},
				edge{of.latest(s.to), int32(i), int32(j), true})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if a.at == b.at && a.ends != b.ends { // segments that touch count together
			if b.ends {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.at, b.at)
	})
	open := make([]actives, len(courses))
	sum := int64(0)
	for _, e := range edges {
		o := &open[e.course]
		sum -= o.highest()
		if e.ends {
			o.close(e.segment)
		} else {
			heap.Push(o, active{courses[e.course].segments[e.segment].high, e.segment})
		}
		sum += o.highest()
		highest = max(highest, sum)
	}
	return highest
}

// active is a segment that has begun and not ended.
type active struct {
	high    int64
	segment int32
}

// actives are the open segments of a course, as a heap with the highest first. Ended segments stay in it until they are
// the highest.
type actives struct {
	all   []active
	ended map[int32]bool
}

func (o *actives) Len() int           { return len(o.all) }
func (o *actives) Less(i, j int) bool { return o.all[i].high > o.all[j].high }
func (o *actives) Swap(i, j int)      { o.all[i], o.all[j] = o.all[j], o.all[i] }
func (o *actives) Push(x any)         { o.all = append(o.all, x.(active)) }
func (o *actives) Pop() any {
	last := o.all[len(o.all)-1]
	o.all = o.all[:len(o.all)-1]
	return last
}

func (o *actives) highest() int64 {
	if len(o.all) == 0 {
		return 0
	}
	return o.all[0].high
}

func (o *actives) close(segment int32) {
	if o.ended == nil {
		o.ended = map[int32]bool{}
	}
	o.ended[segment] = true
	for len(o.all) > 0 && o.ended[o.all[0].segment] {
		delete(o.ended, o.all[0].segment)
		heap.Pop(o)
	}
}

// step is a boundary on the timeline, or the end of a course.
type step struct {
	at     int64
	course int32
	ends   bool // the course has no more
	value  int64
}

// highestEstimated returns the most that the courses had at once, and when. It supposes that values stay the same
// between boundaries, and that the clocks are as estimated.
func highestEstimated(courses []*course, clocks []*clock) (highest, at int64) {
	var steps []step
	for i, c := range courses {
		for j, s := range c.segments {
			t := s.to - clocks[i].ahead
			steps = append(steps, step{t, int32(i), false, s.value})
			if j+1 == len(c.segments) {
				steps = append(steps, step{t, int32(i), true, 0})
			}
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int {
		if a.at == b.at && a.ends != b.ends {
			if b.ends {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.at, b.at)
	})
	now, sum, first := make([]int64, len(courses)), int64(0), true
	for i, s := range steps {
		sum += s.value - now[s.course]
		now[s.course] = s.value
		over := i+1 == len(steps) || steps[i+1].at != s.at || steps[i+1].ends != s.ends
		if over && (sum > highest || first) {
			highest, at, first = sum, s.at, false
		}
	}
	return highest, at
}

// maxShares bounds the nodes that are listed for a moment.
const maxShares = 16

// shares returns the memory of each node at a moment of the reference clock.
func (s *Set) shares(at int64) []model.TogetherShare {
	all := []model.TogetherShare{}
	for i, n := range s.nodes {
		share := model.TogetherShare{Node: i}
		for _, c := range n.courses {
			share.Bytes += c.at(at + n.clock.ahead)
		}
		if share.Bytes > 0 {
			all = append(all, share)
		}
	}
	slices.SortStableFunc(all, func(a, b model.TogetherShare) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return slices.Clip(all[:min(len(all), maxShares)])
}

// together returns how much memory all nodes had at once.
func (s *Set) together() (t model.Together) {
	groups := map[*clock][]int{} // indexes of courses, by clock; clocks with bounds form one group, nil
	var courses []*course
	var clocks []*clock
	known, extra, highestSum := true, int64(0), int64(0)
	for _, n := range s.nodes {
		known = known && n.known
		extra = sumOrOverflow(extra, n.extra)
		t.Least = max(t.Least, n.least)
		for _, c := range n.courses {
			highestSum = sumOrOverflow(highestSum, c.highest)
			group := n.clock
			if group.bounded() {
				group = nil
			}
			groups[group] = append(groups[group], len(courses))
			courses, clocks = append(courses, c), append(clocks, n.clock)
		}
	}
	if t.Shares = []model.TogetherShare{}; highestSum == overflow {
		return t
	}
	sum := int64(0)
	for _, group := range groups { // clocks without bounds may all have been at their highest at the same time
		var groupCourses []*course
		var groupClocks []*clock
		for _, i := range group {
			groupCourses, groupClocks = append(groupCourses, courses[i]), append(groupClocks, clocks[i])
		}
		sum += highestPossible(groupCourses, groupClocks)
	}
	if known {
		sum = max(sumOrOverflow(sum, extra), t.Least)
		t.Most = &sum
	}
	t.Standing, t.StandingNS = highestEstimated(courses, clocks)
	t.Shares = s.shares(t.StandingNS)
	t.StandingNS -= s.zero
	return t
}
