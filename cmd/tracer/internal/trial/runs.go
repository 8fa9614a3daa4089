package trial

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/host/invoker"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/report"
)

// try is a trial under way.
type try struct {
	*output.Document
	o        *TryOptions
	notebook *Notebook
	variants []*Variant
	advice   *model.Advice           // nil without advice
	ran      func(execution int) int // see Notebook.Edited
	changed  *invoker.File           // nil unless the changed notebook is to be written
	runner   *Runner
	judged   *Trial
	done     int // runs
}

// newTry reads the notebook and its change.
func newTry(d *output.Document, o *TryOptions, path string) (*try, error) {
	whole, err := d.ReadFile(path, output.MaxNotebook)
	if err != nil {
		return nil, err
	}
	t := &try{Document: d, o: o}
	if t.notebook, err = Read(path, whole); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if err := t.prepare(path); err != nil {
		return nil, err
	}
	if o.Changed != "" {
		if t.changed, err = d.Rights.Create(o.Changed, o.Force); err != nil {
			return nil, fmt.Errorf("write the changed notebook: %w", err)
		}
		d.Console.Signals.RemoveOnExit(t.changed)
	}
	folder, err := filepath.Abs(cmp.Or(o.Folder, filepath.Dir(path)))
	if err != nil {
		return nil, err
	}
	t.judged = &Trial{
		Original: t.notebook, Within: Tolerance{Rel: o.Relative, Abs: o.Absolute}, Meter: o.By,
	}
	t.runner = &Runner{
		Tracer: "/proc/self/exe", Python: o.Python, Folder: folder, Env: os.Environ(), Kernel: o.Kernel,
		Seed: o.seed, AllowErrors: o.AllowErrors, Timeout: o.Timeout, UID: d.Who.UID,
		Command: d.UserCommand,
		Orphans: func() { EndOrphans(d.Who.UID) },
	}
	return t, nil
}

func (t *try) close() {
	if t.changed != nil {
		t.changed.Discard()
	}
}

// announce says what will run, and asks on a terminal.
func (t *try) announce() error {
	each := words.Times(int64(t.o.Runs))
	of := each + " with each change"
	switch {
	case len(t.variants) == 1:
		of = each + " with " + escape.Text(t.variants[0].Name)
	case t.o.Advice != "":
		of = each + " with the advice " + t.o.Advice + " that a recording of the first run gives"
	case len(t.variants) == 0:
		of = each + " with each piece of advice that a recording of the first run gives"
	}
	t.Console.Say("runs %s of %s %s as it is and %s, as user %s in %s, started by %s",
		words.Plural(len(t.notebook.Cells), "cell"), escape.Text(t.notebook.Name), each, of,
		escape.Text(t.Who.Name()), escape.Text(t.runner.Folder), escape.Text(t.o.Python))
	if t.o.seed != nil {
		t.Console.Say("random numbers of Python, NumPy and PyTorch are seeded with %d",
			*t.o.seed)
	}
	file, isTerminal := console.Terminal(t.Console.In)
	if t.o.Yes || !isTerminal {
		return nil
	}
	fmt.Fprint(t.Console.Err, "tracer: go on? [y/N] ")
	answer, _ := bufio.NewReader(io.LimitReader(file, 100)).ReadString('\n')
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return errors.New("nothing was run")
	}
	return nil
}

// runAll runs the notebook as it is and each variant, forwards and backwards in turn.
func (t *try) runAll(ctx context.Context) error {
	if len(t.variants) == 0 {
		if err := t.advised(ctx); err != nil {
			return err
		}
	}
	total := t.o.Runs * (1 + len(t.variants))
	for round := range t.o.Runs {
		order := append([]*Variant{nil}, t.variants...)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for i, v := range order {
			if round == 0 && i == 0 && t.done > 0 {
				continue // the run behind the advice
			}
			if _, err := t.run(ctx, v, total); err != nil {
				return err
			}
		}
	}
	if t.o.All {
		return t.runTogether(ctx)
	}
	return nil
}

// runTogether runs those together that passed and saved.
func (t *try) runTogether(ctx context.Context) error {
	result := t.judged.Judge()
	var good []model.AdviceItem
	for _, v := range result.Variants {
		if !v.Passed || len(v.Saved) == 0 || v.Saved[0].Certain <= 0 {
			continue
		}
		at := slices.IndexFunc(t.advice.Items, func(i model.AdviceItem) bool { return i.Number == v.Advice[0] })
		good = append(good, t.advice.Items[at])
	}
	if len(good) < 2 {
		return nil
	}
	v, err := t.together(good)
	if err != nil {
		t.Console.Say("those that passed are not tried together: %v", err)
		return nil
	}
	total := t.done + t.o.Runs
	for range t.o.Runs {
		if _, err := t.run(ctx, v, total); err != nil {
			return err
		}
	}
	t.variants = append(t.variants, v)
	return nil
}

// run runs the notebook once. The total of runs is 0 as long as it is not known.
func (t *try) run(ctx context.Context, v *Variant, total int) (*Figures, error) {
	t.done++
	n, name := t.notebook, "as it is"
	if v != nil {
		n, name = v.Notebook, "with "+v.Name
	}
	what := fmt.Sprintf("tracer: run %d of %d, %s", t.done, total, escape.Text(name))
	if total == 0 {
		what = fmt.Sprintf("tracer: run %d, %s", t.done, escape.Text(name))
	}
	_, isTerminal := console.Terminal(t.Console.Err)
	isTerminal = isTerminal && os.Getenv("TERM") != "dumb"
	t.runner.Begins = func(cell int) {
		if isTerminal && !t.o.Quiet {
			fmt.Fprintf(t.Console.Err, "\r\x1b[K%s: cell %d of %d …", what, cell, len(n.Cells))
		}
	}
	result, figures, err := t.runner.Run(ctx, n)
	if isTerminal && !t.o.Quiet {
		fmt.Fprint(t.Console.Err, "\r\x1b[K")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.TrimPrefix(what, "tracer: "), err)
	}
	if err := t.judged.Add(v, result, figures); err != nil {
		return nil, err
	}
	if !t.o.Quiet {
		fmt.Fprintln(t.Console.Err, what+" …", t.judged.Last())
	}
	return figures, nil
}

var errNotPassed = status.Errorf(status.NotExact,
	"results differ, or a figure is not exact (the comparison says which)")

// deliver prints the comparison and writes the changed notebook.
func (t *try) deliver() error {
	result := t.judged.Judge()
	result.User, result.Seed = t.Who.Name(), t.o.seed
	if err := t.writeChanged(result); err != nil {
		return err
	}
	if err := t.Document.Deliver("comparison", func(w io.Writer) error { return t.print(w, result) }); err != nil {
		return err
	}
	if t.o.Strict.Figures {
		for _, v := range result.Variants {
			if !v.Passed || len(v.Saved) == 0 || !v.Saved[0].Exact {
				return errNotPassed
			}
		}
	}
	return nil
}

func (t *try) print(w io.Writer, result *model.Trial) error {
	if t.o.NoSource {
		result = report.TrialWithoutSource(result)
	}
	if t.o.Format == "json" {
		return report.TrialJSON(w, result)
	}
	return sheet.Trial(result, sheet.Options{Full: t.o.Full}).Text(w, console.Screen(w))
}

// writeChanged writes the notebook with the only change, or with the one that saves most, if its results are the same.
func (t *try) writeChanged(result *model.Trial) error {
	if t.changed == nil {
		return nil
	}
	best := result.Best()
	if len(result.Variants) == 1 && result.Variants[0].Passed {
		best = &result.Variants[0]
	}
	if best == nil {
		t.Console.Say("%s is not written: no change keeps the results and saves memory",
			t.o.Changed)
		return nil
	}
	_, err := t.changed.Write(t.variants[best.Number-1].Notebook.Text)
	if err == nil {
		err = errors.Join(t.changed.Sync(), t.changed.Commit(), t.changed.Close())
	}
	if err != nil {
		return fmt.Errorf("write the changed notebook: %w", err)
	}
	t.changed = nil
	return nil
}
