package sheet

import (
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// trial lays a trial out.
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
func (v trial) variant(c *model.TrialVariant) {
	name := escape.Bounded(c.Name, 2*maxName)
	if len(v.t.Variants) > 1 {
		name = fmt.Sprintf("%d  %s", c.Number, name)
	}
	v.Heading(strings.ToUpper(name[:1]) + name[1:])
	v.verdict(c)
	for i := range c.Saved {
		v.saved(&c.Saved[i], c, i == 0)
	}
	if len(c.Saved) > 0 {
		v.Field("time", words.Duration(middle(c.TimesBefore))+" → "+words.Duration(middle(c.TimesAfter)),
			doc.Dim("of all cells, the medians"))
	}
	v.differences(c)
	v.change(c)
	v.byCell(c)
}

// verdict says whether results are the same.
func (v trial) verdict(variant *model.TrialVariant) {
	held, tolerated := 0, 0
	for i := range variant.Differences {
		if variant.Differences[i].Tolerated {
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
	case variant.Why != "":
		v.Field("results", doc.Red("it does not run to its end: "+escape.Bounded(variant.Why, maxProse)))
	case held > 0:
		v.Field("results", doc.Red(differ(held)), doc.Dim(within))
	default:
		v.Field("results", doc.Green("the same"), doc.Dim(within))
	}
}

// saved shows one meter.
func (v trial) saved(saving *model.TrialSaving, variant *model.TrialVariant, judged bool) {
	mark := ""
	if !saving.Exact {
		mark = "not exact"
	}
	peaks := words.Bytes(middle(saving.Before)) + " → " + words.Bytes(middle(saving.After))
	if !judged {
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
func (v trial) differences(variant *model.TrialVariant) {
	sorted := slices.Clone(variant.Differences)
	slices.SortStableFunc(sorted, func(difference, b model.TrialDifference) int {
		switch {
		case difference.Tolerated == b.Tolerated:
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

// differenceText returns "cell 3: "a" became "b"".
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

// change shows what was changed.
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
		look := doc.Plain
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "@@"):
			look = doc.Dim
		case strings.HasPrefix(line, "-"):
			look = doc.Red
		case strings.HasPrefix(line, "+"):
			look = doc.Green
		}
		v.Code(look("    " + line))
	}
}

// byCell shows the cells with the largest change of what they needed or had.
func (v trial) byCell(variant *model.TrialVariant) {
	sorted := slices.DeleteFunc(slices.Clone(variant.Cells), func(x model.TrialCell) bool {
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
	table := &doc.Table{
		Columns: []doc.Column{doc.Right("cell"), doc.Right("peak"), doc.Right("changed"), doc.Right("need"),
			doc.Right("changed"), doc.Right("time"), doc.Right("changed"), doc.Flex("source"),
		},
	}
	for _, x := range sorted {
		table.Row(fmt.Sprint(x.Cell), words.Bytes(x.PeakBefore), words.Bytes(x.PeakAfter), words.Bytes(x.NeedBefore),
			words.Bytes(x.NeedAfter), doc.Dim(words.Duration(x.TimeBefore)), doc.Dim(words.Duration(x.TimeAfter)),
			escape.OneLine(x.Source, false, maxProse/2))
	}
	v.Blank()
	v.Table(table)
}

// unstable lists what differs without any change.
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

func differ(width int) string {
	if width == 1 {
		return "1 result differs"
	}
	return fmt.Sprintf("%d results differ", width)
}
