// Package selftest runs programs and cells of known truth under the tracer. It compares the tracer's figures, to the
// byte, with their own readings. Package workload has the programs; flags, rights and exit statuses are the command's.
package selftest

import (
	"context"
	"os"
	"runtime"
	"slices"

	"ipytracer/cmd/tracer/internal/workload"
	"ipytracer/internal/ledger"
)

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

// Run runs the tests up to the first that fails. Its error is that test's ([ErrFailed]), or the reason why nothing
// could be compared. It returns the earlier results with the error.
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
	return t.compareCells(ctx)
}

// WantsCells reports whether one of the named tests compares cells, for which a Python is started. No names stand for
// all tests.
func WantsCells(only []string) bool {
	return len(only) == 0 ||
		slices.ContainsFunc(cellTests, func(c cellTest) bool { return slices.Contains(only, c.name) })
}

const smallRing = "small ring" // the name of a test

// smallestRing is the size of the smallest possible ring in bytes: one page. A page of 4,096 bytes has room for about
// fifty changes.
var smallestRing = os.Getpagesize()
