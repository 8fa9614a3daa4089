package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnitsAreBounded: no unit of systemd may take all memory of its machine, and one session that does costs no other.
func TestUnitsAreBounded(t *testing.T) {
	units, err := filepath.Glob("../../../../scripts/packaging/*.service")
	if err != nil || len(units) < 3 {
		t.Fatal(units, err)
	}
	for _, unit := range units {
		raw, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(raw), "\nMemoryMax=") {
			t.Errorf("%s has no MemoryMax", unit)
		}
		if strings.Contains(unit, "serve") && !strings.Contains(string(raw), "\nOOMPolicy=continue\n") {
			t.Errorf("%s ends where one session is killed", unit)
		}
	}
}
