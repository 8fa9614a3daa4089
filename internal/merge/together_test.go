package merge

import (
	"math/rand/v2"
	"testing"

	"ipytracer/model"
)

// last is the length of a course that is made up.
const last = 1000

// wandering makes up a course that draws a boundary about every so often, by a clock that is ahead. It adds its values
// to the sum.
func wandering(random *rand.Rand, i, often int, ahead int64, sum []int64) *course {
	c, value, high, room := &course{}, int64(0), int64(0), 1<<10
	if i == 0 {
		room = 16
	}
	for now := range int64(last) {
		value = max(0, value+random.Int64N(11)-6)
		if now/100%5 == int64(i) { // each has a time in which it grows
			value += random.Int64N(10)
		}
		high = max(high, value)
		spike := int64(0)
		if now%250 == 100 { // all at the same moment
			spike = 1000
			high = max(high, value+spike)
		}
		if now == 0 || random.IntN(often) == 0 || now == last-1 {
			c.add(now+ahead, high, value)
			high = value
		}
		if len(c.segments) > room {
			c.halve()
		}
		sum[now] += value + spike
	}
	return c
}

// TestTogetherHoldsTheTruth: memory that moves at any time, also down and up between two boundaries, is never more than
// the most and reaches the least, with exact and with uncertain clocks.
func TestTogetherHoldsTheTruth(t *testing.T) {
	tighter := 0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 5))
		uncertain, often := random.Int64N(3)*20, []int{1, 2, 20}[random.IntN(3)]
		var courses []*course
		var clocks []*clock
		var sum [last]int64
		all := int64(0)
		for i := range 2 + random.IntN(4) {
			truth, ahead := random.Int64N(2*uncertain+1)-uncertain, random.Int64N(1e6)
			c := wandering(random, i, often, ahead+truth, sum[:])
			of := &clock{above: &clock{by: model.ByReference}, distance: distance{
				ceiling{{ahead + last/2, ahead + uncertain}}, ceiling{{ahead + last/2, uncertain - ahead}},
			}, ahead: ahead}
			all += c.highest
			courses, clocks = append(courses, c), append(clocks, of)
		}
		highest := int64(0)
		for _, s := range sum {
			highest = max(highest, s)
		}
		got := highestPossible(courses, clocks)
		if got < highest || got > all {
			t.Fatalf("seed %d: at most %d, in truth %d, all peaks are %d", seed, got, highest, all)
		}
		if got < all {
			tighter++
		}
		if about, _ := highestEstimated(courses, clocks); about > all {
			t.Errorf("seed %d: about %d of %d", seed, about, all)
		}
	}
	if tighter < 100 {
		t.Errorf("only %d bounds are better than the sum of all peaks", tighter)
	}
}

// TestStandingShares: the parts of a moment add up to it.
func TestStandingShares(t *testing.T) {
	a, b := &course{}, &course{}
	for at, value := range []int64{10, 50, 20, 0} {
		a.add(int64(at)*100, value+5, value)
		b.add(int64(at)*100+1050, value+5, value)
	}
	on := &clock{by: model.ByReference}
	other := &clock{by: model.ByWallClock, ahead: 1000}
	about, at := highestEstimated([]*course{a, b}, []*clock{on, other})
	if about != 100 || at != 150 {
		t.Errorf("%d at %d", about, at)
	}
	s := &Set{nodes: []*node{{courses: []*course{a}, clock: on}, {courses: []*course{b}, clock: other}}}
	sum := int64(0)
	for _, share := range s.shares(at) {
		sum += share.Bytes
	}
	if sum != about {
		t.Errorf("the shares are %d of %d", sum, about)
	}
}
