package selftest

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/words"
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

// selftest is one run.
type selftest struct {
	Options
	result Result
}

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

// printStep prints the line of one test; of a failed one also every figure.
func (t *selftest) printStep(r Test, err error) {
	var peaks []string
	seen := map[string]bool{}
	for _, f := range r.Figures {
		key := f.Meter + strings.TrimPrefix(f.Of, "session")
		if f.Of == "session" && seen[f.Meter+"process"] { // the same number again
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
