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

// slack returns by how much the distance of two clocks can change within a time.
func slack(elapsed int64) int64 { return elapsed/driftParts + 1 }

// limit is an upper limit, max, of the distance of two clocks at the moment when one of the clocks shows at.
type limit struct{ at, max int64 }

// ceiling is an upper limit of the distance of two clocks at any time, as limits in order of time. Each limit is as low
// as the limits around it and the drift allow.
type ceiling []limit

// newCeiling returns the ceiling of limits in any order.
func newCeiling(limits []limit) ceiling {
	c := ceiling(limits)
	slices.SortFunc(c, func(a, b limit) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.max, b.max)) })
	c = slices.CompactFunc(c, func(a, b limit) bool { return a.at == b.at })
	for i := 1; i < len(c); i++ {
		c[i].max = min(c[i].max, c[i-1].max+slack(c[i].at-c[i-1].at))
	}
	for i := len(c) - 2; i >= 0; i-- {
		c[i].max = min(c[i].max, c[i+1].max+slack(c[i+1].at-c[i].at))
	}
	return c
}

// at returns the limit at a time. The ceiling must not be empty.
func (c ceiling) at(at int64) int64 {
	next := sort.Search(len(c), func(i int) bool { return c[i].at >= at })
	if next == len(c) {
		return c[next-1].max + slack(at-c[next-1].at)
	}
	if c[next].at == at {
		return c[next].max
	}
	most := c[next].max + slack(c[next].at-at)
	if next > 0 {
		most = min(most, c[next-1].max+slack(at-c[next-1].at))
	}
	return most
}

// distance bounds by how much a clock is ahead of another. up is an upper limit. down is an upper limit of how much the
// clock is behind. The times of both are those of the first clock.
type distance struct{ up, down ceiling }

// known reports whether the distance has an upper and a lower limit.
func (d *distance) known() bool { return len(d.up) > 0 && len(d.down) > 0 }

// contradicts reports whether the limits exclude each other. It checks only the times of limits: there the sum of both
// sides is lowest.
func (d *distance) contradicts() bool {
	for _, all := range []ceiling{d.up, d.down} {
		for _, l := range all {
			if d.up.at(l.at)+d.down.at(l.at) < 0 {
				return true
			}
		}
	}
	return false
}

// earliest and latest return bounds of what the other clock shows when this clock shows at.
func (d *distance) earliest(at int64) int64 { return at - d.up.at(at) }

func (d *distance) latest(at int64) int64 { return at + d.down.at(at) }
