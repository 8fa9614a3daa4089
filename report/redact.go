package report

import (
	"iter"
	"regexp"
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// WithoutSource returns a copy of a report without any text of the notebook. It removes the sources of cells and
// statements; arguments in the command lines of child processes, which a cell may have typed (!cmd); and code in an
// attached process's own (ipython -c). Names of experiments stay. The report is not changed.
func WithoutSource(r *model.Report) *model.Report {
	c := complete(r)
	c.Schema = r.Schema
	c.Find, c.Since = nil, nil
	if r.Since != nil {
		c.Since = func(id int) iter.Seq[*model.Window] { return bare(r.Since(id)) }
	}
	if r.Find != nil {
		c.Find = func(id int) (model.Window, bool) {
			w, ok := r.Find(id)
			return withoutSource(w), ok
		}
	}
	c.Windows, c.Stream, c.Passing = nil, bare(r.All()), bare(r.AllPassing())
	for i := range c.Processes {
		if c.Processes[i].Parent != 0 {
			c.Processes[i].Command = program(c.Processes[i].Command)
		} else {
			c.Processes[i].Command = withoutCode(c.Processes[i].Command)
		}
	}
	if r.Variables != nil {
		c.Variables = VariablesWithoutSource(r.Variables)
	}
	if r.Advice != nil {
		c.Advice = AdviceWithoutSource(r.Advice)
	}
	return c
}

// bare yields windows without the texts of the notebook.
func bare(all iter.Seq[*model.Window]) iter.Seq[*model.Window] {
	return func(yield func(*model.Window) bool) {
		for window := range all {
			w := withoutSource(*window)
			if !yield(&w) {
				return
			}
		}
	}
}

func withoutSource(w model.Window) model.Window {
	w.Source, w.SourceTruncated = "", false
	w.Children = list(w.Children)
	for i := range w.Children {
		w.Children[i].Command = program(w.Children[i].Command)
	}
	return w
}

// withoutCode removes the code of python -c code.
func withoutCode(command string) string {
	if before, _, inline := strings.Cut(command, " -c "); inline {
		return before + " -c …"
	}
	return command
}

// program returns the first word of a command line.
func program(command string) string {
	first, _, _ := strings.Cut(command, " ")
	return first
}

// AuditWithoutSource returns a copy of an audit without texts that a notebook may have typed: arguments in commands,
// and the keys in the paths to blocks. Names of variables and functions stay.
func AuditWithoutSource(a *model.Audit) *model.Audit {
	c := *a
	c.Processes, c.Verdicts, c.Live = list(a.Processes), list(a.Verdicts), list(a.Live)
	if a.Variables != nil {
		c.Variables = VariablesWithoutSource(a.Variables)
	}
	for i := range c.Live {
		c.Live[i].Holder = WithoutKeys(c.Live[i].Holder)
	}
	for i := range c.Processes {
		c.Processes[i].Command = withoutCode(c.Processes[i].Command)
	}
	for i := range c.Verdicts {
		v := &c.Verdicts[i]
		if v.Holder != "" {
			bare := WithoutKeys(v.Holder)
			v.Evidence = strings.ReplaceAll(v.Evidence, v.Holder, bare)
			v.Advice = strings.ReplaceAll(v.Advice, v.Holder, bare)
			v.Holder = bare
		}
		if WithoutKeys(v.Fix) != v.Fix { // a key is a part of the path
			v.Fix = ""
		}
		if v.Command != "" {
			v.Evidence = strings.ReplaceAll(v.Evidence, v.Command, program(v.Command))
			v.Command = program(v.Command)
		}
	}
	return &c
}

var keys = regexp.MustCompile(`\['(?:[^'\\]|\\.)*'?\]?|\["(?:[^"\\]|\\.)*"?\]?`)

// WithoutKeys returns a path without the text in it: cache['secret'][3] is cache[…][3].
func WithoutKeys(way string) string { return keys.ReplaceAllString(way, "[…]") }

// GlanceWithoutSource returns a glance without the notebook's source: no text of cells, and no keys in the names of
// variables.
func GlanceWithoutSource(g *model.Glance) *model.Glance {
	c := *g
	c.Kernels = slices.Clone(g.Kernels)
	for i := range c.Kernels {
		k := &c.Kernels[i]
		k.Cell, k.Statement = withoutText(k.Cell), withoutText(k.Statement)
		k.Cells = slices.Clone(k.Cells)
		for n := range k.Cells {
			k.Cells[n] = *withoutText(&k.Cells[n])
		}
		k.Variables = VariablesWithoutSource(k.Variables)
	}
	return &c
}

// VariablesWithoutSource returns variables without the notebook's source: no keys in their names.
func VariablesWithoutSource(all []model.Variable) []model.Variable {
	all = slices.Clone(all)
	for i := range all {
		v := &all[i]
		v.Name, v.Also = WithoutKeys(v.Name), slices.Clone(v.Also)
		for n := range v.Also {
			v.Also[n] = WithoutKeys(v.Also[n])
		}
		v.Columns = slices.Clone(v.Columns)
		for n := range v.Columns {
			v.Columns[n].Name = "[…]"
		}
	}
	return all
}

func withoutText(w *model.Window) *model.Window {
	if w == nil {
		return nil
	}
	c := *w
	c.Source = ""
	return &c
}

// MergeWithoutSource returns a copy of merged recordings without any text of the notebooks.
func MergeWithoutSource(m *model.Merge) *model.Merge {
	c := *m
	c.Cells = list(m.Cells)
	for i := range c.Cells {
		c.Cells[i].Source = ""
	}
	return &c
}

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
