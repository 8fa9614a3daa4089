package windows

import (
	"cmp"
	"slices"

	"ipytracer/event"
	"ipytracer/internal/words"
)

// problems are the problems of a session.
type problems struct{ All []words.Problem }

// Add adds a problem, while there is room.
func (pb *problems) Add(one words.Problem) {
	const maxProblems = 100
	if len(pb.All) < maxProblems {
		pb.All = append(pb.All, one)
	}
}

// ProbeGroup is a group of probes that serve windows, and no meter. Text names a group that this tracer does not know.
type ProbeGroup struct {
	Group event.Group
	Text  string
}

// PausedProbes are the groups without a meter that were ever paused.
type PausedProbes struct {
	Stacks  bool          // stacks were not walked, at some time
	Counted []event.Group // kinds of blocks that a process has counted itself, of which no stacks are known
	groups  []ProbeGroup
}

// Includes reports whether a group was paused at some time.
func (sd *PausedProbes) Includes(group event.Group) bool {
	return slices.ContainsFunc(sd.groups, func(p ProbeGroup) bool { return p.Group == group })
}

// Add records a group of probes that is paused.
func (sd *PausedProbes) Add(p ProbeGroup) {
	if len(sd.groups) < maxPausedGroups && !slices.Contains(sd.groups, p) {
		sd.groups = append(sd.groups, p)
	}
}

// AddStacks records that a group's stacks are not walked.
func (sd *PausedProbes) AddStacks(group event.Group) {
	if group == event.CountedArrays || group == event.CountedHeap || group == event.CountedTensors {
		if !slices.Contains(sd.Counted, group) {
			sd.Counted = append(sd.Counted, group)
		}
		return
	}
	sd.Stacks = true
}

// maxPausedGroups is a little more than the number of groups.
const maxPausedGroups = 32

// Names returns the names of the groups for a report.
func (sd *PausedProbes) Names() (names []string) {
	for _, p := range sd.groups {
		names = append(names, cmp.Or(words.Group(p.Group), p.Text))
	}
	return names
}
