package text_test

import (
	"strings"
	"testing"

	"ipytracer/internal/report/text"
)

// TestReservedForArrow: a gibibyte that mimalloc has mapped below Arrow's pool has its own name and leads nothing;
// other mappings of a line do not count as one.
func TestReservedForArrow(t *testing.T) {
	r := small(400 * mib)
	cell := &r.Windows[2]
	allocated(cell, "cpu.mapped", 2, 2, 1024*mib+4096, 2)
	allocated(cell, "cpu.arrow", 2, 2, 390*mib, 6)
	got := lines(t, r, text.Options{})
	if !strings.HasPrefix(got["made by"], "390.00 MiB arrow In[2] line 2 · ") ||
		strings.Contains(got["made by"], "mapped") {
		t.Errorf("made by: %q", got["made by"])
	}
	const said = "reserved ahead for Arrow's pool"
	if out := printed(t, r, text.Options{}); !strings.Contains(out, "In[2] line 2 ("+said+")") {
		t.Errorf("not said:\n%s", out)
	}
	mapped := &cell.Allocations[0]
	mapped.AtPeak, mapped.Allocated = 1500*mib, 1500*mib
	if out := printed(t, r, text.Options{}); strings.Contains(out, said) {
		t.Errorf("said of another size:\n%s", out)
	}
	mapped.AtPeak, mapped.Allocated = 1024*mib, 1024*mib
	mapped.Stack[0].Line = 1
	if out := printed(t, r, text.Options{}); strings.Contains(out, said) {
		t.Errorf("said of another line:\n%s", out)
	}
}
