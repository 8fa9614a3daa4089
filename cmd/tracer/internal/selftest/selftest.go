// Package selftest runs programs and cells of known truth under the tracer and compares its figures, to the byte, with
// their own readings. Package workload has the programs; flags, rights and exit statuses are the command's.
package selftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"

	"ipytracer/cmd/tracer/internal/workload"
	"ipytracer/internal/ledger"
)

// Options are the scope of a self-test and its output.
type Options struct {
	Tracer       string   // the tracer's version
	Only         []string // of [Names]; nil: all
	Python       *Python  // compare its cells; nil: none was found, which is noted
	WithoutCells bool     // skip the cells
	// Text receives a line for each finished test, nil for none; Color, with colours.
	Text  io.Writer
	Color bool
	// Progress is called with the name of a step, and returns the function to call at its end; it may be nil.
	Progress func(doing string) (over func())
}

func (o *Options) progress(doing string) (over func()) {
	if o.Progress == nil {
		return func() {}
	}
	return o.Progress(doing)
}

// Names returns the names of all tests.
func Names() []string {
	names := []string{smallRing}
	for _, w := range workload.All {
		names = append(names, w.Name)
	}
	for _, c := range cellTests {
		names = append(names, c.name)
	}
	return names
}

// Run runs the tests up to the first that fails. An error is that one's ([ErrFailed]), or the reason why nothing could
// be compared; earlier results are there all the same.
func Run(ctx context.Context, o Options) (Result, error) {
	t := &selftest{Options: o, result: Result{
		Schema: Schema, Tracer: o.Tracer, Kernel: ledger.KernelRelease(), CPUs: runtime.NumCPU(),
		Workloads: []Test{}, Cells: []Test{}, Notes: []string{},
	}}
	defer ledger.KeepSources()()
	t.printHead()
	err := t.runAll(ctx)
	t.result.Passed = err == nil
	if err != nil {
		t.result.Failure = err.Error()
	}
	t.printTail()
	return t.result, err
}

// Schema is the version of the JSON object ([Result]).
const Schema = "ipytracer/selftest/v1"

// Result is the result of a self-test.
type Result struct {
	Schema    string   `json:"schema"`
	Tracer    string   `json:"tracer"`
	Kernel    string   `json:"kernel"`
	CPUs      int      `json:"cpus"`
	Passed    bool     `json:"passed"`
	Failure   string   `json:"failure"`
	Figures   int      `json:"figures"`
	Exact     int      `json:"exact"` // of them; the others are right within their bound
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
	Of         string `json:"of"` // "process", "child", "tree", or its role in a cell
	Expected   int64  `json:"expected"`
	Found      int64  `json:"found"`
	Difference int64  `json:"difference"`
	Bound      int64  `json:"bound"` // how far it may be off on this kernel; 0 if it is exact
}

func newFigure(meter, of string, expected, found, bound int64) Figure {
	return Figure{Meter: meter, Of: of, Expected: expected, Found: found, Difference: found - expected, Bound: bound}
}

func (f Figure) right() bool { return max(f.Difference, -f.Difference) <= f.Bound }

// ErrFailed is a failed self-test: a figure that differs from the truth, or a certificate with a fault.
var ErrFailed = errors.New("selftest failed")

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
func (m *mismatch) Is(target error) bool { return target == ErrFailed }

// selftest is one run.
type selftest struct {
	Options
	result Result
}

func (t *selftest) runAll(ctx context.Context) error {
	for _, w := range workload.All {
		err := t.step(&t.result.Workloads, w.Name, w.About, func() (Test, error) {
			return t.measureWorkload(ctx, w, 0)
		})
		if err != nil {
			return err
		}
	}
	storm, _ := workload.Find("storm")
	about := "the same with the smallest ring: losses are counted, peaks stay"
	err := t.step(&t.result.Workloads, smallRing, about, func() (Test, error) {
		return t.measureWorkload(ctx, storm, smallestRing)
	})
	if err != nil {
		return err
	}
	if t.WithoutCells || !WantsCells(t.Only) {
		return nil
	}
	return t.cells(ctx)
}

// WantsCells reports whether the tests of some names compare cells, for which a Python is started. No names are all
// tests.
func WantsCells(only []string) bool {
	return len(only) == 0 ||
		slices.ContainsFunc(cellTests, func(c cellTest) bool { return slices.Contains(only, c.name) })
}

const smallRing = "small ring" // the name of a test

// smallestRing is the size of the smallest ring there is, in bytes: one page. A page of 4,096 bytes holds about fifty
// changes.
var smallestRing = os.Getpagesize()

// step runs one test, keeps its result and prints its line.
func (t *selftest) step(into *[]Test, name, about string, run func() (Test, error)) error {
	if len(t.Only) > 0 && !slices.Contains(t.Only, name) {
		return nil
	}
	over := t.progress(name)
	r, err := run()
	over()
	r.Name, r.About = name, about
	if r.Figures == nil {
		r.Figures = []Figure{}
	}
	*into = append(*into, r)
	for _, f := range r.Figures {
		t.result.Figures++
		if f.Bound == 0 {
			t.result.Exact++
		}
		if err == nil && !f.right() {
			err = &mismatch{name, f}
		}
	}
	t.printStep(r, err)
	return err
}
