package merge

import "ipytracer/model"

// clock is the clock of one boot of a machine.
type clock struct {
	boot      string
	mono, now int64 // what this clock and the wall clock showed at the same moment
	began     int64 // the beginning of the earliest recording
	post      post

	by       string // how the clock was placed: one of model.By…
	above    *clock // the clock to which its distance is bounded; nil for the reference and for unbounded ones
	distance distance
	depth    int   // the number of clocks between this one and the reference, and 1
	messages int   // messages to and from the clock above
	ahead    int64 // by how much it is ahead of the reference, as estimated
}

// maxDepth bounds the clocks between a clock and the reference.
const maxDepth = 16

// bounded reports whether the clock's place on the timeline has bounds.
func (c *clock) bounded() bool { return c.by == model.ByReference || c.above != nil }

// earliest and latest return bounds of what the reference shows when this clock shows at.
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

// placeClocks places the clocks on the timeline. The first clock is the reference. Other clocks are placed by messages,
// with as few clocks between them and the reference as possible; else by the error of wall clocks, if the user states
// it; else by the wall clocks alone. placeClocks returns the pairs of clocks whose messages contradict each other.
func placeClocks(clocks []*clock, wallError int64, all []message) (contradictions [][2]*clock) {
	if len(clocks) == 0 {
		return nil
	}
	reference := clocks[0]
	reference.by = model.ByReference
	contradictions = placeByMessages(clocks, all)
	for _, c := range clocks {
		if c.bounded() {
			continue
		}
		c.by = model.ByWallClock
		if wallError >= 0 {
			c.by, c.above = model.ByClockError, reference
			c.distance = distance{
				up:   newCeiling([]limit{{c.mono, c.aheadByWallClock(reference) + wallError}}),
				down: newCeiling([]limit{{c.mono, wallError - c.aheadByWallClock(reference)}}),
			}
		}
	}
	for _, c := range clocks {
		c.estimate(reference)
	}
	return contradictions
}

// placeByMessages places the clocks that messages connect with the reference, clocks[0], breadth first. It returns the
// pairs of clocks whose messages contradict each other.
func placeByMessages(clocks []*clock, all []message) (contradictions [][2]*clock) {
	links := messagesByPair(all)
	queue := []*clock{clocks[0]}
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
	return contradictions
}

// aheadByWallClock returns by how much the clock is ahead of another one, according to the wall clocks.
func (c *clock) aheadByWallClock(other *clock) int64 {
	return (c.mono - c.now) - (other.mono - other.now)
}

// estimate sets by how much the clock is ahead of the reference: the distance by the wall clocks if the bounds allow
// it, and else the middle of the bounds.
func (c *clock) estimate(reference *clock) {
	c.ahead = c.aheadByWallClock(reference)
	if c.above == nil {
		return
	}
	low, high := c.earliest(c.began), c.latest(c.began)
	if by := c.began - c.ahead; by < low || by > high {
		c.ahead = c.began - (low + (high-low)/2)
	}
}

func pairOf(a, b int64) [2]int64 { return [2]int64{min(a, b), max(a, b)} }

// messagesByPair groups messages by their pair of clocks.
func messagesByPair(all []message) map[[2]int64][]message {
	links := map[[2]int64][]message{}
	for _, m := range all {
		pair := pairOf(m.from, m.to)
		links[pair] = append(links[pair], m)
	}
	return links
}

// distanceOf bounds by how much the clock with an index is ahead of the other clock of the messages. When it received a
// message, the other clock showed at least the time of sending. When it sent a message, the other clock showed at most
// the time of receiving.
func distanceOf(between []message, index int64) (d distance, n int) {
	var up, down []limit
	for _, m := range between {
		if m.to == index {
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
