package ledger

import (
	"slices"
	"testing"

	"ipytracer/event"
)

// TestLossNames: every reason that the kernel counts has a name of its own.
func TestLossNames(t *testing.T) {
	var names []string
	for reason := range kernelLoss(kernelLossLOSS_POOL + 1) {
		name := lossName(reason)
		if slices.Contains(names, name) && name != "" {
			t.Errorf("two reasons are called %q", name)
		}
		if reason < kernelLossLOSS_FULL && name == "" {
			t.Errorf("reason %d has no name", reason)
		}
		names = append(names, name)
	}
	if name := lossName(kernelLossLOSS_FULL +
		kernelLoss(event.MissingTorch)); name != "table of live tensors on the CPU full" {
		t.Errorf("tensors that find no room are %q", name)
	}
	for _, last := range []string{event.LostStatements, event.LostMarkers, event.LostReadings, event.LostPool} {
		if !slices.Contains(names, last) {
			t.Errorf("nothing is called %q", last)
		}
	}
}
