package merge

import "ipytracer/model"

// clock is the clock of one boot of a machine.
type clock struct {
	boot      string
	mono, now int64 // a moment by this clock, and by the wall clock
	began     int64 // of the earliest recording
	post      post

	by       string
	above    *clock // the clock to which its distance is bounded; nil for the reference and for unbounded ones
	distance distance
	depth    int
	messages int
	ahead    int64 // of the reference, as estimated
}

// maxDepth is the most clocks between one and the reference.
const maxDepth = 16

// bounded reports whether the place of the clock on the timeline has bounds.
func (c *clock) bounded() bool { return c.by == model.ByReference || c.above != nil }

// earliest and latest return bounds of the reference's time at a time of this clock.
func (c *clock) earliest(at int64) int64 {
	for ; c.above != nil; c = c.above {
		at = c.distance.earliest(at)
	}
	return at
}

func (c *clock) latest(at int64) int64 {
	for ; c.above != nil; c = c.above {
		at = c.distance.latest(at)
	}
	return at
}

// place places the clocks: the first is the reference. The others follow by messages, with as few clocks between as
// there can be; then by the error of the wall clocks, if the user states one; then by the wall clocks alone. It returns
// the pairs of clocks with messages that contradict each other.
func place(clocks []*clock, wallError int64, all []message) (contradictions [][2]*clock) {
	if len(clocks) == 0 {
		return nil
	}
	links := linked(all)
	reference := clocks[0]
	reference.by = model.ByReference
	queue := []*clock{reference}
	index := map[*clock]int64{}
	for i, c := range clocks {
		index[c] = int64(i)
	}
	for len(queue) > 0 {
		above := queue[0]
		queue = queue[1:]
		for _, c := range clocks {
			between := links[pairOf(index[above], index[c])]
			if c.bounded() || len(between) == 0 || above.depth == maxDepth {
				continue
			}
			d, n := distanceOf(between, index[c])
			if !d.known() {
				continue
			}
			if d.contradicts() {
				contradictions = append(contradictions, [2]*clock{above, c})
				continue
			}
			c.by, c.above, c.distance, c.messages, c.depth = model.ByMessages, above, d, n, above.depth+1
			queue = append(queue, c)
		}
	}
	for _, c := range clocks {
		if c.bounded() {
			continue
		}
		c.by = model.ByWallClock
		if wallError >= 0 {
			c.by, c.above = model.ByClockError, reference
			c.distance = distance{
				up:   newCeiling([]limit{{c.mono, c.apart(reference) + wallError}}),
				down: newCeiling([]limit{{c.mono, wallError - c.apart(reference)}}),
			}
		}
	}
	for _, c := range clocks {
		c.estimate(reference)
	}
	return contradictions
}

// apart returns by how much the clock is ahead of another by the wall clocks.
func (c *clock) apart(of *clock) int64 { return (c.mono - c.now) - (of.mono - of.now) }

// estimate takes the distance by the wall clocks if it is within the bounds, else the middle of the bounds.
func (c *clock) estimate(reference *clock) {
	c.ahead = c.apart(reference)
	if c.above == nil {
		return
	}
	low, high := c.earliest(c.began), c.latest(c.began)
	if by := c.began - c.ahead; by < low || by > high {
		c.ahead = c.began - (low + (high-low)/2)
	}
}

func pairOf(a, b int64) [2]int64 { return [2]int64{min(a, b), max(a, b)} }

// linked sorts messages by the pair of clocks.
func linked(all []message) map[[2]int64][]message {
	links := map[[2]int64][]message{}
	for _, m := range all {
		pair := pairOf(m.from, m.to)
		links[pair] = append(links[pair], m)
	}
	return links
}

// distanceOf bounds by how much a clock is ahead of the other one of the messages. When it received a message, the
// other showed at least the time of sending. When it sent one, the other showed at most the time of receiving.
func distanceOf(between []message, of int64) (d distance, n int) {
	var up, down []limit
	for _, m := range between {
		if m.to == of {
			up = append(up, limit{m.got, m.got - m.sent})
		} else {
			down = append(down, limit{m.sent, m.got - m.sent})
		}
	}
	if len(up) > 0 && len(down) > 0 {
		d = distance{newCeiling(up), newCeiling(down)}
	}
	return d, len(between)
}
