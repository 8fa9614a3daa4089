package trial

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Variant is a change that is tried.
type Variant struct {
	Name      string
	Advice    []int
	Notebook  *Notebook
	Predicted *int64

	runs        []run
	differences []*compared
}

// run is what is kept of a run: its figures and, only of the first runs, its results.
type run struct {
	figures *Figures
	times   []int64
	why     string
}

// Trial collects runs, and judges them.
type Trial struct {
	Original *Notebook
	Within   Tolerance
	Meter    string // the judged one; "" for resident memory

	first    *Result // of the original
	runs     []run
	unstable []*compared
	variants []*Variant
	order    []int
}

// Add adds a run of the notebook as it is, or of a variant. The first run must be of the notebook as it is.
func (t *Trial) Add(v *Variant, result *Result, figures *Figures) error {
	kept := run{figures: figures, why: result.Why}
	if figures == nil {
		kept.figures = &Figures{}
	}
	for i := range result.Cells {
		kept.times = append(kept.times, result.Cells[i].NS)
	}
	if v == nil {
		t.order = append(t.order, 0)
		if result.Why != "" {
			return fmt.Errorf("the notebook as it is does not run to its end: %s", clean(result.Why))
		}
		t.runs = append(t.runs, kept)
		if t.first == nil {
			t.first = result
			return nil
		}
		t.unstable = append(t.unstable, compare(t.Original, t.Original, t.first, result, t.Within))
		return nil
	}
	if !slices.Contains(t.variants, v) {
		t.variants = append(t.variants, v)
	}
	t.order = append(t.order, slices.Index(t.variants, v)+1)
	v.runs = append(v.runs, kept)
	v.differences = append(v.differences, compare(t.Original, v.Notebook, t.first, result, t.Within))
	return nil
}

// Judge returns the result of all runs so far.
func (t *Trial) Judge() *model.Trial {
	out := &model.Trial{
		Schema: model.TrialSchema, Notebook: t.Original.Name, Host: t.runs[0].figures.Host,
		Kernel: clean(t.first.What), Python: clean(t.first.Python),
		Cells: len(t.Original.Cells), Runs: len(t.runs), Order: t.order, Relative: t.Within.Rel, Absolute: t.Within.Abs,
		Meter: cmp.Or(t.Meter, "cpu.resident"), Variants: []model.TrialVariant{}, Unstable: []model.TrialDifference{},
	}
	random := map[string]bool{}
	unknown, types := map[string]bool{}, map[string]bool{}
	for _, c := range t.unstable {
		for _, d := range c.all {
			if !d.Tolerated && !random[key(&d)] {
				random[key(&d)] = true
				out.Unstable = append(out.Unstable, d)
			}
		}
	}
	for i, v := range t.variants {
		out.Variants = append(out.Variants, t.variant(i+1, v, random, out.Meter))
		for _, c := range v.differences {
			maps.Copy(unknown, c.unknown)
			maps.Copy(types, c.types)
		}
	}
	if len(types) > 0 {
		unknown["the contents of variables of the types "+strings.Join(slices.Sorted(maps.Keys(types)), ", ")] = true
	}
	out.Unknown = append([]string{}, slices.Sorted(maps.Keys(unknown))...)
	return out
}

// variant judges one change.
func (t *Trial) variant(number int, v *Variant, random map[string]bool, meter string) model.TrialVariant {
	out := model.TrialVariant{
		Number: number, Name: v.Name, Advice: append([]int{}, v.Advice...), Diff: t.Original.Diff(v.Notebook),
		Passed: true, Predicted: v.Predicted, Differences: []model.TrialDifference{}, Cells: []model.TrialCell{},
		TimesBefore: times(t.runs), TimesAfter: times(v.runs),
	}
	for _, r := range v.runs {
		if r.why != "" {
			out.Passed, out.Why = false, clean(r.why)
		}
	}
	seen := map[model.TrialDifference]bool{}
	for _, c := range v.differences {
		for _, d := range c.all {
			d.Tolerated = d.Tolerated || random[key(&d)]
			if seen[d] || random[key(&d)] {
				continue
			}
			seen[d] = true
			out.Differences = append(out.Differences, d)
			out.Passed = out.Passed && d.Tolerated
		}
	}
	out.Saved = []model.TrialSaving{}
	if out.Why == "" {
		out.Saved = savings(t.runs, v.runs, meter)
		out.Cells = t.cells(v, meter)
	}
	return out
}

func times(runs []run) []int64 {
	all := []int64{}
	for _, r := range runs {
		sum := int64(0)
		for _, ns := range r.times {
			sum += ns
		}
		all = append(all, sum)
	}
	return all
}

// savings compares the highest moments, by meter. The judged meter comes first.
func savings(before, after []run, judged string) []model.TrialSaving {
	meters := map[string]bool{}
	for _, r := range slices.Concat(before, after) {
		for i := range r.figures.Cells {
			for meter := range r.figures.Cells[i].Meters {
				meters[meter] = true
			}
		}
	}
	delete(meters, judged)
	all := []model.TrialSaving{}
	for _, meter := range append([]string{judged}, slices.Sorted(maps.Keys(meters))...) {
		s := model.TrialSaving{Meter: meter, Exact: true}
		s.Before = peaks(before, meter, &s.Exact)
		s.After = peaks(after, meter, &s.Exact)
		if len(s.Before) == 0 || len(s.After) == 0 ||
			meter != judged && slices.Max(s.Before) == 0 && slices.Max(s.After) == 0 {
			continue
		}
		s.Certain = slices.Min(s.Before) - slices.Max(s.After)
		s.Median = median(s.Before) - median(s.After)
		all = append(all, s)
	}
	return all
}

// peaks returns the highest moment of each run. It sets exact to false if a figure is not exact.
func peaks(runs []run, meter string, exact *bool) []int64 {
	all := []int64{}
	for _, r := range runs {
		peak := int64(0)
		for i := range r.figures.Cells {
			if f, ok := r.figures.Cells[i].Together(meter); ok {
				peak = max(peak, f.Peak)
				*exact = *exact && f.Exact
			}
		}
		all = append(all, peak)
	}
	return all
}

func median(all []int64) int64 {
	sorted := slices.Sorted(slices.Values(all))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return sorted[half-1] + (sorted[half]-sorted[half-1])/2
}

// cells compares the cells that the notebook as it is and the variant both have.
func (t *Trial) cells(v *Variant, meter string) []model.TrialCell {
	all := []model.TrialCell{}
	for i, j := range aligned(t.Original, v.Notebook) {
		if j < 0 {
			continue
		}
		before, after := ofCell(t.runs, i, meter), ofCell(v.runs, j, meter)
		if len(before.peaks) == 0 || len(after.peaks) == 0 {
			continue
		}
		first, _, _ := strings.Cut(strings.TrimSpace(t.Original.Cells[i].Source), "\n")
		all = append(all, model.TrialCell{
			Cell: i + 1, Source: clean(first), PeakBefore: slices.Min(before.peaks), PeakAfter: slices.Max(after.peaks),
			NeedBefore: slices.Min(before.needs), NeedAfter: slices.Max(after.needs),
			TimeBefore: median(before.times), TimeAfter: median(after.times),
		})
	}
	return all
}

type cellFigures struct{ peaks, needs, times []int64 }

func ofCell(runs []run, cell int, meter string) (f cellFigures) {
	for _, r := range runs {
		if cell >= len(r.figures.Cells) || cell >= len(r.times) || r.figures.Cells[cell].ID == 0 {
			continue
		}
		if figure, ok := r.figures.Cells[cell].Together(meter); ok {
			f.peaks = append(f.peaks, figure.Peak)
			f.needs = append(f.needs, figure.Need())
			f.times = append(f.times, r.times[cell])
		}
	}
	return f
}

// Last says in words what the last run took.
func (t *Trial) Last() string {
	runs := t.runs
	if last := t.order[len(t.order)-1]; last > 0 {
		runs = t.variants[last-1].runs
	}
	r := runs[len(runs)-1]
	if r.why != "" {
		return clean(r.why)
	}
	exact := true
	peak := peaks([]run{r}, cmp.Or(t.Meter, "cpu.resident"), &exact)[0]
	return fmt.Sprintf("%s in %s", words.Bytes(peak), words.Duration(times([]run{r})[0]))
}
