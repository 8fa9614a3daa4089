package merge

import (
	"cmp"
	"slices"
	"sort"
)

// driftParts bounds the difference in rate of two clocks: one part in driftParts, which is 1,000 parts per million. On
// each of the two machines Linux corrects CLOCK_MONOTONIC by at most 500 parts per million (MAXFREQ in
// include/linux/timex.h).
const driftParts = 1000

// slack returns by how much the distance of two clocks can change while some time passes.
func slack(elapsed int64) int64 { return elapsed/driftParts + 1 }

// limit is an upper limit of the distance of two clocks at one moment. at is the time that one of the clocks shows
// then.
type limit struct{ at, most int64 }

// ceiling is an upper limit of the distance of two clocks at any time. Its limits are in order of time. Each is as low
// as the limits around it and the drift allow.
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

// distance bounds by how much a clock is ahead of another. up is an upper limit, and down is an upper limit of how much
// the clock is behind. The times of both are those of the first clock.
type distance struct{ up, down ceiling }

// known reports whether both sides are limited.
func (d *distance) known() bool { return len(d.up) > 0 && len(d.down) > 0 }

// contradicts reports whether the limits exclude each other. It checks only the times of limits: between two limits the
// sum of both sides is highest in the middle.
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

// earliest and latest return bounds of the time that the other clock shows when this one shows a time.
func (d *distance) earliest(at int64) int64 { return at - d.up.most(at) }

func (d *distance) latest(at int64) int64 { return at + d.down.most(at) }
