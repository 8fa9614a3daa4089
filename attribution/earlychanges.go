package attribution

// A boundary waits for its readings, in a replay for longer than live. What changes tell meanwhile of a process that it
// begins, or of a meter whose gap it ends, is kept until it has been taken in: the timeline is the same for both.

// maxEarly is how many meters of processes may wait so.
const maxEarly = 1 << 12

// earlyChanges are the tracks that changes are told to while a boundary waits.
type earlyChanges map[heldKey]*track

// track returns the one of a meter, nil where there is no room.
func (early *earlyChanges) track(key heldKey) *track {
	k := (*early)[key]
	if k == nil && len(*early) < maxEarly {
		if *early == nil {
			*early = earlyChanges{}
		}
		k = &track{meter: key.meter}
		(*early)[key] = k
	}
	return k
}
