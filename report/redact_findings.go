package report

import (
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// DiffWithoutSource returns a copy of a comparison without the texts of the notebook.
func DiffWithoutSource(d *model.Diff) *model.Diff {
	c := *d
	c.Whole, c.Cells, c.Causes = list(d.Whole), list(d.Cells), list(d.Causes)
	for i := range c.Whole {
		c.Whole[i].Command = withoutCode(c.Whole[i].Command)
	}
	for i := range c.Cells {
		row := &c.Cells[i]
		row.A, row.B = bareCell(row.A), bareCell(row.B)
		row.Why, row.Reads = bareReads(d, row, row.Why), slices.Clone(row.Reads)
		for k := range row.Reads {
			row.Reads[k].Name = ""
		}
		row.Lines = list(row.Lines)
		for k := range row.Lines {
			row.Lines[k].Source = ""
		}
	}
	for i := range c.Causes {
		x := &c.Causes[i]
		x.Why, x.Follows = bareReads(d, &d.Cells[x.Cell], x.Why), slices.Clone(x.Follows)
		for k := range x.Follows {
			f := &x.Follows[k]
			f.Why = bareReads(d, &d.Cells[f.Cell], f.Why)
		}
	}
	return &c
}

// bareReads returns the reason of a cell's change, without the names that it reads.
func bareReads(d *model.Diff, row *model.CellDiff, why string) string {
	if len(row.Reads) == 0 {
		return why
	}
	bare := slices.Clone(row.Reads)
	for i := range bare {
		bare[i].Name = ""
	}
	return strings.Replace(why, words.WhyReads(d, row.Reads), words.WhyReads(d, bare), 1)
}

func bareCell(x *model.DiffCell) *model.DiffCell {
	if x == nil {
		return nil
	}
	c := *x
	c.Source, c.SourceTruncated = "", false
	return &c
}

// PlanWithoutSource returns a copy of a plan without the texts of the notebook.
func PlanWithoutSource(p *model.Plan) *model.Plan {
	c := *p
	c.Demands = list(p.Demands)
	for i := range c.Demands {
		d := &c.Demands[i]
		d.At, d.Next = barePlace(d.At), barePlace(d.Next)
		d.Lines, d.Untouched = bareLines(d.Lines), bareLines(d.Untouched)
		if d.Together != nil {
			set := *d.Together
			set.Lines, set.Then = bareLines(set.Lines), barePlace(set.Then)
			d.Together = &set
		}
	}
	return &c
}

func bareLines(lines []model.PlanLine) []model.PlanLine {
	lines = list(lines)
	for i := range lines {
		lines[i].Source, lines[i].Then = "", barePlace(lines[i].Then)
	}
	return lines
}

func barePlace(p *model.PlanPlace) *model.PlanPlace {
	if p == nil {
		return nil
	}
	c := *p
	c.Source = ""
	return &c
}

// AdviceWithoutSource returns a copy of advice without the texts of the notebook: it has no code to type then.
func AdviceWithoutSource(a *model.Advice) *model.Advice {
	c := *a
	c.At = barePlace(a.At)
	c.Items = list(a.Items)
	for i := range c.Items {
		item := &c.Items[i]
		item.At.Source, item.Diff, item.Edits = "", "", []model.AdviceEdit{}
		item.Then = barePlace(item.Then)
	}
	return &c
}

// TrialWithoutSource returns a copy of a trial without the texts of the notebook and of its outputs.
func TrialWithoutSource(t *model.Trial) *model.Trial {
	c := *t
	c.Variants, c.Unstable = list(t.Variants), bareDifferences(t.Unstable)
	for i := range c.Variants {
		v := &c.Variants[i]
		v.Diff, v.Differences, v.Cells = "", bareDifferences(v.Differences), list(v.Cells)
		for j := range v.Cells {
			v.Cells[j].Source = ""
		}
	}
	return &c
}

func bareDifferences(all []model.TrialDifference) []model.TrialDifference {
	all = list(all)
	for i := range all {
		all[i].What = ""
	}
	return all
}
