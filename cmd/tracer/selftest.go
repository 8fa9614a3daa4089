package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ipytracer/tracer/ledger"
	"ipytracer/tracer/process"
)

// SelftestOptions are the flags of `tracer selftest`.
type SelftestOptions struct {
	Format string
	Python string
	Only   []string
}

func newSelftestCommand(c console) *cobra.Command {
	var o SelftestOptions
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Prove that the figures are exact on this machine",
		Long: `Run programs of known truth under the tracer and compare, to the byte.

Each program takes memory in its own way and at its peak reads what its own page tables and mappings hold
(/proc/PID/smaps, a walk that knows nothing of the counters the tracer reads). Where a Python with IPython is
found, cells of known truth are compared as well. It ends with status 1 at the first wrong byte.`,
		Example: "  sudo tracer selftest\n  sudo tracer selftest --python ~/venv/bin/python --format json",
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runSelftest(cmd.Context(), o, c) },
	}
	cmd.Flags().StringVar(&o.Format, "format", "text", "how to print the results: text or json")
	cmd.Flags().StringVar(&o.Python, "python", "", "the Python, with IPython, whose cells are compared (default: one that is found; 'none' for no cells)")
	cmd.Flags().StringSliceVar(&o.Only, "only", nil, "run only the tests of these `NAMES`")
	return cmd
}

// selftestSchema is the version of the JSON object.
const selftestSchema = "ipytracer/selftest/v1"

// selftestResult is what a self-test found.
type selftestResult struct {
	Schema    string   `json:"schema"`
	Tracer    string   `json:"tracer"`
	Kernel    string   `json:"kernel"`
	CPUs      int      `json:"cpus"`
	Passed    bool     `json:"passed"`
	Failure   string   `json:"failure"`
	Figures   int      `json:"figures"`
	Exact     int      `json:"exact"` // of them; the others are right within their bound
	Workloads []result `json:"workloads"`
	Python    string   `json:"python"` // "" where no cells were run
	Cells     []result `json:"cells"`
	Notes     []string `json:"notes"`
}

// result is one workload, or one thing that was to be proven of cells.
type result struct {
	Name    string   `json:"name"`
	About   string   `json:"about"`
	Figures []figure `json:"figures"`
	Note    string   `json:"note,omitempty"`
}

// figure is one peak beside its truth.
type figure struct {
	Meter      string `json:"meter"`
	Of         string `json:"of"` // "process", "child", "tree", or what it is in a cell
	Expected   int64  `json:"expected"`
	Found      int64  `json:"found"`
	Difference int64  `json:"difference"`
	Bound      int64  `json:"bound"` // how far it may be off on this kernel; 0 where it is exact
}

func newFigure(meter, of string, expected, found, bound int64) figure {
	return figure{Meter: meter, Of: of, Expected: expected, Found: found, Difference: found - expected, Bound: bound}
}

func (f figure) right() bool { return max(f.Difference, -f.Difference) <= f.Bound }

// mismatch is a figure that is not the truth.
type mismatch struct {
	name string
	figure
}

func (m *mismatch) Error() string {
	return fmt.Sprintf("%s: %s of the %s: expected %d bytes, found %d, difference %+d", m.name, m.Meter, m.Of, m.Expected, m.Found, m.Difference)
}

// Is makes every mismatch a failed self-test.
func (m *mismatch) Is(target error) bool { return target == errSelftest }

func runSelftest(ctx context.Context, o SelftestOptions, c console) error {
	if err := checkFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	if os.Geteuid() != 0 && !(process.FS{}).Facts().Capabilities.MayLoadBPF() {
		return fmt.Errorf("%w: the self-test traces", ledger.ErrNotPermitted)
	}
	if err := checkNames(o.Only); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	python, err := choosePython(ctx, o.Python)
	if err != nil {
		return err
	}
	t := &selftest{console: c, text: o.Format == "text", only: o.Only, result: selftestResult{
		Schema: selftestSchema, Tracer: version, Kernel: ledger.KernelRelease(), CPUs: runtime.NumCPU(),
		Workloads: []result{}, Cells: []result{}, Notes: []string{},
	}}
	t.printHead()
	err = t.runAll(ctx, python, o.Python == noPython)
	if errors.Is(err, ledger.ErrNotPermitted) || errors.Is(err, ledger.ErrNotSupported) {
		return err
	}
	t.result.Passed = err == nil
	if err != nil {
		t.result.Failure = err.Error()
	}
	t.printTail()
	if !t.text {
		e := json.NewEncoder(c.out)
		e.SetIndent("", "  ")
		err = errors.Join(err, e.Encode(t.result))
	}
	if err != nil && !errors.Is(err, errSelftest) {
		err = fmt.Errorf("%w: %w", errSelftest, err)
	}
	return err
}

// selftest is one run.
type selftest struct {
	console console
	text    bool
	only    []string
	result  selftestResult
}

// checkNames finds a mistyped name before anything is run.
func checkNames(only []string) error {
	known := []string{smallRing}
	for _, w := range workloads {
		known = append(known, w.name)
	}
	for _, c := range cellTests {
		known = append(known, c.name)
	}
	for _, name := range only {
		if !slices.Contains(known, name) {
			return usageError{fmt.Errorf("--only %q: the tests are %s", name, strings.Join(known, ", "))}
		}
	}
	return nil
}

func (t *selftest) runAll(ctx context.Context, python *pythonWithShell, without bool) error {
	for _, w := range workloads {
		if err := t.step(&t.result.Workloads, w.name, w.about, func() (result, error) { return measureWorkload(ctx, w, 0) }); err != nil {
			return err
		}
	}
	storm, _ := findWorkload("storm")
	about := "the same with the smallest ring: losses are counted, peaks stay"
	err := t.step(&t.result.Workloads, smallRing, about, func() (result, error) { return measureWorkload(ctx, storm, smallestRing) })
	if err != nil {
		return err
	}
	if without || !t.wantsCells() {
		return nil
	}
	return t.cells(ctx, python)
}

func (t *selftest) wantsCells() bool {
	return len(t.only) == 0 || slices.ContainsFunc(cellTests, func(c cellTest) bool { return slices.Contains(t.only, c.name) })
}

const (
	smallRing = "small ring" // the name of a test
	noPython  = "none"       // of --python
)

// smallestRing is one page; it holds about fifty changes.
const smallestRing = 4096

// step runs one test, keeps its result and prints its line.
func (t *selftest) step(into *[]result, name, about string, run func() (result, error)) error {
	if len(t.only) > 0 && !slices.Contains(t.only, name) {
		return nil
	}
	progress := startProgress(t.console.err, !t.text, name)
	r, err := run()
	progress.stop()
	r.Name, r.About = name, about
	if r.Figures == nil {
		r.Figures = []figure{}
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
