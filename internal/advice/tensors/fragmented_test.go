package tensors

import (
	"strings"
	"testing"

	"ipytracer/model"
)

// TestExpandableSegmentsServed: where the cache had room for a refused request, tensors have that, too, once it is
// served.
func TestExpandableSegmentsServed(t *testing.T) {
	for _, of := range []struct{ asked, falls int64 }{{300, 1024 - 640 - 20}, {10, 1024 - 384 - 12}, {400, 0}} {
		n := notebook(1, imports, "x = torch.empty(9)", "gpu.0.reserved")
		w := n.Statements[0].Window
		w.Meters["gpu.0.active"] = model.Figure{Peak: 384 * mib}
		w.Refused = []model.Refusal{{Meter: "gpu.0.active", Asked: of.asked * mib, Held: 340 * mib,
			Reserved: 700 * mib}}
		n.Cells[1].Window.Refused = w.Refused
		c := one(t, fragmented, n)
		if c == nil && of.falls > 0 || c != nil && (of.falls == 0 || c.Falls(n.Peak)/mib != of.falls) {
			t.Errorf("%d MiB refused: %+v", of.asked, c)
		}
	}
}

// TestExpandableSegmentsRefused: the allocator's own figures at an error decide whether its cache was in pieces.
func TestExpandableSegmentsRefused(t *testing.T) {
	of := func(asked, held, reserved int64) model.Refusal {
		return model.Refusal{Meter: "gpu.0.active", Asked: asked * mib, Held: held * mib, Reserved: reserved * mib}
	}
	const pieces = "between tensors: let"
	other := of(300, 700, 1000)
	other.Meter = "gpu.1.active"
	for _, a := range []struct {
		name, title string
		refused     []model.Refusal
	}{
		{"enough in pieces", "refused 300.00 MiB although its cache had 300.00 MiB " + pieces,
			[]model.Refusal{of(300, 700, 1000)}},
		{"too little", "", []model.Refusal{of(301, 700, 1000)}},
		{"both", "refused 200.00 MiB although its cache had 300.00 MiB " + pieces,
			[]model.Refusal{of(200, 700, 1000), of(900, 700, 1000)}},
		{"both, the other way round", "refused 200.00 MiB although its cache had 300.00 MiB " + pieces,
			[]model.Refusal{of(900, 700, 1000), of(200, 700, 1000)}},
		{"the larger one", "refused 250.00 MiB", []model.Refusal{of(200, 700, 1000), of(250, 700, 1000)}},
		{"of an older recording", "no tensor used at the peak", []model.Refusal{of(300, 700, 0)}},
		{"of another GPU", "no tensor used at the peak", []model.Refusal{other}},
	} {
		n := notebook(1, imports, "x = torch.empty(9)", "gpu.0.reserved")
		n.Cells[1].Window.Refused = a.refused
		switch c := one(t, fragmented, n); {
		case c == nil && a.title != "":
			t.Errorf("%s: no advice", a.name)
		case c != nil && (a.title == "" || !strings.Contains(c.Title, a.title)):
			t.Errorf("%s: %s", a.name, c.Title)
		}
	}
}
