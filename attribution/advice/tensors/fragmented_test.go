package tensors

import (
	"strings"
	"testing"

	"ipytracer/model"
)

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
