package html

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/model"
)

// TestFreeings: code is in a page whole or not at all; entries and names do not exceed their bounds, and a name is
// text.
func TestFreeings(t *testing.T) {
	all := []model.Freeing{
		{
			PID: 7, Type: "del x", Predicted: 9, Device: 3, Exact: true,
			Names: []string{"x", "<script>alert(1)</script>\x1b[2J"},
		},
		{PID: 7, Type: "del y\x1b[2J", Names: []string{"y"}}, {PID: 7, Type: strings.Repeat("n", 4<<10+1)},
		{PID: 8, Type: "import gc; gc.collect(); " + strings.Repeat("n", 1000)},
	}
	many := slices.Repeat([]string{"n"}, mostFreed+1)
	for range 2 * mostFreeings {
		all = append(all, model.Freeing{PID: 9, Type: "del n", Names: many})
	}
	got := freeings(all)
	if len(got) != mostFreeings || got[0].Type != "del x" || got[0].Bytes != 9 || got[0].Device != 3 || !got[0].Exact ||
		strings.Contains(got[0].Names, "\x1b") {
		t.Fatalf("%d entries, the first %+v", len(got), got[0])
	}
	if got[1].PID != 8 || got[1].At != 3 || got[1].Names != "" {
		t.Errorf("%+v", got[1])
	}
	if names := got[2].Names; strings.Count(names, "n") != mostFreed || !strings.HasSuffix(names, ", …") {
		t.Errorf("%q", names)
	}
}
