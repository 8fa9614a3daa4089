package attribution

import "ipytracer/event"

// gap is the reason why a track is not known for a time. The groups of probes follow the named reasons.
type gap uint8

const (
	gapAlone  gap = iota // the process has no descendants
	gapNoRoom            // the session had more points than are kept
	gapGroups            // the first group
)

// gapOfGroup returns the reason for a gap that a group of probes makes.
func gapOfGroup(g event.Group) gap { return gapGroups + gap(g) }
