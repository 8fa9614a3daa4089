package timeline

import "ipytracer/attribution/internal/course"

// A boundary waits for its readings, in a replay for longer than live. Meanwhile, changes may arrive of a process that
// it begins, or of a meter with a gap that it ends. They are kept until the boundary has been taken in, so the timeline
// is the same live and in a replay.

// maxEarly is the most meters of processes that may wait in this way.
const maxEarly = 1 << 12

// earlyChanges are the tracks that record changes while a boundary waits.
type earlyChanges map[course.Key]*Track

// track returns the track of a meter, nil if there is no room.
func (early *earlyChanges) track(key course.Key) *Track {
	k := (*early)[key]
	if k == nil && len(*early) < maxEarly {
		if *early == nil {
			*early = earlyChanges{}
		}
		k = &Track{Meter: key.Meter}
		(*early)[key] = k
	}
	return k
}
