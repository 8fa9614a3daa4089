package doctor

import (
	"os"
	"testing"
)

// TestSelftestAsksNoPython: no Python is started if no test uses one.
func TestSelftestAsksNoPython(t *testing.T) {
	if p, err := choosePython(t.Context(), "", nil); err != nil || p == nil {
		if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
			t.Fatalf("TRACER_REQUIRE_BPF is 1, and no Python with IPython is found here (%v)", err)
		}
		t.Skipf("no Python with IPython is found here (%v), so nothing is to be left out", err)
	}
	if p, err := choosePython(t.Context(), "", []string{"storm"}); p != nil || err != nil {
		t.Errorf("for a test without cells %v was asked (%v)", p, err)
	}
	if p, err := choosePython(t.Context(), "", []string{"storm", "GPU"}); p == nil || err != nil {
		t.Errorf("for a test with cells none was asked (%v)", err)
	}
}
