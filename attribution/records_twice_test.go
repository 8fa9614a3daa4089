package attribution_test

import (
	"slices"
	"strings"
	"testing"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
)

// TestRecordsTwice: a boundary or a change that comes twice, or is missing, leaves no certificate complete.
func TestRecordsTwice(t *testing.T) {
	var all []event.Event
	attributiontest.Notebook(func(e event.Event) { all = append(all, e) }, 3, 2)
	reasons := func(events []event.Event) string {
		tracker := attribution.New()
		for _, e := range events {
			tracker.Add(e)
		}
		c := tracker.Report().Certificate
		if c.Complete != (len(c.Incomplete) == 0) {
			t.Fatalf("%+v", c)
		}
		return strings.Join(c.Incomplete, "; ")
	}
	if why := reasons(all); why != "" {
		t.Fatal(why)
	}
	boundaries, changes := 0, 0
	for i, e := range all {
		switch e.(type) {
		case *event.Boundary:
			boundaries++
		case *event.Change:
			changes++
		default:
			continue
		}
		if why := reasons(slices.Insert(slices.Clone(all), i, e)); !strings.Contains(why, "1 record came twice") {
			t.Errorf("event %d twice, a %T: %q", i, e, why)
		}
		if why := reasons(slices.Delete(slices.Clone(all), i, i+1)); why == "" && i < len(all)-3 {
			t.Errorf("event %d missing, a %T: complete", i, e)
		}
	}
	if boundaries < 6 || changes < 6 {
		t.Errorf("%d boundaries, %d changes", boundaries, changes)
	}
}
