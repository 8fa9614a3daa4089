package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/report/sheet"
	"ipytracer/model"
	"ipytracer/report"
)

// runAll runs the original and each variant. Every second round is in reverse order, so that no version always runs
// first.
func (t *try) runAll(ctx context.Context) error {
	if len(t.variants) == 0 {
		if err := t.recordForAdvice(ctx); err != nil {
			return err
		}
	}
	total := t.o.runs * (1 + len(t.variants))
	for round := range t.o.runs {
		order := append([]*Variant{nil}, t.variants...)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for i, v := range order {
			hasRun := round == 0 && i == 0 && t.done > 0 // for its advice
			if hasRun {
				continue
			}
			if _, err := t.run(ctx, v, total); err != nil {
				return err
			}
		}
	}
	if t.o.all {
		return t.runTogether(ctx)
	}
	return nil
}

// runTogether runs a variant with all advice of which each piece passed and saved memory when it was tried alone.
func (t *try) runTogether(ctx context.Context) error {
	result := t.judged.Judge()
	var passed []model.AdviceItem
	for _, v := range result.Variants {
		if !v.Passed || len(v.Saved) == 0 || v.Saved[0].Certain <= 0 {
			continue
		}
		at := slices.IndexFunc(t.advice.Items, func(i model.AdviceItem) bool { return i.Number == v.Advice[0] })
		passed = append(passed, t.advice.Items[at])
	}
	if len(passed) < 2 {
		return nil
	}
	v, err := t.combine(passed)
	if err != nil {
		t.Console.Say("the advice that passed is not tried together: %v", err)
		return nil
	}
	total := t.done + t.o.runs
	for range t.o.runs {
		if _, err := t.run(ctx, v, total); err != nil {
			return err
		}
	}
	t.variants = append(t.variants, v)
	return nil
}

var errNotPassed = console.Errorf(console.NotExact,
	"results differ, or a figure is not exact (the comparison says which)")

// deliver prints the comparison and writes the changed notebook.
func (t *try) deliver() error {
	result := t.judged.Judge()
	result.User, result.Seed = t.Who.Name(), t.o.seedNumber
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

// writeChanged writes the best variant to the file of -o. Of several variants, that is the one that saves most. A
// variant must have passed; one of several must also save memory.
func (t *try) writeChanged(result *model.Trial) error {
	if t.changed == nil {
		return nil
	}
	chosen := result.Best()
	if len(result.Variants) == 1 && result.Variants[0].Passed {
		chosen = &result.Variants[0]
	}
	if chosen == nil {
		t.Console.Say("%s is not written: no change keeps the results and saves memory", t.o.changed)
		return nil
	}
	_, err := t.changed.Write(t.variants[chosen.Number-1].Notebook.Text)
	if err == nil {
		err = errors.Join(t.changed.Sync(), t.changed.Commit(), t.changed.Close())
	}
	if err != nil {
		return fmt.Errorf("write the changed notebook: %w", err)
	}
	t.changed = nil
	return nil
}
