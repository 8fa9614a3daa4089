package notebook_test

import (
	"testing"

	"ipytracer/internal/advice/advicetest"
)

// TestSummitBelongsToTheEarlierCell: a moment that is higher than an earlier one by next to nothing belongs to that
// one's cell, unless the memory of it is gone by then.
func TestSummitBelongsToTheEarlierCell(t *testing.T) {
	for name, c := range map[string]struct {
		kept, more int64 // of 400 MiB that In[1] takes, and by how much In[3] is higher
		want       int
	}{
		"still there":         {400, 2, 1},
		"it went":             {0, 402, 3},
		"most of it went":     {300, 101, 3},
		"more than a little":  {400, 20, 3},
		"nothing behind it":   {400, 0, 1},
		"a little of it went": {399, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			n := advicetest.Notebook(nil,
				advicetest.Cell{Source: "x = f()", Steps: []advicetest.Step{{Line: 1, Peak: 400, End: c.kept}}},
				advicetest.Cell{Source: "pass", Steps: []advicetest.Step{{Line: 1}}},
				advicetest.Cell{Source: "y = g()", Steps: []advicetest.Step{{Line: 1, Peak: c.more, End: c.more}}})
			most := max(500, 100+c.kept+c.more) << 20
			if got := n.Peak.Cell.Window.Execution; got != c.want || n.Peak.Peak != most {
				t.Errorf("In[%d] with %d MiB, want In[%d] with %d", got, n.Peak.Peak>>20, c.want, most>>20)
			}
		})
	}
}
