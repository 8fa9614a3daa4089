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
// statements; the arguments of child processes, because a cell may have typed them (!cmd); and the code of an attached
// process's arguments (ipython -c). Names of experiments stay. WithoutSource does not change the report.
func WithoutSource(report *model.Report) *model.Report {
	session := complete(report)
	session.Schema = report.Schema
	session.Find, session.Since = nil, nil
	if report.Since != nil {
		session.Since = func(id int) iter.Seq[*model.Window] { return withoutSources(report.Since(id)) }
	}
	if report.Find != nil {
		session.Find = func(id int) (model.Window, bool) {
			w, ok := report.Find(id)
			return withoutSource(w), ok
		}
	}
	session.Windows = nil
	session.Stream = withoutSources(report.All())
	session.Passing = func(pick model.Pick) iter.Seq[*model.Window] { return withoutSources(report.Picked(pick)) }
	for i := range session.Processes {
		if session.Processes[i].Parent != 0 {
			session.Processes[i].Command = program(session.Processes[i].Command)
		} else {
			session.Processes[i].Command = withoutCode(session.Processes[i].Command)
		}
	}
	if report.Variables != nil {
		session.Variables = VariablesWithoutSource(report.Variables)
	}
	if report.Advice != nil {
		session.Advice = AdviceWithoutSource(report.Advice)
	}
	return session
}

// withoutSources yields windows without the texts of the notebook.
func withoutSources(windows iter.Seq[*model.Window]) iter.Seq[*model.Window] {
	return func(yield func(*model.Window) bool) {
		for window := range windows {
			w := withoutSource(*window)
			if !yield(&w) {
				return
			}
		}
	}
}

// withoutSource returns a window without the texts of the notebook.
func withoutSource(window model.Window) model.Window {
	window.Source, window.SourceTruncated = "", false
	window.Children = list(window.Children)
	for i := range window.Children {
		window.Children[i].Command = program(window.Children[i].Command)
	}
	return window
}

// withoutCode removes the code from a command line with -c: "python -c …".
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

// AuditWithoutSource returns a copy of an audit without texts of the notebook: it removes arguments from command lines,
// and keys from the paths to blocks. Names of variables and functions stay.
func AuditWithoutSource(audit *model.Audit) *model.Audit {
	findings := *audit
	findings.Processes, findings.Verdicts, findings.Live = list(audit.Processes), list(audit.Verdicts), list(audit.Live)
	if audit.Variables != nil {
		findings.Variables = VariablesWithoutSource(audit.Variables)
	}
	for i := range findings.Live {
		findings.Live[i].Holder = WithoutKeys(findings.Live[i].Holder)
	}
	for i := range findings.Processes {
		findings.Processes[i].Command = withoutCode(findings.Processes[i].Command)
	}
	for i := range findings.Verdicts {
		verdict := &findings.Verdicts[i]
		if verdict.Holder != "" {
			bare := WithoutKeys(verdict.Holder)
			verdict.Evidence = strings.ReplaceAll(verdict.Evidence, verdict.Holder, bare)
			verdict.Advice = strings.ReplaceAll(verdict.Advice, verdict.Holder, bare)
			verdict.Holder = bare
		}
		if WithoutKeys(verdict.Fix) != verdict.Fix { // code without its keys would not run
			verdict.Fix = ""
		}
		if verdict.Command != "" {
			verdict.Evidence = strings.ReplaceAll(verdict.Evidence, verdict.Command, program(verdict.Command))
			verdict.Command = program(verdict.Command)
		}
	}
	return &findings
}

// keys matches a subscript with a text, also one that was cut.
var keys = regexp.MustCompile(`\['(?:[^'\\]|\\.)*'?\]?|\["(?:[^"\\]|\\.)*"?\]?`)

// WithoutKeys replaces the texts in the subscripts of a path: cache['secret'][3] becomes cache[…][3].
func WithoutKeys(path string) string { return keys.ReplaceAllString(path, "[…]") }

// GlanceWithoutSource returns a copy of a glance without texts of the notebook: it removes the sources of cells, and
// the keys in the names of variables.
func GlanceWithoutSource(glance *model.Glance) *model.Glance {
	c := *glance
	c.Kernels = slices.Clone(glance.Kernels)
	for i := range c.Kernels {
		kernel := &c.Kernels[i]
		kernel.Cell, kernel.Statement = withoutText(kernel.Cell), withoutText(kernel.Statement)
		kernel.Cells = slices.Clone(kernel.Cells)
		for n := range kernel.Cells {
			kernel.Cells[n] = *withoutText(&kernel.Cells[n])
		}
		kernel.Variables = VariablesWithoutSource(kernel.Variables)
	}
	return &c
}

// VariablesWithoutSource returns a copy of variables without texts of the notebook: it removes the keys in their names,
// and the names of columns.
func VariablesWithoutSource(variables []model.Variable) []model.Variable {
	variables = slices.Clone(variables)
	for i := range variables {
		variable := &variables[i]
		variable.Name, variable.Also = WithoutKeys(variable.Name), slices.Clone(variable.Also)
		for n := range variable.Also {
			variable.Also[n] = WithoutKeys(variable.Also[n])
		}
		variable.Columns = slices.Clone(variable.Columns)
		for n := range variable.Columns {
			variable.Columns[n].Name = "[…]"
		}
	}
	return variables
}

// withoutText returns a copy of a glance's window without its source; nil for nil.
func withoutText(window *model.Window) *model.Window {
	if window == nil {
		return nil
	}
	c := *window
	c.Source = ""
	return &c
}

// MergeWithoutSource returns a copy of merged recordings without any text of the notebooks.
func MergeWithoutSource(merge *model.Merge) *model.Merge {
	merged := *merge
	merged.Cells = list(merge.Cells)
	for i := range merged.Cells {
		merged.Cells[i].Source = ""
	}
	return &merged
}

// DiffWithoutSource returns a copy of a comparison without the texts of the notebook.
func DiffWithoutSource(diff *model.Diff) *model.Diff {
	comparison := *diff
	comparison.Whole, comparison.Cells, comparison.Causes = list(diff.Whole), list(diff.Cells), list(diff.Causes)
	for i := range comparison.Whole {
		comparison.Whole[i].Command = withoutCode(comparison.Whole[i].Command)
	}
	for i := range comparison.Cells {
		row := &comparison.Cells[i]
		row.A, row.B = bareCell(row.A), bareCell(row.B)
		row.Why, row.Reads = bareReads(diff, row, row.Why), slices.Clone(row.Reads)
		for k := range row.Reads {
			row.Reads[k].Name = ""
		}
		row.Lines = list(row.Lines)
		for k := range row.Lines {
			row.Lines[k].Source = ""
		}
	}
	for i := range comparison.Causes {
		cause := &comparison.Causes[i]
		cause.Why, cause.Follows = bareReads(diff, &diff.Cells[cause.Cell], cause.Why), slices.Clone(cause.Follows)
		for k := range cause.Follows {
			f := &cause.Follows[k]
			f.Why = bareReads(diff, &diff.Cells[f.Cell], f.Why)
		}
	}
	return &comparison
}

// bareReads returns the reason of a cell's change, without the names that it reads.
func bareReads(diff *model.Diff, row *model.CellDiff, why string) string {
	if len(row.Reads) == 0 {
		return why
	}
	bare := slices.Clone(row.Reads)
	for i := range bare {
		bare[i].Name = ""
	}
	return strings.Replace(why, words.WhyReads(diff, row.Reads), words.WhyReads(diff, bare), 1)
}

// bareCell returns a copy of a cell without its source; nil for nil.
func bareCell(cell *model.DiffCell) *model.DiffCell {
	if cell == nil {
		return nil
	}
	c := *cell
	c.Source, c.SourceTruncated = "", false
	return &c
}

// PlanWithoutSource returns a copy of a plan without the texts of the notebook.
func PlanWithoutSource(plan *model.Plan) *model.Plan {
	c := *plan
	c.Demands = list(plan.Demands)
	for i := range c.Demands {
		demand := &c.Demands[i]
		demand.At, demand.Next = barePlace(demand.At), barePlace(demand.Next)
		demand.Lines, demand.Untouched = bareLines(demand.Lines), bareLines(demand.Untouched)
		if demand.Together != nil {
			set := *demand.Together
			set.Lines, set.Then = bareLines(set.Lines), barePlace(set.Then)
			demand.Together = &set
		}
	}
	return &c
}

// bareLines returns a copy of lines without their sources.
func bareLines(lines []model.PlanLine) []model.PlanLine {
	lines = list(lines)
	for i := range lines {
		lines[i].Source, lines[i].Then = "", barePlace(lines[i].Then)
	}
	return lines
}

// barePlace returns a copy of a place without its source; nil for nil.
func barePlace(place *model.PlanPlace) *model.PlanPlace {
	if place == nil {
		return nil
	}
	c := *place
	c.Source = ""
	return &c
}

// AdviceWithoutSource returns a copy of advice without the texts of the notebook, and so without code to type.
func AdviceWithoutSource(advice *model.Advice) *model.Advice {
	c := *advice
	c.At = barePlace(advice.At)
	c.Items = list(advice.Items)
	for i := range c.Items {
		item := &c.Items[i]
		item.At.Source, item.Diff, item.Edits = "", "", []model.AdviceEdit{}
		item.Then = barePlace(item.Then)
	}
	return &c
}

// TrialWithoutSource returns a copy of a trial without the texts of the notebook and of its outputs.
func TrialWithoutSource(trial *model.Trial) *model.Trial {
	c := *trial
	c.Variants, c.Unstable = list(trial.Variants), bareDifferences(trial.Unstable)
	for i := range c.Variants {
		variant := &c.Variants[i]
		variant.Diff, variant.Differences, variant.Cells = "", bareDifferences(variant.Differences), list(variant.Cells)
		for j := range variant.Cells {
			variant.Cells[j].Source = ""
		}
	}
	return &c
}

// bareDifferences returns a copy of differences without the texts that differ.
func bareDifferences(differences []model.TrialDifference) []model.TrialDifference {
	differences = list(differences)
	for i := range differences {
		differences[i].What = ""
	}
	return differences
}
