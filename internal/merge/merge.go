// Package merge puts recordings of several machines on one timeline. Each recording is read once, and only a summary of
// bounded size is kept of it. It is pure: no I/O, no clock.
//
// Every machine has a clock of its own (CLOCK_MONOTONIC, which begins at its boot). Recordings of the same boot have
// the same clock. The distance of two clocks is bounded by messages: a message is received after it was sent, whatever
// the clocks show. Markers name messages, see [Tags].
package merge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Merge puts the recordings on one timeline. Add must not be called afterwards.
func (s *Set) Merge() *model.Merge {
	m := &model.Merge{Schema: model.MergeSchema, Meter: s.options.Meter, Nodes: []model.MergeNode{},
		Cells: []model.MergeCell{}, Doubts: []string{}}
	all, ambiguous := messages(s.clocks)
	contradictions := placeClocks(s.clocks, s.options.WallError, all)
	for i, n := range s.nodes {
		if at := n.began - n.clock.ahead; i == 0 || at < s.zero {
			s.zero = at
		}
	}
	if len(s.clocks) > 0 {
		c := s.clocks[0]
		m.Started = time.Unix(0, s.zero-c.mono+c.now).UTC().Format(time.RFC3339Nano)
	}
	s.numberNames()
	m.Together = s.together()
	for _, n := range s.nodes {
		s.placeNode(n)
		m.Nodes = append(m.Nodes, n.MergeNode)
	}
	s.prune()
	m.Cells = slices.Clip(append(m.Cells, s.cells...))
	for i := range m.Cells {
		m.Cells[i].AtNS += m.Nodes[m.Cells[i].Node].StartNS
	}
	m.CellsUnlisted = s.count - len(m.Cells)
	m.Doubts = append(m.Doubts, s.doubts(contradictions, ambiguous)...)
	return m
}

// numberNames appends a number to names that several nodes have.
func (s *Set) numberNames() {
	count, used := map[string]int{}, map[string]int{}
	for _, n := range s.nodes {
		n.Name = cmp.Or(n.Name, "unnamed")
		count[n.Name]++
	}
	for _, n := range s.nodes {
		if name := n.Name; count[name] > 1 {
			used[name]++
			n.Name = fmt.Sprintf("%s (%d)", name, used[name])
		}
	}
}

// placeNode sets the node's times on the timeline.
func (s *Set) placeNode(n *node) {
	c := n.clock
	n.ClockBy, n.Messages = c.by, c.messages
	n.StartNS, n.EndNS = n.began-c.ahead-s.zero, n.ended-c.ahead-s.zero
	if !c.bounded() {
		return
	}
	at := func(ns int64) *int64 { ns -= s.zero; return &ns }
	n.EarliestStart, n.LatestStart = at(c.earliest(n.began)), at(c.latest(n.began))
	n.EarliestEnd, n.LatestEnd = at(c.earliest(n.ended)), at(c.latest(n.ended))
}

// doubts returns sentences about the uncertain parts of the timeline.
func (s *Set) doubts(contradictions [][2]*clock, ambiguous int) (all []string) {
	for _, pair := range contradictions {
		all = append(all, words.MessagesContradict(s.nameOf(pair[0]), s.nameOf(pair[1]), driftParts))
	}
	wall, cut, unknown := 0, "", ""
	for _, n := range s.nodes {
		switch {
		case n.Finished == reasonCut && cut == "":
			cut = n.Name
		case !n.known && unknown == "":
			unknown = n.Name
		}
		if n.ClockBy == model.ByWallClock {
			wall++
		}
	}
	if wall > 0 {
		all = append(all, words.ClocksUnbounded(wall))
	}
	if cut != "" {
		all = append(all, words.NodeCut(cut))
	}
	if unknown != "" {
		all = append(all, words.NodeUnknown(unknown))
	}
	if ambiguous > 0 {
		all = append(all, words.MessagesAmbiguous(ambiguous))
	}
	if s.dropped > 0 {
		all = append(all, words.MarkersUnlisted(s.dropped))
	}
	return all
}

// reasonCut is the value of Finished for a recording that was cut.
const reasonCut = "recording cut"

// nameOf returns the name of a node with the clock.
func (s *Set) nameOf(c *clock) string {
	for _, n := range s.nodes {
		if n.clock == c {
			return n.Name
		}
	}
	return "another node"
}
