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

// childTable is the table of the child processes of each cell. Children that ran in no cell stand under the session.
type childTable struct {
	v     processView
	t     *doc.Table
	still int // cells with children, none of which is worth a row
}

// processView shows the children beside each cell, and the processes of a session without cells.
type processView struct{ *view }

// children shows every child process under the cells in which it took memory.
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

// add adds the children of a window. Children that took almost no memory in it, such as idle workers, share a row.
func (t *childTable) add(w *model.Window, children []model.Child) {
	if len(children) == 0 {
		return
	}
	took := slices.DeleteFunc(owned(children), func(c model.Child) bool { return !tookMemory(&c) })
	if len(took) == 0 && w.Kind == model.Cell {
		t.still++
		return
	}
	for _, r := range t.v.childRows(w, took, len(children)-len(took)) {
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

// tookMemory reports whether a child's memory changed enough in a window to be worth a row.
func tookMemory(c *model.Child) bool {
	for id, f := range c.Meters {
		if !words.IsPart(id) && max(f.Need(), f.Consumed, -f.Consumed) >= WorthShowing {
			return true
		}
	}
	return false
}

// childRows returns rows for the heaviest children of one window, for the number of smaller and of idle ones, and for a
// cell's figures with all its children.
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

// childrenShort shows the children that took memory, each once, in the cell in which it needed most; the heaviest cells
// come first. Children without a row are counted in a line.
func (v processView) childrenShort() {
	t := doc.NewTable(doc.Left("cell"), doc.Right("pid"), doc.Bytes("highest"), doc.Bytes("need"), doc.Flex("process"))
	listed, folded, largestNeed := map[int]bool{}, map[int]int64{}, largestNeeds(v.ranked)
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
			return v.needOf(c.Meters) < worthAGap || listed[c.PID] || v.needOf(c.Meters) < largestNeed[c.PID]
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
			t.Row(label, fmt.Sprint(c.PID), doc.FigureAt(words.Highest, c.Meters, v.first()),
				doc.FigureAt(words.Need, c.Meters, v.first()), childName(v.r, cell.PID, c.Command))
			label = doc.Span{}
		}
	}
	if t.Len() == 0 {
		return
	}
	v.Heading("Child processes, each where it needed most " + "(without what a forked child shares with its parent)")
	v.Table(t)
	foldChildren(v.Document, folded, listed, "%s that took memory, too")
	for pid := range largestNeed {
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

// foldChildren writes a line about the children that are not listed: their number and their highest peak. peaks are by
// process; what is a format such as "%s that took memory, too".
func foldChildren(to *doc.Document, peaks map[int]int64, listed map[int]bool, what string) {
	count, most := 0, int64(0)
	for pid, peak := range peaks {
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

// largestNeeds returns, by process, the largest need that a child had in a cell.
func largestNeeds(ranked []stretch) map[int]int64 {
	needs := map[int]int64{}
	for i := range ranked {
		for _, c := range ranked[i].took {
			needs[c.pid] = max(needs[c.pid], c.need)
		}
	}
	return needs
}
