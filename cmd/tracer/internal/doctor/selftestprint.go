package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/words"
)

// SelftestOptions say what to test, and where to print.
type SelftestOptions struct {
	Tracer       string      // the tracer's version
	Only         []string    // of [SelftestNames]; nil: all
	Python       *CellPython // runs the cells; nil: none was found, which the result notes
	WithoutCells bool        // skip the cells
	// Text receives a line for each finished test; nil for none.
	Text  io.Writer
	Color bool // of Text
	// Progress is called with the name of a step, and returns the function to call at its end; it may be nil.
	Progress func(doing string) (stop func())
}

func (o *SelftestOptions) progress(doing string) (stop func()) {
	if o.Progress == nil {
		return func() {}
	}
	return o.Progress(doing)
}

// selftest is one run of the tests.
type selftest struct {
	SelftestOptions
	result SelftestResult
}

// step runs one test unless Only excludes it, adds its result to into, and prints its line.
func (t *selftest) step(into *[]Test, name, about string, run func() (Test, error)) error {
	if len(t.Only) > 0 && !slices.Contains(t.Only, name) {
		return nil
	}
	stopProgress := t.progress(name)
	test, err := run()
	stopProgress()
	test.Name, test.About = name, about
	if test.Figures == nil {
		test.Figures = []Figure{}
	}
	*into = append(*into, test)
	for _, f := range test.Figures {
		t.result.Figures++
		if f.Bound == 0 {
			t.result.Exact++
		}
		if err == nil && !f.right() {
			err = &mismatch{name, f}
		}
	}
	t.printStep(test, err)
	return err
}

// mark is ✓ or ✗, in colour if requested.
func (t *selftest) mark(good bool) string { return doc.MarkOf(good).Text(t.Color) }

func (t *selftest) printf(format string, args ...any) {
	if t.Text != nil {
		fmt.Fprintf(t.Text, format, args...)
	}
}

func (t *selftest) printHead() {
	t.printf("ipytracer %s on Linux %s, %d CPUs: peaks against the truth, in bytes\n\n",
		t.result.Tracer, t.result.Kernel, t.result.CPUs)
}

// printStep prints the line of one test, and every figure if it has failed.
func (t *selftest) printStep(r Test, err error) {
	var peaks []string
	seen := map[string]bool{}
	for _, f := range r.Figures {
		key := f.Meter + strings.TrimPrefix(f.Of, "session")
		if f.Of == "session" && seen[f.Meter+"process"] { // the same figure again
			continue
		}
		seen[key] = true
		name := strings.TrimPrefix(f.Meter, "cpu.")
		if f.Of != "process" && f.Of != "session" {
			name = f.Of + " " + name
		}
		text := fmt.Sprintf("%s %d", name, f.Found)
		if f.Bound > 0 {
			text += " ±" + words.Bytes(f.Bound)
		}
		peaks = append(peaks, text)
	}
	t.printf("%s %-11s %-62s %s\n", t.mark(err == nil), r.Name, r.About, strings.Join(peaks, "  "))
	if r.Note != "" {
		t.printf("  %-11s %s\n", "", r.Note)
	}
	if err == nil {
		return
	}
	for _, f := range r.Figures {
		t.printf("  %s %-18s %-10s expected %d, found %d, difference %+d\n",
			t.mark(f.right()), f.Meter, f.Of, f.Expected, f.Found, f.Difference)
	}
}

func (t *selftest) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	t.result.Notes = append(t.result.Notes, text)
	t.printf("  %s\n", text)
}

func (t *selftest) printTail() {
	if !t.result.Passed {
		return
	}
	t.printf("\n%d tests, %d figures: %d equal to the byte",
		len(t.result.Workloads)+len(t.result.Cells), t.result.Figures, t.result.Exact)
	if bounds := t.result.Figures - t.result.Exact; bounds > 0 {
		t.printf(", %d within the bound of this kernel (exact from 6.2)", bounds)
	}
	t.printf("; kernel peaks and recomputed peaks agree in every window.\n")
}
