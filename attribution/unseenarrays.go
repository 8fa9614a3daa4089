package attribution

import "ipytracer/event"

// unseen takes in arrays that no change told of: made before the audit began, or while its probes were out. The
// process's objects say how large they are and who holds them; who made them nobody knows.
func (j *judge) unseen(left *survivors, pid int32) {
	h := j.audit.holders[pid]
	if h == nil {
		return
	}
	for address, one := range h.by {
		at := place{event.NumPy, address}
		if _, known := j.audit.live[pid][at]; known || one.Size <= 0 {
			continue
		}
		j.seen[pid] += one.Size
		j.survivor(left, pid, at, kept{size: one.Size, at: j.t.session.began})
	}
	if s := left.sites[siteKey{pid: pid, meter: event.NumPy}]; s != nil && j.seen[pid] > 0 {
		s.unseen = true
	}
}
