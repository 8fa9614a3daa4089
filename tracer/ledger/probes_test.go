package ledger

import (
	"strings"
	"testing"

	"ipytracer/event"
)

// TestGroups: what a boundary says of a group that was stepped down is understood behind it.
func TestGroups(t *testing.T) {
	for g := range Group(GroupCount) {
		if g.String() == "" {
			t.Errorf("group %d has no name", g)
		}
		part, ok := g.Level()
		known := len(event.Paused(g.Text())) > 0 || event.IsOfStacks(g.Text())
		if told := strings.HasPrefix(g.Text(), "the probes on "+g.String()); known != (ok &&
			groups[g].step != stepCells) || told == known {
			t.Errorf("%v is stepped down at %v, %v, and told as %q", g, part, ok, g.Text())
		}
	}
	if _, ok := Group(GroupCount).Level(); ok || Group(GroupCount).String() != "unknown" {
		t.Error("there are more groups than there are")
	}
}
