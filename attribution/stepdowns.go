package attribution

import (
	"cmp"
	"slices"

	"ipytracer/event"
	"ipytracer/internal/words"
)

// problems are the problems of a session.
type problems struct{ all []words.Problem }

// add adds a problem, while there is room.
func (pb *problems) add(one words.Problem) {
	if len(pb.all) < 100 {
		pb.all = append(pb.all, one)
	}
}

// probes are a group of probes that serve windows, and no meter. The text names those of another tracer.
type probes struct {
	group event.Group
	text  string
}

// stepDowns are the probes and stacks that were ever stepped down and serve no meter.
type stepDowns struct {
	stacks bool // stacks were not walked, at some time
	groups []probes
}

// were reports whether a group was stepped down at some time.
func (sd *stepDowns) were(group event.Group) bool {
	return slices.ContainsFunc(sd.groups, func(p probes) bool { return p.group == group })
}

// add records a group of probes that is stepped down.
func (sd *stepDowns) add(p probes) {
	if len(sd.groups) < maxGroupsShed && !slices.Contains(sd.groups, p) {
		sd.groups = append(sd.groups, p)
	}
}

// addStacks records that stacks are not walked.
func (sd *stepDowns) addStacks() { sd.stacks = true }

// maxGroupsShed is a little more than the number of groups.
const maxGroupsShed = 32

// names returns the names of the groups for a report.
func (sd *stepDowns) names() (names []string) {
	for _, p := range sd.groups {
		names = append(names, cmp.Or(words.Group(p.group), p.text))
	}
	return names
}
