package text

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// maxChildren is the most listed children of one window.
const maxChildren = 8

// childTable is the table of the other processes of each cell, and for the session those that ran in no cell.
type childTable struct {
	v     processView
	t     table
	still int // cells without a child worth a row
}

// processView shows the processes beside a cell, and those of a session without cells.
type processView struct{ *view }

// children shows them.
func (v processView) children() {
	seen := map[int]bool{}
	t := childTable{
		v: v, t: table{columns: []column{{title: "cell"}, {title: "pid", right: true}, {title: "process", flex: true}}},
	}
	for i, id := range v.meters {
		t.t.columns = append(t.t.columns, column{
			title: meterName(id), right: true, drop: i, group: "highest", size: usualSize,
		})
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
		line := append(make([]span, 0, len(t.t.columns)), r.lead...)
		for _, id := range t.v.meters {
			line = append(line, highest.show(r.figures, id))
		}
		t.t.rows = append(t.t.rows, row{cells: line})
	}
}

func (t *childTable) print() {
	if len(t.t.rows) == 0 && t.still == 0 {
		return
	}
	t.v.title("Child processes")
	if len(t.t.rows) > 0 {
		t.v.prose("",
			span{"Highest point of each within the cell, without what a forked child shares with its parent. The row " +
				"of all together adds them up with the kernel's own memory, instant by instant: any other page that " +
				"several processes map counts once for each of them.", dim})
		t.v.blank()
		t.t.print(t.v.printer)
	}
	if t.still > 0 {
		t.v.prose("", span{
			fmt.Sprintf("In %s the processes that lived took less than %s each.",
				words.Plural(t.still, "other cell"), words.Bytes(worthShowing)),
			dim,
		})
	}
}

// tookMemory reports whether a child's change is worth a row.
func tookMemory(c *model.Child) bool {
	for id, f := range c.Meters {
		if !words.IsPart(id) && max(f.Need(), f.Consumed, -f.Consumed) >= worthShowing {
			return true
		}
	}
	return false
}

// childRows lists the heaviest children of one window, the number of idle ones, and the sum with all others.
func (v processView) childRows(w *model.Window, children []model.Child, idle int) []figureRow {
	weight := func(c model.Child) int64 {
		if len(v.meters) == 0 {
			return 0
		}
		return c.Meters[v.meters[0]].Peak
	}
	slices.SortStableFunc(children, func(a, b model.Child) int {
		return cmp.Or(cmp.Compare(weight(b), weight(a)), cmp.Compare(a.PID, b.PID))
	})
	var rows []figureRow
	label := span{escape.Bounded(label(*w), maxName), bold}
	for _, c := range children[:min(maxChildren, len(children))] {
		rows = append(rows, figureRow{figures: maps.Clone(c.Meters),
			lead: []span{label, {fmt.Sprint(c.PID), plain}, {escape.Bounded(c.Command, maxProse), plain}}})
		label = span{}
	}
	more := func(n int, what string) {
		if n > 0 {
			rows = append(rows, figureRow{lead: []span{{}, {}, {"… and " + words.Count(uint64(n)) + what, dim}}})
		}
	}
	more(len(children)-maxChildren, " smaller")
	more(idle, " that took less than "+words.Bytes(worthShowing))
	if w.Kind == model.Cell {
		rows = append(rows, figureRow{figures: w.Figures(), lead: []span{{}, {}, {"all together", bold}}})
	}
	return rows
}
