package merge

import (
	"cmp"
	"slices"
	"sort"
)

// driftParts bounds the difference in rate of two clocks: 1 in so many, 1,000 parts per million. Linux corrects
// CLOCK_MONOTONIC by 500 parts per million at most (MAXFREQ in include/linux/timex.h), for each of the two.
const driftParts = 1000

// slack returns by how much the distance of two clocks can change in a time.
func slack(elapsed int64) int64 { return elapsed/driftParts + 1 }

// limit is an upper limit of the distance of two clocks, at a time of the second.
type limit struct{ at, most int64 }

// ceiling is an upper limit of the distance of two clocks at any time: its limits are as low as those around them and
// the drift allow, in order of time.
type ceiling []limit

// newCeiling makes a ceiling from limits, in any order.
func newCeiling(limits []limit) ceiling {
	c := ceiling(limits)
	slices.SortFunc(c, func(a, b limit) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.most, b.most)) })
	c = slices.CompactFunc(c, func(a, b limit) bool { return a.at == b.at })
	for i := 1; i < len(c); i++ {
		c[i].most = min(c[i].most, c[i-1].most+slack(c[i].at-c[i-1].at))
	}
	for i := len(c) - 2; i >= 0; i-- {
		c[i].most = min(c[i].most, c[i+1].most+slack(c[i+1].at-c[i].at))
	}
	return c
}

// most returns the limit at a time. The ceiling is not empty.
func (c ceiling) most(at int64) int64 {
	next := sort.Search(len(c), func(i int) bool { return c[i].at >= at })
	if next == len(c) {
		return c[next-1].most + slack(at-c[next-1].at)
	}
	if c[next].at == at {
		return c[next].most
	}
	most := c[next].most + slack(c[next].at-at)
	if next > 0 {
		most = min(most, c[next-1].most+slack(at-c[next-1].at))
	}
	return most
}

// distance bounds by how much a clock is ahead of another, at a time of the first: up is an upper limit, and down one
// of the opposite.
type distance struct{ up, down ceiling }

// known reports whether both sides are limited.
func (d *distance) known() bool { return len(d.up) > 0 && len(d.down) > 0 }

// contradicts reports whether the limits exclude each other. Between two limits the sum of both sides is highest in the
// middle, so their own times are enough.
func (d *distance) contradicts() bool {
	for _, all := range []ceiling{d.up, d.down} {
		for _, l := range all {
			if d.up.most(l.at)+d.down.most(l.at) < 0 {
				return true
			}
		}
	}
	return false
}

// earliest and latest return bounds of the other clock's time at a time of this one.
func (d *distance) earliest(at int64) int64 { return at - d.up.most(at) }

func (d *distance) latest(at int64) int64 { return at + d.down.most(at) }
