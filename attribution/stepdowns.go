package attribution

import (
	"slices"
	"strings"
)

// problems are the problems of a session, in words.
type problems struct{ texts []string }

// add adds one, while there is room.
func (pb *problems) add(text string) {
	if len(pb.texts) < 100 {
		pb.texts = append(pb.texts, text)
	}
}

// stepDowns are the probes and stacks that were ever stepped down and serve no meter.
type stepDowns struct {
	stacks bool     // they were not walked, at some time
	groups []string // probes that serve no meter, but windows
}

// were reports whether probes were stepped down at some time.
func (sd *stepDowns) were(probes string) bool {
	return slices.ContainsFunc(sd.groups, func(p string) bool {
		return strings.HasPrefix(p, "the probes on "+probes+" were stepped down")
	})
}

// add notes a group of probes that is stepped down.
func (sd *stepDowns) add(group string) {
	if len(sd.groups) < maxGroupsShed && !slices.Contains(sd.groups, group) {
		sd.groups = append(sd.groups, group)
	}
}

// addStacks notes that stacks are not walked.
func (sd *stepDowns) addStacks() { sd.stacks = true }

// maxGroupsShed is how many there are, and more.
const maxGroupsShed = 32
