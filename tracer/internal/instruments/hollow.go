//go:build hollow

package instruments

import (
	"os"

	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
)

// If only tracepoints are to have probes, no probe is placed in the interpreter either: a session checks whether the
// interpreter's probes have taken effect. See ledger/hollow.go.
func init() {
	if os.Getenv("TRACER_HOLLOW") == "tracepoints" {
		placed = func(ledger.Group, cpython.Sites) []ledger.Placement { return nil }
	}
}
