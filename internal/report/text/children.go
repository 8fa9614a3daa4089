package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// maxChildren is the most listed children of one window.
const maxChildren = 8

// childTable is the table of the other processes of each cell, and for the session those that ran in no cell.
type childTable struct {
	v     processView
	t     *doc.Table
	still int // cells without a child worth a row
}

// processView shows the processes beside a cell, and those of a session without cells.
type processView struct{ *view }

// children shows them.
func (v processView) children() {
	seen := map[int]bool{}
	t := childTable{
		v: v, t: &doc.Table{Columns: []doc.Column{doc.Left("cell"), doc.Right("pid"), doc.Flex("process")}},
	}
	for i, id := range v.meters {
		t.t.Columns = append(t.t.Columns, doc.Bytes(words.Meter(id)).Drop(i).In("highest"))
	}
	for w := range v.r.AllPassing() {
		if w.Kind == model.Cell {
			t.add(w, w.Children)
			for _, c := range w.Children {
				seen[c.PID] = true
			}
		}
	}
	for w := range v.r.AllPassing() {
		if w.Kind == model.Session {
			t.add(w, slices.DeleteFunc(slices.Clone(w.Children), func(c model.Child) bool { return seen[c.PID] }))
		}
	}
	t.print()
}

// add adds the children of a window. Those with almost no memory in it, such as idle workers in most cells, share a
// row.
func (t *childTable) add(w *model.Window, children []model.Child) {
	if len(children) == 0 {
		return
	}
	took := slices.DeleteFunc(owned(children), func(c model.Child) bool { return !tookMemory(&c) })
	if len(took) == 0 && w.Kind == model.Cell {
		t.still++
		return
	}
	for _, r := range t.v.childRows(w, took, len(children)-len(took)) { // figures of all would be too much
		line := append(make([]doc.Span, 0, len(t.t.Columns)), r.lead...)
		for _, id := range t.v.meters {
			line = append(line, doc.FigureAt(words.Highest, r.figures, id))
		}
		t.t.Row(line)
	}
}

func (t *childTable) print() {
	if t.t.Len() == 0 && t.still == 0 {
		return
	}
	t.v.Heading("Child processes")
	if t.t.Len() > 0 {
		t.v.Prose("", doc.Dim("Highest point of each within the cell, without what a forked child shares with its "+
			"parent. The row of all together adds them up with the kernel's own memory, instant by instant: any other "+
			"page that several processes map counts once for each of them."))
		t.v.Blank()
		t.v.Table(t.t)
	}
	if t.still > 0 {
		t.v.Note("In %s the processes that lived took less than %s each.", words.Plural(t.still, "other cell"),
			words.Bytes(WorthShowing))
	}
}

// tookMemory reports whether a child's change is worth a row.
func tookMemory(c *model.Child) bool {
	for id, f := range c.Meters {
		if !words.IsPart(id) && max(f.Need(), f.Consumed, -f.Consumed) >= WorthShowing {
			return true
		}
	}
	return false
}

// childRows lists the heaviest children of one window, the number of idle ones, and the sum with all others.
func (v processView) childRows(w *model.Window, children []model.Child, idle int) []figureRow {
	weight := func(c model.Child) int64 { return c.Meters[v.first()].Peak }
	slices.SortStableFunc(children, func(a, b model.Child) int {
		return cmp.Or(cmp.Compare(weight(b), weight(a)), cmp.Compare(a.PID, b.PID))
	})
	var rows []figureRow
	label := doc.Bold(escape.Bounded(Label(*w), maxName))
	for _, c := range children[:min(maxChildren, len(children))] {
		rows = append(rows, figureRow{figures: maps.Clone(c.Meters),
			lead: []doc.Span{label, doc.Plain(fmt.Sprint(c.PID)), doc.Plain(escape.Bounded(c.Command, maxProse))}})
		label = doc.Span{}
	}
	more := func(n int, what string) {
		if n > 0 {
			rows = append(rows, figureRow{lead: doc.Spans("", "", doc.Dim("… and "+words.Count(uint64(n))+what))})
		}
	}
	more(len(children)-maxChildren, " smaller")
	more(idle, " that took less than "+words.Bytes(WorthShowing))
	if w.Kind == model.Cell {
		rows = append(rows, figureRow{figures: w.Figures(), lead: doc.Spans("", "", doc.Bold("all together"))})
	}
	return rows
}

// mostChildRows is the most children in the short report.
const mostChildRows = 4

// childrenShort shows the children that took memory in a cell, each once, in the cell with its largest need; the
// heaviest cells first. It folds idle ones.
func (v processView) childrenShort() {
	t := doc.NewTable(doc.Left("cell"), doc.Right("pid"), doc.Bytes("highest"), doc.Bytes("need"), doc.Flex("process"))
	listed, folded, most := map[int]bool{}, map[int]int64{}, mostOfTakers(v.ranked)
	for _, s := range v.ranked {
		if len(s.took) == 0 {
			continue
		}
		if t.Len() == mostChildRows {
			for _, c := range s.took {
				folded[c.pid] = max(folded[c.pid], c.peak)
			}
			continue
		}
		cell := v.fetch(s.id)
		children := slices.DeleteFunc(owned(cell.Children), func(c model.Child) bool {
			return v.needOf(c.Meters) < worthAGap || listed[c.PID] || v.needOf(c.Meters) < most[c.PID]
		})
		slices.SortStableFunc(children, func(a, b model.Child) int {
			return cmp.Or(cmp.Compare(v.needOf(b.Meters), v.needOf(a.Meters)), cmp.Compare(a.PID, b.PID))
		})
		label := doc.Bold(s.label)
		for _, c := range children {
			if t.Len() == mostChildRows {
				folded[c.PID] = max(folded[c.PID], c.Meters[v.first()].Peak)
				continue
			}
			listed[c.PID] = true
			t.Row(label, fmt.Sprint(c.PID), doc.FigureAt(words.Highest, c.Meters,
				v.first()), doc.FigureAt(words.Need, c.Meters, v.first()),
				childName(v.r, cell.PID, c.Command))
			label = doc.Span{}
		}
	}
	if t.Len() == 0 {
		return
	}
	v.Heading("Child processes, each where it needed most " + "(without what a forked child shares with its parent)")
	v.Table(t)
	foldChildren(v.Document, folded, listed, "%s that took memory, too")
	for pid := range most {
		listed[pid] = true // a child that took memory in one cell is not idle in another
	}
	foldChildren(v.Document, v.idle, listed, "%s that took less than "+words.Bytes(worthAGap)+" in every cell")
}

// owned returns children with figures of their own memory, without what forked ones share with their parents.
func owned(children []model.Child) (out []model.Child) {
	for _, c := range children {
		c.Meters, c.Shared = c.OwnMeters(), nil
		out = append(out, c)
	}
	return out
}

// foldChildren counts in a line the children without a row.
func foldChildren(to *doc.Document, all map[int]int64, listed map[int]bool, what string) {
	count, most := 0, int64(0)
	for pid, peak := range all {
		if !listed[pid] {
			count++
			most = max(most, peak)
		}
	}
	if count > 0 {
		to.Prose("",
			doc.Dim("… and "+fmt.Sprintf(what, words.Plural(count, "process"))+", at most "+words.Bytes(most)+" each."))
	}
}

// mostOfTakers returns the largest need of each child in any cell.
func mostOfTakers(ranked []stretch) map[int]int64 {
	most := map[int]int64{}
	for i := range ranked {
		for _, c := range ranked[i].took {
			most[c.pid] = max(most[c.pid], c.need)
		}
	}
	return most
}
