package tracer

import (
	"testing"

	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/running"
)

// TestForgetStacks: stacks are forgotten where there are many, or where that is asked for. Code of the generation
// before still has its names, as stacks on their way refer to it; older code has none.
func TestForgetStacks(t *testing.T) {
	k := &fakeKernel{}
	s := attached(t, k, Options{})
	if forgot, err := ForgetStacks(s, false); forgot || err != nil || k.forgotten != 0 {
		t.Errorf("with few stacks: %v, %v", forgot, err)
	}
	s.code.Codes.All = map[uint64]*running.Code{7: {Name: "f"}}
	for generation, want := range []string{"f", "?"} {
		if forgot, err := ForgetStacks(s, true); !forgot || err != nil || k.forgotten != generation+1 {
			t.Errorf("%v, %v, %d times", forgot, err, k.forgotten)
		}
		got := s.code.Codes.Stack(&ledger.Stack{Frames: []ledger.Frame{{Code: 7}}}, &s.code.Cells)
		if got.Frames[0].Function != want {
			t.Errorf("generation %d: %q", generation, got.Frames[0].Function)
		}
	}
	s.code.Codes.Stacks = running.ManyStacks
	if forgot, err := ForgetStacks(s, false); !forgot || err != nil || s.code.Codes.Stacks != 0 {
		t.Errorf("with many stacks: %v, %v", forgot, err)
	}
}
