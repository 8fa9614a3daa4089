package attribution

import (
	"testing"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// TestRefusedWhileClosedWindowsWait: windows that are closed and not yet taken out have no detail left to mark.
func TestRefusedWhileClosedWindowsWait(t *testing.T) {
	outer, inner := &windows.Window{Detail: &windows.Detail{}, Stretch: windows.Stretch{IsOpen: true}},
		&windows.Window{Detail: &windows.Detail{}, Stretch: windows.Stretch{IsOpen: true}}
	r := &windows.Tree{OpenWindows: windows.OpenWindows{Open: []*windows.Window{outer, {}, inner}}}
	r.LoosenOpen(5, &[event.RefusedKinds]uint64{event.RefusedBoundaries: 1})
	for _, w := range []*windows.Window{outer, inner} {
		if w.Doubts == nil || !w.Doubts.Loose {
			t.Errorf("%+v is not marked", w.Doubts)
		}
	}
}
