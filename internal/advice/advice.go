// Package advice finds what to change in a notebook so that it needs less memory. It also finds how much lower the
// highest moment would be. It is pure: it runs nothing, and knows a notebook by its source and by what a session
// recorded.
//
// A rule looks for a pattern in the source, and for blocks at a high moment that calls on these lines made; either
// alone is no evidence. Rules are about names that hold memory longer than it is needed, IPython's history of outputs,
// functions of rows of pandas, NumPy's arrays (package arrays), and graphs of PyTorch.
package advice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ipytracer/internal/advice/arrays"
	"ipytracer/internal/advice/notebook"
	"ipytracer/internal/words"
	"ipytracer/model"
)

const (
	maxItems      = 10   // items that the advice lists
	maxCandidates = 4096 // candidates whose saving is computed
)

// Options choose what is judged.
type Options = notebook.Options

// allRules returns every rule of advice.
func allRules() []notebook.Rule {
	return []notebook.Rule{names, outputs, rowFunctions, arrays.Find, gradients, keptGraphs}
}

// Reading is the state of a session at the time of [Read]. Later events of the session do not change it.
type Reading struct {
	notebook *notebook.Notebook
	options  Options
}

// Read takes from a report what the rules need.
func Read(r *model.Report, o Options) *Reading {
	return &Reading{notebook.Read(r, o), o}
}

// Make returns the advice for a session.
func Make(r *model.Report, o Options) *model.Advice { return Read(r, o).Advice() }

// Advice returns the advice for the session. Any goroutine may call it.
func (x *Reading) Advice() *model.Advice { return x.byRules(allRules()) }

// byRules returns the advice that the given rules find.
func (x *Reading) byRules(rules []notebook.Rule) *model.Advice {
	n, o := x.notebook, x.options
	out := &model.Advice{Schema: model.AdviceSchema, Meter: n.Meter, Of: model.Session, Cells: len(n.Cells),
		Items: []model.AdviceItem{}, Unknown: []string{}}
	if o.Input > 0 {
		out.Of = model.Cell
	}
	out.Notebook = nameOf(n)
	out.Unknown = unknown(n)
	if c := &n.Report.Certificate; !c.Complete {
		out.Incomplete = slices.Clone(c.Incomplete)
	}
	if n.Peak == nil {
		return out
	}
	out.Peak, out.At = n.Peak.Peak, place(n.Peak)
	out.Exact = isPeakExact(n)
	found := weigh(n, rules)
	out.Left = max(0, len(found)-maxItems)
	for i, f := range found[:min(len(found), maxItems)] {
		out.Items = append(out.Items, item(n, i+1, f))
	}
	return out
}

// isPeakExact reports whether the height of the notebook's highest moment is an exact figure. In an incomplete session
// a higher moment may be missing.
func isPeakExact(n *notebook.Notebook) bool {
	if !n.Report.Certificate.Complete {
		return false
	}
	if n.Peak.Cell == nil {
		return true
	}
	window := n.Peak.Cell.Window
	if s := n.Peak.Statement; s != nil {
		window = s.Window
	}
	f, _ := n.Figure(window)
	return f.Exact
}

// weighed is a candidate with its saving, in bytes.
type weighed struct {
	notebook.Candidate
	saves int64            // how much lower the session's peak would be
	peak  int64            // the session's peak after the change
	then  *notebook.Moment // the highest moment after the change; nil if it is not known
	held  int64            // by how much the change lowers the moment that is the highest today
}

// weigh returns the candidates that save at least [notebook.Notebook.Least], the largest saving first.
func weigh(n *notebook.Notebook, rules []notebook.Rule) []weighed {
	var found []weighed
	for _, rule := range rules {
		for _, c := range rule(n) {
			if len(found) >= maxCandidates {
				break
			}
			w := weighed{Candidate: c, held: c.Falls(n.Peak)}
			if w.held < n.Least() {
				continue
			}
			w.peak, w.then = n.Without(c.Falls)
			if w.saves = n.Peak.Peak - w.peak; w.saves >= n.Least() {
				found = append(found, w)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b weighed) int {
		return cmp.Or(cmp.Compare(b.saves, a.saves), cmp.Compare(rank(a.Accuracy), rank(b.Accuracy)),
			cmp.Compare(b.held, a.held), cmp.Compare(a.Cell.Index, b.Cell.Index), cmp.Compare(a.Line, b.Line))
	})
	return withoutRepeats(found)
}

// rank orders accuracies: 0 is the best.
func rank(accuracy string) int {
	return slices.Index([]string{model.SavesExact, model.SavesBound, model.SavesGuess}, accuracy)
}

// withoutRepeats drops a candidate that repeats the kind, line and names of an earlier candidate. It moves a candidate
// to the end if an earlier candidate is about the same memory. The best candidates come first in found.
func withoutRepeats(found []weighed) []weighed {
	var first, sameMemory []weighed
	seenMemory, seenChange := map[string]bool{}, map[string]bool{}
	for _, f := range found {
		change := fmt.Sprint(f.Kind, f.Cell.Window.Execution, f.Line, f.Names)
		switch {
		case seenChange[change]:
		case f.Memory != "" && seenMemory[f.Memory]:
			sameMemory = append(sameMemory, f)
		default:
			first = append(first, f)
		}
		seenChange[change], seenMemory[f.Memory] = true, true
	}
	return append(first, sameMemory...)
}

// item returns a candidate as item number (from 1) of the advice.
func item(n *notebook.Notebook, number int, f weighed) model.AdviceItem {
	out := model.AdviceItem{Number: number, Kind: f.Kind, Names: f.Names, Title: f.Title, Saves: f.saves,
		Accuracy: accuracy(n, f.Accuracy), Peak: f.peak, Held: f.held, Edits: f.Edits, Diff: diff(n, f.Edits),
		Changes: append([]string{}, f.Changes...), Unknown: append([]string{}, f.Unknown...)}
	out.At = *f.Cell.Place(f.Line)
	out.At.Source = strings.TrimSpace(f.Cell.Line(f.Line))
	if f.then != nil {
		out.Then = place(f.then)
		if out.Then != nil {
			out.Then.Peak = f.peak
		}
	}
	if out.Edits == nil {
		out.Edits = []model.AdviceEdit{}
	} else {
		out.Edits = digested(n, out.Edits)
		out.Try = words.TryAdvice(nameOf(n), number)
	}
	return out
}

// accuracy returns the accuracy of a saving that a rule found: an incomplete session has bounds, but no exact savings.
func accuracy(n *notebook.Notebook, byRule string) string {
	if byRule == model.SavesExact && !n.Report.Certificate.Complete {
		return model.SavesBound
	}
	return byRule
}

// digested returns a copy of edits with the digests of their cells' sources. A truncated source has no digest.
func digested(n *notebook.Notebook, edits []model.AdviceEdit) []model.AdviceEdit {
	edits = slices.Clone(edits)
	for i := range edits {
		at := slices.IndexFunc(n.Cells, func(c *notebook.Cell) bool {
			return c.Window.Execution == edits[i].Execution
		})
		if at >= 0 && !n.Cells[at].Window.SourceTruncated {
			edits[i].SourceSHA256 = model.SourceDigest(n.Cells[at].Window.Source)
		}
	}
	return edits
}

// nameOf returns the notebook's path; "" if it is not known.
func nameOf(n *notebook.Notebook) string {
	for _, p := range n.Report.Processes {
		if p.PID == n.PID {
			return p.Notebook
		}
	}
	return ""
}

// place returns the cell and the line that ran at a moment; nil for a moment between two cells.
func place(moment *notebook.Moment) *model.PlanPlace {
	if moment.Cell == nil {
		return nil
	}
	line := 0
	if moment.Statement != nil {
		line = moment.Statement.Line
	}
	p := moment.Cell.Place(line)
	p.Peak, p.Source = moment.Peak, strings.TrimSpace(moment.Cell.Line(line))
	return p
}

// unknown returns a sentence for each kind of evidence that the session lacks.
func unknown(n *notebook.Notebook) (sentences []string) {
	unparsed, hasBlocks := 0, false
	for _, c := range n.Cells {
		if c.Tree == nil {
			unparsed++
		}
	}
	for _, m := range n.Moments {
		hasBlocks = hasBlocks || len(m.Live) > 0
	}
	if unparsed > 0 {
		sentences = append(sentences, words.CellsUnread(unparsed))
	}
	if n.Peak != nil && !hasBlocks {
		sentences = append(sentences, words.NoLinesForAdvice())
	}
	if len(n.Variables) == 0 {
		sentences = append(sentences, words.NoVariablesForAdvice())
	}
	if n.Dropped {
		sentences = append(sentences, words.NoRoomForAdvice())
	}
	return sentences
}

// names finds names that hold memory longer than the notebook needs it. It reads the uses of names once, for all three
// rules.
func names(n *notebook.Notebook) (found []notebook.Candidate) {
	if n.Peak == nil {
		return nil
	}
	l := livesOf(n)
	for _, rule := range []func(*lives) []notebook.Candidate{deletes, loops, locals} {
		found = append(found, rule(l)...)
	}
	return found
}
