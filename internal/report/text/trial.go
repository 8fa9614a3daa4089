package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// trialView has the sections of a trial.
type trialView struct {
	*printer
	o Options
	t *model.Trial
}

// Trial writes the result of a trial for people: for each change whether results are the same, what it saved, and what
// differs. It fails with w's error only.
func Trial(w io.Writer, t *model.Trial, o Options) error {
	v := trialView{o.printer(), o, t}
	v.to = w
	seed := ""
	if t.Seed != nil {
		seed = fmt.Sprintf("seed %d", *t.Seed)
	}
	v.field("notebook", span{escape.Bounded(t.Notebook, 2*maxName), bold}, span{words.Plural(t.Cells, "cell"), plain},
		span{escape.Bounded(t.Kernel+", Python "+t.Python, 2*maxName), plain},
		span{"as user " + escape.Bounded(t.User, maxName), plain}, span{seed, plain})
	v.field("runs", span{v.order(), plain})
	for i := range t.Variants {
		v.variant(&t.Variants[i])
	}
	if best := t.Best(); best != nil && len(t.Variants) > 1 {
		v.title("Best")
		v.field(escape.Bounded(best.Name, maxName),
			span{words.Bytes(best.Saved[0].Certain) + " less, and the results are the same", bold})
	}
	v.unstable()
	if len(t.Unknown) > 0 {
		v.title("Not compared")
		for _, text := range t.Unknown {
			v.prose("  ", span{"· ", dim}, span{escape.Bounded(text, maxProse), plain})
		}
	}
	return v.flush(w)
}

// order says in which order the runs were: "as it is, 1, 1, as it is".
func (v trialView) order() string {
	names := []string{}
	for i, of := range v.t.Order {
		if i == 24 {
			names = append(names, "…")
			break
		}
		name := "as it is"
		if of > 0 {
			name = fmt.Sprint(of)
			if len(v.t.Variants) == 1 {
				name = "changed"
			}
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// variant shows one change.
func (v trialView) variant(c *model.TrialVariant) {
	name := escape.Bounded(c.Name, 2*maxName)
	if len(v.t.Variants) > 1 {
		name = fmt.Sprintf("%d  %s", c.Number, name)
	}
	v.title(strings.ToUpper(name[:1]) + name[1:])
	v.verdict(c)
	for i := range c.Saved {
		v.saved(&c.Saved[i], c, i == 0)
	}
	if len(c.Saved) > 0 {
		v.field("time",
			span{words.Duration(middle(c.TimesBefore)) + " → " + words.Duration(middle(c.TimesAfter)), plain},
			span{"of all cells, the medians", dim})
	}
	v.differences(c)
	v.change(c)
	v.byCell(c)
}

// verdict says whether results are the same.
func (v trialView) verdict(c *model.TrialVariant) {
	held, tolerated := 0, 0
	for i := range c.Differences {
		if c.Differences[i].Tolerated {
			tolerated++
		} else {
			held++
		}
	}
	within := ""
	if tolerated > 0 {
		within = words.Plural(tolerated, "difference") + " within what is tolerated"
	}
	switch {
	case c.Why != "":
		v.field("results", span{"it does not run to its end: " + escape.Bounded(c.Why, maxProse), red})
	case held > 0:
		v.field("results", span{differ(held), red}, span{within, dim})
	default:
		v.field("results", span{"the same", green}, span{within, dim})
	}
}

// saved shows one meter.
func (v trialView) saved(s *model.TrialSaving, c *model.TrialVariant, judged bool) {
	mark := ""
	if !s.Exact {
		mark = "not exact"
	}
	peaks := words.Bytes(middle(s.Before)) + " → " + words.Bytes(middle(s.After))
	if !judged {
		if s.Median != 0 || v.o.Full {
			v.field("also", span{meterName(s.Meter) + " " + peaks, plain}, span{lessOrMore(s.Certain), plain},
				span{mark, yellow})
		}
		return
	}
	predicted := ""
	if c.Predicted != nil {
		predicted = "predicted " + words.Bytes(*c.Predicted)
	}
	switch {
	case s.Certain > 0:
		v.field("saves", span{words.Bytes(s.Certain), bold}, span{digits(s.Certain) + " bytes, at least", plain},
			span{digits(s.Median) + " bytes by the medians", dim}, span{predicted, plain}, span{mark, yellow})
	case s.Median > 0:
		v.field("saves", span{"nothing for certain", bold}, span{digits(s.Median) + " bytes by the medians", plain},
			span{predicted, plain}, span{mark, yellow})
	default:
		v.field("saves", span{"nothing", bold}, span{lessOrMore(s.Median) + " by the medians", plain},
			span{predicted, plain}, span{mark, yellow})
	}
	v.field("peak", span{meterName(s.Meter) + " " + peaks, plain}, span{"the highest cell, the medians", dim})
}

func lessOrMore(n int64) string {
	switch {
	case n > 0:
		return digits(n) + " bytes less"
	case n < 0:
		return digits(-n) + " bytes more"
	}
	return "the same"
}

// digits writes a number with commas: 1,234,567.
func digits(n int64) string {
	text := fmt.Sprint(n)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

// middle returns the median, 0 of nothing.
func middle(all []int64) int64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return sorted[half-1] + (sorted[half]-sorted[half-1])/2
}

// The most lines of each kind, unless all are shown.
const (
	maxTrialDifferences = 12
	maxTrialCells       = 8
	maxTrialDiff        = 40
)

// differences lists those that count first.
func (v trialView) differences(c *model.TrialVariant) {
	sorted := slices.Clone(c.Differences)
	slices.SortStableFunc(sorted, func(a, b model.TrialDifference) int {
		switch {
		case a.Tolerated == b.Tolerated:
			return 0
		case b.Tolerated:
			return -1
		}
		return 1
	})
	for i := range sorted {
		if i == maxTrialDifferences && !v.o.Full {
			v.field("", span{"… and " + words.Plural(len(sorted)-i, "more difference") + "; --full prints all", dim})
			return
		}
		d := &sorted[i]
		if d.Tolerated {
			v.field("tolerated", span{differenceText(d), dim})
		} else {
			v.field("differs", span{differenceText(d), yellow})
		}
	}
}

// differenceText returns "cell 3: "a" became "b"".
func differenceText(d *model.TrialDifference) string {
	text := "variable " + d.Variable
	if d.Cell > 0 {
		text = fmt.Sprintf("cell %d", d.Cell)
	}
	if d.What != "" {
		text += ": " + d.What
	}
	return escape.OneLine(text, false, maxProse)
}

// change shows what was changed.
func (v trialView) change(c *model.TrialVariant) {
	if c.Diff == "" {
		return
	}
	lines := strings.Split(strings.TrimSuffix(c.Diff, "\n"), "\n")
	for i, line := range lines {
		if i == maxTrialDiff && !v.o.Full {
			v.prose("", span{"    … and " + words.Plural(len(lines)-i, "more line") + "; --full prints all", dim})
			return
		}
		look := plain
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "@@"):
			look = dim
		case strings.HasPrefix(line, "-"):
			look = red
		case strings.HasPrefix(line, "+"):
			look = green
		}
		v.paint("    "+escape.Text(line), look)
		v.blank()
	}
}

// byCell shows the cells with the largest change of what they needed or had.
func (v trialView) byCell(c *model.TrialVariant) {
	sorted := slices.DeleteFunc(slices.Clone(c.Cells), func(x model.TrialCell) bool {
		return !v.o.Full && abs(x.PeakAfter-x.PeakBefore) < 1<<20 && abs(x.NeedAfter-x.NeedBefore) < 1<<20
	})
	if len(sorted) == 0 {
		return
	}
	if !v.o.Full && len(sorted) > maxTrialCells {
		slices.SortStableFunc(sorted, func(a, b model.TrialCell) int {
			return int(min(max(abs(b.PeakAfter-b.PeakBefore)-abs(a.PeakAfter-a.PeakBefore), -1), 1))
		})
		sorted = sorted[:maxTrialCells]
		slices.SortFunc(sorted, func(a, b model.TrialCell) int { return a.Cell - b.Cell })
	}
	t := table{columns: []column{
		{title: "cell", right: true}, {title: "peak", right: true}, {title: "changed", right: true},
		{title: "need", right: true}, {title: "changed", right: true}, {title: "time", right: true},
		{title: "changed", right: true}, {title: "source", flex: true},
	}}
	for _, x := range sorted {
		t.rows = append(t.rows, row{cells: []span{
			{fmt.Sprint(x.Cell), plain}, {words.Bytes(x.PeakBefore), plain}, {words.Bytes(x.PeakAfter), plain},
			{words.Bytes(x.NeedBefore), plain}, {words.Bytes(x.NeedAfter), plain},
			{words.Duration(x.TimeBefore), dim}, {words.Duration(x.TimeAfter), dim},
			{escape.OneLine(x.Source, false, maxProse/2), plain},
		}})
	}
	v.blank()
	t.print(v.printer)
}

func abs(n int64) int64 { return max(n, -n) }

// unstable lists what differs without any change.
func (v trialView) unstable() {
	if len(v.t.Unstable) == 0 {
		return
	}
	v.title("Random, or dependent on the time")
	v.prose("", span{"These differ between runs of the notebook as it is, and are not held against a change. ", plain},
		span{"--seed 1 seeds random numbers.", dim})
	for i := range v.t.Unstable {
		if i == maxTrialDifferences && !v.o.Full {
			v.prose("", span{fmt.Sprintf("… and %d more; --full prints all.", len(v.t.Unstable)-i), dim})
			return
		}
		v.prose("  ", span{"· ", dim}, span{differenceText(&v.t.Unstable[i]), plain})
	}
}

func differ(n int) string {
	if n == 1 {
		return "1 result differs"
	}
	return fmt.Sprintf("%d results differ", n)
}
