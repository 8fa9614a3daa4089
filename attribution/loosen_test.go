package attribution

import (
	"testing"

	"ipytracer/event"
)

// TestRefusedWhileClosedWindowsWait: windows that are closed and not yet taken out have no detail left to mark.
func TestRefusedWhileClosedWindowsWait(t *testing.T) {
	outer, inner := &window{detail: &detail{}, stretch: stretch{isOpen: true}}, &window{detail: &detail{}, stretch: stretch{isOpen: true}}
	r := &root{openWindows: openWindows{open: []*window{outer, {}, inner}}}
	r.loosenOpen(5, &[event.RefusedKinds]uint64{event.RefusedBoundaries: 1})
	for _, w := range []*window{outer, inner} {
		if w.doubts == nil || !w.doubts.loose {
			t.Errorf("%+v is not marked", w.doubts)
		}
	}
}
