package doctor

import (
	"errors"
	"fmt"

	"ipytracer/event"
)

// SelftestSchema is the version of the JSON object ([SelftestResult]).
const SelftestSchema = "ipytracer/selftest/v1"

// SelftestResult is the result of a self-test.
type SelftestResult struct {
	Schema    string   `json:"schema"`
	Tracer    string   `json:"tracer"`
	Kernel    string   `json:"kernel"`
	CPUs      int      `json:"cpus"`
	Passed    bool     `json:"passed"`
	Failure   string   `json:"failure"`
	Figures   int      `json:"figures"`
	Exact     int      `json:"exact"` // number of exact figures; the others are right within their bound
	Workloads []Test   `json:"workloads"`
	Python    string   `json:"python"` // "" without cells
	Cells     []Test   `json:"cells"`
	Notes     []string `json:"notes"`
}

// Test is one workload, or one test of cells.
type Test struct {
	Name    string   `json:"name"`
	About   string   `json:"about"`
	Figures []Figure `json:"figures"`
	Note    string   `json:"note,omitempty"`
}

// Figure is one peak beside its truth.
type Figure struct {
	Meter      string `json:"meter"`
	Of         string `json:"of"` // its subject: "process", "child", "tree", or a role in a cell
	Expected   int64  `json:"expected"`
	Found      int64  `json:"found"`
	Difference int64  `json:"difference"`
	Bound      int64  `json:"bound"` // how far Found may be off on this kernel; 0 if it is exact
}

func newFigure(meter, of string, expected, found, bound int64) Figure {
	return Figure{Meter: meter, Of: of, Expected: expected, Found: found, Difference: found - expected, Bound: bound}
}

func (f Figure) right() bool { return max(f.Difference, -f.Difference) <= f.Bound }

// ErrSelftest is a failed self-test: a figure that differs from the truth, or a certificate with a fault.
var ErrSelftest = errors.New("selftest failed")

// mismatch is a figure that differs from the truth.
type mismatch struct {
	name string
	Figure
}

func (m *mismatch) Error() string {
	return fmt.Sprintf("%s: %s of the %s: expected %d bytes, found %d, difference %+d",
		m.name, m.Meter, m.Of, m.Expected, m.Found, m.Difference)
}

// Is makes every mismatch a failed self-test.
func (m *mismatch) Is(target error) bool { return target == ErrSelftest }

// The meters of cells beside those of workloads.
var (
	meterNumPy  = event.NumPy.String()
	meterTorch  = event.Torch.String()
	meterArrow  = event.Arrow.String()
	meterPinned = event.Pinned.String()
)
