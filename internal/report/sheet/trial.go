package sheet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// trial is the layout of a trial.
type trial struct {
	layout
	t *model.Trial
}

// Trial shows for each change whether results are the same, what it saved, and what differs.
func Trial(t *model.Trial, options Options) *doc.Document {
	v := trial{newLayout("", options), t}
	seed := ""
	if t.Seed != nil {
		seed = fmt.Sprintf("seed %d", *t.Seed)
	}
	v.Field("notebook", doc.Bold(escape.Bounded(t.Notebook, 2*maxName)), words.Plural(t.Cells, "cell"),
		escape.Bounded(t.Kernel+", Python "+t.Python, 2*maxName), "as user "+escape.Bounded(t.User, maxName), seed)
	v.Field("runs", v.order())
	for i := range t.Variants {
		v.variant(&t.Variants[i])
	}
	if best := t.Best(); best != nil && len(t.Variants) > 1 {
		v.Heading("Best")
		v.Field(escape.Bounded(best.Name, maxName),
			doc.Bold(words.Bytes(best.Saved[0].Certain)+" less, and the results are the same"))
	}
	v.unstable()
	if len(t.Unknown) > 0 {
		v.Heading("Not compared")
		for _, text := range t.Unknown {
			v.Prose("  ", doc.Dim("· "), escape.Bounded(text, maxProse))
		}
	}
	return v.Document
}

// order says in which order the runs were: "as it is, 1, 1, as it is".
func (v trial) order() string {
	const most = 24
	names := []string{}
	for i, number := range v.t.Order {
		if i == most {
			names = append(names, "…")
			break
		}
		switch {
		case number == 0:
			names = append(names, "as it is")
		case len(v.t.Variants) == 1:
			names = append(names, "changed")
		default:
			names = append(names, fmt.Sprint(number))
		}
	}
	return strings.Join(names, ", ")
}

// variant shows one change.
func (v trial) variant(variant *model.TrialVariant) {
	name := escape.Bounded(variant.Name, 2*maxName)
	if len(v.t.Variants) > 1 {
		name = fmt.Sprintf("%d  %s", variant.Number, name)
	}
	v.Heading(strings.ToUpper(name[:1]) + name[1:])
	v.verdict(variant)
	for i := range variant.Saved {
		v.saved(&variant.Saved[i], variant, i == 0)
	}
	if len(variant.Saved) > 0 {
		v.Field("time", words.Duration(middle(variant.TimesBefore))+" → "+words.Duration(middle(variant.TimesAfter)),
			doc.Dim("of all cells, the medians"))
	}
	v.differences(variant)
	v.change(variant)
	v.byCell(variant)
}

// verdict says whether a change leaves the results the same.
func (v trial) verdict(variant *model.TrialVariant) {
	different, tolerated := 0, 0
	for i := range variant.Differences {
		if variant.Differences[i].Tolerated {
			tolerated++
		} else {
			different++
		}
	}
	within := ""
	if tolerated > 0 {
		within = words.Plural(tolerated, "difference") + " within what is tolerated"
	}
	switch {
	case variant.Why != "":
		v.Field("results", doc.Red("it does not run to its end: "+escape.Bounded(variant.Why, maxProse)))
	case different > 0:
		v.Field("results", doc.Red(differ(different)), doc.Dim(within))
	default:
		v.Field("results", doc.Green("the same"), doc.Dim(within))
	}
}

// saved shows what a change saves of one meter. Only the first meter of a variant decides: others are shown in short.
func (v trial) saved(saving *model.TrialSaving, variant *model.TrialVariant, decides bool) {
	mark := ""
	if !saving.Exact {
		mark = "not exact"
	}
	peaks := words.Bytes(middle(saving.Before)) + " → " + words.Bytes(middle(saving.After))
	if !decides {
		if saving.Median != 0 || v.o.Full {
			v.Field("also", words.Meter(saving.Meter)+" "+peaks, lessOrMore(saving.Certain), doc.Yellow(mark))
		}
		return
	}
	predicted := ""
	if variant.Predicted != nil {
		predicted = "predicted " + words.Bytes(*variant.Predicted)
	}
	switch {
	case saving.Certain > 0:
		v.Field("saves", doc.Bold(words.Bytes(saving.Certain)), digits(saving.Certain)+" bytes, at least",
			doc.Dim(digits(saving.Median)+" bytes by the medians"), predicted, doc.Yellow(mark))
	case saving.Median > 0:
		v.Field("saves", doc.Bold("nothing for certain"), digits(saving.Median)+" bytes by the medians", predicted,
			doc.Yellow(mark))
	default:
		v.Field("saves", doc.Bold("nothing"), lessOrMore(saving.Median)+" by the medians", predicted, doc.Yellow(mark))
	}
	v.Field("peak", words.Meter(saving.Meter)+" "+peaks, doc.Dim("the highest cell, the medians"))
}

// lessOrMore describes a saving: "1,234 bytes less"; "1,234 bytes more" for a negative one.
func lessOrMore(saving int64) string {
	switch {
	case saving > 0:
		return digits(saving) + " bytes less"
	case saving < 0:
		return digits(-saving) + " bytes more"
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

// middle returns the median; 0 for no values.
func middle(values []int64) int64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
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

// differences lists the differences of a change's results: those that are not tolerated come first.
func (v trial) differences(variant *model.TrialVariant) {
	sorted := slices.Clone(variant.Differences)
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
			v.Field("", doc.Dim("… and "+words.Plural(len(sorted)-i, "more difference")+"; --full prints all"))
			return
		}
		d := &sorted[i]
		if d.Tolerated {
			v.Field("tolerated", doc.Dim(differenceText(d)))
		} else {
			v.Field("differs", doc.Yellow(differenceText(d)))
		}
	}
}

// differenceText returns a difference in words, escaped, such as `cell 3: "a" became "b"`.
func differenceText(difference *model.TrialDifference) string {
	text := "variable " + difference.Variable
	if difference.Cell > 0 {
		text = fmt.Sprintf("cell %d", difference.Cell)
	}
	if difference.What != "" {
		text += ": " + difference.What
	}
	return escape.OneLine(text, false, maxProse)
}

// change shows the lines of the notebook that a variant changes.
func (v trial) change(variant *model.TrialVariant) {
	if variant.Diff == "" {
		return
	}
	lines := strings.Split(strings.TrimSuffix(variant.Diff, "\n"), "\n")
	for i, line := range lines {
		if i == maxTrialDiff && !v.o.Full {
			v.Prose("", doc.Dim("    … and "+words.Plural(len(lines)-i, "more line")+"; --full prints all"))
			return
		}
		style := doc.Plain
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "@@"):
			style = doc.Dim
		case strings.HasPrefix(line, "-"):
			style = doc.Red
		case strings.HasPrefix(line, "+"):
			style = doc.Green
		}
		v.Code(style("    " + line))
	}
}

// byCell shows the cells whose peak or need a variant changed, in the notebook's order: the largest changes, or all
// with Full.
func (v trial) byCell(variant *model.TrialVariant) {
	const least = 1 << 20 // bytes
	peakChange := func(c *model.TrialCell) int64 { return abs(c.PeakAfter - c.PeakBefore) }
	shown := slices.DeleteFunc(slices.Clone(variant.Cells), func(c model.TrialCell) bool {
		return !v.o.Full && peakChange(&c) < least && abs(c.NeedAfter-c.NeedBefore) < least
	})
	if len(shown) == 0 {
		return
	}
	if !v.o.Full && len(shown) > maxTrialCells {
		slices.SortStableFunc(shown, func(a, b model.TrialCell) int {
			return cmp.Compare(peakChange(&b), peakChange(&a))
		})
		shown = shown[:maxTrialCells]
		slices.SortFunc(shown, func(a, b model.TrialCell) int { return cmp.Compare(a.Cell, b.Cell) })
	}
	table := &doc.Table{
		Columns: []doc.Column{doc.Right("cell"), doc.Right("peak"), doc.Right("changed"), doc.Right("need"),
			doc.Right("changed"), doc.Right("time"), doc.Right("changed"), doc.Flex("source"),
		},
	}
	for _, c := range shown {
		table.Row(fmt.Sprint(c.Cell), words.Bytes(c.PeakBefore), words.Bytes(c.PeakAfter), words.Bytes(c.NeedBefore),
			words.Bytes(c.NeedAfter), doc.Dim(words.Duration(c.TimeBefore)), doc.Dim(words.Duration(c.TimeAfter)),
			escape.OneLine(c.Source, false, maxProse/2))
	}
	v.Blank()
	v.Table(table)
}

// unstable lists the results that differ between runs of the unchanged notebook.
func (v trial) unstable() {
	if len(v.t.Unstable) == 0 {
		return
	}
	v.Heading("Random, or dependent on the time")
	v.Prose("", "These differ between runs of the notebook as it is, and are not held against a change. ",
		doc.Dim("--seed 1 seeds random numbers."))
	for i := range v.t.Unstable {
		if i == maxTrialDifferences && !v.o.Full {
			v.Note("… and %d more; --full prints all.", len(v.t.Unstable)-i)
			return
		}
		v.Prose("  ", doc.Dim("· "), differenceText(&v.t.Unstable[i]))
	}
}

// differ returns "1 result differs", or "3 results differ".
func differ(count int) string {
	if count == 1 {
		return "1 result differs"
	}
	return fmt.Sprintf("%d results differ", count)
}
