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

// Variant is a changed version of the notebook.
type Variant struct {
	Name      string
	Advice    []int // the numbers of the advice that it applies; empty for a patch or another version
	Notebook  *Notebook
	Predicted *int64 // bytes that the advice should save; nil if it does not say

	runs        []run
	differences []*compared // of each run from the first run of the original
}

// run has the figures of one run.
type run struct {
	figures   *Figures
	cellTimes []int64 // in ns
	failure   string  // why the notebook did not run to its end; "" if it did
}

func newRun(result *Result, figures *Figures) run {
	r := run{figures: figures, failure: result.Why}
	if figures == nil {
		r.figures = &Figures{}
	}
	for i := range result.Cells {
		r.cellTimes = append(r.cellTimes, result.Cells[i].NS)
	}
	return r
}

// Trial collects runs, and judges them.
type Trial struct {
	Original *Notebook
	Within   Tolerance
	Meter    string // that the variants are judged by; "" for resident memory

	first    *Result     // of the original's first run
	runs     []run       // of the original
	unstable []*compared // what differs between the original's first run and each later one
	variants []*Variant
	order    []int // of all runs: 0 for the original, else the number of the variant
}

// Add adds a run of a variant, or of the original if v is nil. The first run must be of the original.
func (t *Trial) Add(v *Variant, result *Result, figures *Figures) error {
	if v == nil {
		return t.addOriginal(result, figures)
	}
	if !slices.Contains(t.variants, v) {
		t.variants = append(t.variants, v)
	}
	t.order = append(t.order, slices.Index(t.variants, v)+1)
	v.runs = append(v.runs, newRun(result, figures))
	v.differences = append(v.differences, compare(t.Original, v.Notebook, t.first, result, t.Within))
	return nil
}

func (t *Trial) addOriginal(result *Result, figures *Figures) error {
	t.order = append(t.order, 0)
	if result.Why != "" {
		return fmt.Errorf("the notebook as it is does not run to its end: %s", clean(result.Why))
	}
	t.runs = append(t.runs, newRun(result, figures))
	if t.first == nil {
		t.first = result
		return nil
	}
	t.unstable = append(t.unstable, compare(t.Original, t.Original, t.first, result, t.Within))
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
	unstable := map[string]bool{} // keys of what differs between two runs of the original
	for _, c := range t.unstable {
		for _, d := range c.differences {
			if !d.Tolerated && !unstable[key(&d)] {
				unstable[key(&d)] = true
				out.Unstable = append(out.Unstable, d)
			}
		}
	}
	for i, v := range t.variants {
		out.Variants = append(out.Variants, t.judgeVariant(i+1, v, unstable, out.Meter))
	}
	out.Unknown = t.notCompared()
	return out
}

// notCompared describes what no comparison of a variant could look at.
func (t *Trial) notCompared() []string {
	unknown, types := map[string]bool{}, map[string]bool{}
	for _, v := range t.variants {
		for _, c := range v.differences {
			maps.Copy(unknown, c.unknown)
			maps.Copy(types, c.types)
		}
	}
	if len(types) > 0 {
		unknown["the contents of variables of the types "+strings.Join(slices.Sorted(maps.Keys(types)), ", ")] = true
	}
	return append([]string{}, slices.Sorted(maps.Keys(unknown))...)
}

// judgeVariant judges one variant. Differences with a key of unstable are left out: the change is not their cause.
func (t *Trial) judgeVariant(number int, v *Variant, unstable map[string]bool, meter string) model.TrialVariant {
	out := model.TrialVariant{
		Number: number, Name: v.Name, Advice: append([]int{}, v.Advice...), Diff: t.Original.Diff(v.Notebook),
		Passed: true, Predicted: v.Predicted, Differences: []model.TrialDifference{}, Cells: []model.TrialCell{},
		TimesBefore: totalTimes(t.runs), TimesAfter: totalTimes(v.runs),
	}
	for _, r := range v.runs {
		if r.failure != "" {
			out.Passed, out.Why = false, clean(r.failure)
		}
	}
	seen := map[model.TrialDifference]bool{}
	for _, c := range v.differences {
		for _, d := range c.differences {
			if seen[d] || unstable[key(&d)] {
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

// totalTimes returns the time of all cells of each run, in ns.
func totalTimes(runs []run) []int64 {
	totals := []int64{}
	for _, r := range runs {
		sum := int64(0)
		for _, ns := range r.cellTimes {
			sum += ns
		}
		totals = append(totals, sum)
	}
	return totals
}

// savings compares the peaks of the runs, by meter. The judged meter comes first. Other meters that are 0 in all runs
// are left out.
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
	perMeter := []model.TrialSaving{}
	for _, meter := range append([]string{judged}, slices.Sorted(maps.Keys(meters))...) {
		s := model.TrialSaving{Meter: meter}
		var exactBefore, exactAfter bool
		s.Before, exactBefore = peaks(before, meter)
		s.After, exactAfter = peaks(after, meter)
		s.Exact = exactBefore && exactAfter
		if len(s.Before) == 0 || len(s.After) == 0 {
			continue
		}
		if meter != judged && slices.Max(s.Before) == 0 && slices.Max(s.After) == 0 {
			continue
		}
		s.Certain = slices.Min(s.Before) - slices.Max(s.After)
		s.Median = median(s.Before) - median(s.After)
		perMeter = append(perMeter, s)
	}
	return perMeter
}

// peaks returns the peak of each run in bytes, and whether all figures are exact.
func peaks(runs []run, meter string) (perRun []int64, exact bool) {
	perRun, exact = []int64{}, true
	for _, r := range runs {
		peak := int64(0)
		for i := range r.figures.Cells {
			if f, ok := r.figures.Cells[i].Together(meter); ok {
				peak = max(peak, f.Peak)
				exact = exact && f.Exact
			}
		}
		perRun = append(perRun, peak)
	}
	return perRun, exact
}

func median(numbers []int64) int64 {
	sorted := slices.Sorted(slices.Values(numbers))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return sorted[half-1] + (sorted[half]-sorted[half-1])/2
}

// cells compares the cells that the notebook as it is and the variant both have.
func (t *Trial) cells(v *Variant, meter string) []model.TrialCell {
	cells := []model.TrialCell{}
	for i, j := range aligned(t.Original, v.Notebook) {
		if j < 0 {
			continue
		}
		before, after := cellFiguresOf(t.runs, i, meter), cellFiguresOf(v.runs, j, meter)
		if len(before.peaks) == 0 || len(after.peaks) == 0 {
			continue
		}
		first, _, _ := strings.Cut(strings.TrimSpace(t.Original.Cells[i].Source), "\n")
		cells = append(cells, model.TrialCell{
			Cell: i + 1, Source: clean(first), PeakBefore: slices.Min(before.peaks), PeakAfter: slices.Max(after.peaks),
			NeedBefore: slices.Min(before.needs), NeedAfter: slices.Max(after.needs),
			TimeBefore: median(before.times), TimeAfter: median(after.times),
		})
	}
	return cells
}

// cellFigures are the figures of one cell, by run: peaks and needs in bytes, times in ns.
type cellFigures struct{ peaks, needs, times []int64 }

// cellFiguresOf leaves out runs in which the cell has no window.
func cellFiguresOf(runs []run, cell int, meter string) (f cellFigures) {
	for _, r := range runs {
		if cell >= len(r.figures.Cells) || cell >= len(r.cellTimes) || r.figures.Cells[cell].ID == 0 {
			continue
		}
		if figure, ok := r.figures.Cells[cell].Together(meter); ok {
			f.peaks = append(f.peaks, figure.Peak)
			f.needs = append(f.needs, figure.Need())
			f.times = append(f.times, r.cellTimes[cell])
		}
	}
	return f
}

// DescribeLastRun returns the peak and the time of the last run, or why it failed.
func (t *Trial) DescribeLastRun() string {
	runs := t.runs
	if last := t.order[len(t.order)-1]; last > 0 {
		runs = t.variants[last-1].runs
	}
	r := runs[len(runs)-1]
	if r.failure != "" {
		return clean(r.failure)
	}
	perRun, _ := peaks([]run{r}, cmp.Or(t.Meter, "cpu.resident"))
	return fmt.Sprintf("%s in %s", words.Bytes(perRun[0]), words.Duration(totalTimes([]run{r})[0]))
}
