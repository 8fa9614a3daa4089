package doctor

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestSaysWhatIsWrong makes a figure wrong by one byte.
func TestSaysWhatIsWrong(t *testing.T) {
	var out bytes.Buffer
	s := &selftest{SelftestOptions: SelftestOptions{Text: &out}}
	err := s.step(&s.result.Workloads, "spike", "about", func() (Test, error) {
		return Test{Figures: []Figure{newFigure(Resident, "process", 4096, 4097, 0)}}, nil
	})
	if !errors.Is(err, ErrSelftest) {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{"spike", Resident, "4096", "4097", "+1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("message %q does not name %q", err, want)
		}
	}
	if !strings.HasPrefix(out.String(), "✗ spike") {
		t.Errorf("printed %q", out.String())
	}
}
