package live_test

import (
	"strings"
	"testing"

	"ipytracer/internal/report/live"
)

// TestSlower: avoidable costs to the target are on the screen and in the text, escaped, if there is room for them.
func TestSlower(t *testing.T) {
	g := glance()
	g.Slower = []string{"each array is traced (\x1b[2J.so): 1,380,786 hits took about 1.38 s of CPU time"}
	const want = "! slower: each array is traced (\\x1b[2J.so): 1,380,786 hits took"
	for _, c := range []struct {
		width, height int
		shown         bool
	}{{100, 24, true}, {40, 10, false}} {
		got := check(t, live.Screen(g, &live.State{}, c.width, c.height), c.width, c.height, false)
		if strings.Contains(got, "! slower: ") != c.shown || c.shown && !strings.Contains(got, want) {
			t.Errorf("%d × %d:\n%s", c.width, c.height, got)
		}
	}
	if got := live.Text(g, &live.State{}, 0); strings.Count(got, want) != 1 {
		t.Errorf("the text:\n%s", got)
	}
	g.Slower = strings.Split(strings.Repeat("more ", 100), " ")
	if got := live.Text(g, &live.State{}, 0); strings.Count(got, "! slower: ") != 3 {
		t.Errorf("%d lines", strings.Count(got, "! slower: "))
	}
}
