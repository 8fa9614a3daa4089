package ledger

import (
	"cmp"
	"strings"
	"testing"

	"ipytracer/internal/words"
)

// TestGroupOfAPause: the text of a boundary at which a group is paused leads back to the group.
func TestGroupOfAPause(t *testing.T) {
	for g := range Group(GroupCount) {
		if g.String() == "" {
			t.Errorf("group %d has no name", g)
		}
		part, ok := g.Level()
		about, probes := g.About()
		known := len(about.Paused()) > 0 || about.IsOfStacks()
		text := cmp.Or(probes, words.Group(about))
		if named := strings.HasPrefix(text, "the probes on "+g.String()); known != (ok &&
			groups[g].step != stepCells) || named == known {
			t.Errorf("%v is stepped down at %v, %v, with the text %q", g, part, ok, text)
		}
	}
	if _, ok := Group(GroupCount).Level(); ok || Group(GroupCount).String() != "unknown" {
		t.Error("there are more groups than there are")
	}
}
