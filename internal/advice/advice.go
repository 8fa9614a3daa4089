// Package advice finds what to change in a notebook so that it needs less memory, and how much lower its highest moment
// would be. It is pure: it runs nothing, and knows a notebook by its source and by what a session recorded.
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

// Bounds on the list.
const (
	maxItems = 10
	// maxCandidates bounds the candidates that are weighed.
	maxCandidates = 4096
)

// Options choose what is judged.
type Options = notebook.Options

// rules are all of them.
func rules() []notebook.Rule {
	return []notebook.Rule{names, outputs, rowFunctions, arrays.Find, gradients, keptGraphs}
}

// Reading is a session that has been read. It does not change when the session goes on.
type Reading struct {
	notebook *notebook.Notebook
	options  Options
}

// Read reads a session.
func Read(r *model.Report, o Options) *Reading {
	return &Reading{notebook.Read(r, o), o}
}

// Make returns the advice for a session.
func Make(r *model.Report, o Options) *model.Advice { return Read(r, o).Advice() }

// Advice returns the advice for the session. Any goroutine may call it.
func (x *Reading) Advice() *model.Advice { return x.by(rules()) }

// by returns the advice of some rules.
func (x *Reading) by(rules []notebook.Rule) *model.Advice {
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
	out.Exact = exact(n)
	found := weigh(n, rules)
	out.Left = max(0, len(found)-maxItems)
	for i, f := range found[:min(len(found), maxItems)] {
		out.Items = append(out.Items, item(n, i+1, f))
	}
	return out
}

// exact reports whether the figure of the highest moment is. Where windows or changes are missing, a higher moment may
// be.
func exact(n *notebook.Notebook) bool {
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

// weighed is a candidate with its saving.
type weighed struct {
	notebook.Candidate
	saves, peak, held int64
	then              *notebook.Moment
}

// weigh returns the candidates that save enough, the most first.
func weigh(n *notebook.Notebook, all []notebook.Rule) []weighed {
	var found []weighed
	for _, rule := range all {
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
	return once(found)
}

// rank orders accuracies.
func rank(accuracy string) int {
	return slices.Index([]string{model.SavesExact, model.SavesBound, model.SavesGuess}, accuracy)
}

// once puts candidates about memory that a better candidate is about behind the others, and drops those that are the
// same kind about the same line.
func once(found []weighed) []weighed {
	var first, behind []weighed
	about, same := map[string]bool{}, map[string]bool{}
	for _, f := range found {
		key := fmt.Sprint(f.Kind, f.Cell.Window.Execution, f.Line, f.Names)
		switch {
		case same[key]:
		case f.Of != "" && about[f.Of]:
			behind = append(behind, f)
		default:
			first = append(first, f)
		}
		same[key], about[f.Of] = true, true
	}
	return append(first, behind...)
}

// item returns a candidate as a piece of advice.
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

// accuracy returns how well a saving is known: nothing is exact in a session that is not known in full.
func accuracy(n *notebook.Notebook, accuracy string) string {
	if accuracy == model.SavesExact && !n.Report.Certificate.Complete {
		return model.SavesBound
	}
	return accuracy
}

// digested returns edits with the digests of their cells' sources.
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

// place returns the place of a moment.
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

// unknown returns sentences about matters that no rule could consider.
func unknown(n *notebook.Notebook) (all []string) {
	trees, traced := 0, false
	for _, c := range n.Cells {
		if c.Tree == nil {
			trees++
		}
	}
	for _, m := range n.Moments {
		traced = traced || len(m.Live) > 0
	}
	if trees > 0 {
		all = append(all, words.CellsUnread(trees))
	}
	if n.Peak != nil && !traced {
		all = append(all, words.NoLinesForAdvice())
	}
	if len(n.Variables) == 0 {
		all = append(all, words.NoVariablesForAdvice())
	}
	if n.Dropped {
		all = append(all, words.NoRoomForAdvice())
	}
	return all
}

// names finds names that hold memory longer than the notebook needs it. Its rules share what they know of the source.
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
