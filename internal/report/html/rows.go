package html

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"ipytracer/internal/report/text"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Kinds of rows.
const (
	kindSession = iota
	kindExperiment
	kindCell
	kindStatement
	kindBetween
)

var kinds = map[string]int{
	model.Session: kindSession, model.Experiment: kindExperiment, model.Cell: kindCell, model.Statement: kindStatement,
}

// builder makes the data of a page.
type builder struct {
	r        *model.Report
	choice   *choice
	texts    *texts
	sources  *tableOfSources
	page     *page
	meters   map[string]int
	calls    *calls
	children int
	dropped  int // rows without room
	omitted  int // tracks of the timeline without room
	thinned  int // its points without room
}

// emptyRows returns rows in which no list is nil, which would be null in JSON.
func emptyRows() rows {
	none, long := ints{}, longs{}
	return rows{
		Kind: none, ID: none, Parent: none, PID: none, Execution: none, Label: none, Line: none, Source: none,
		Cut: none, Status: none, Start: long, Duration: long, CPU: long,
		Remarks: none, Figures: []figure{}, Trees: trees{none, none, long, long, long, long}, Children: []child{},
		Unlisted: unlisted{none, none},
	}
}

// window adds the row of a window, if it has one.
func (b *builder) window(w *model.Window) {
	kind, ok := kinds[w.Kind]
	switch {
	case !ok || b.isFull():
		b.dropped++
		return
	case kind == kindStatement && b.choice.statements != nil && !b.choice.statements[w.Parent]:
		b.page.Rows.Statements++
		return
	}
	rows := &b.page.Rows
	row := len(rows.Kind)
	source, cut := 0, false
	if kind == kindCell { // a statement's is in its cell's
		source, cut = b.sources.add(w.Source, b.choice.detailed[w.ID])
		cut = cut || w.SourceTruncated
	}
	status := ""
	if w.Status != model.OK {
		status = w.Status
		if w.Error != "" {
			status += ": " + w.Error
		}
	}
	b.row(kind, w.ID, w.Parent, w.PID, w.Execution, b.texts.name(label(w)), w.Line, source, b.texts.name(status))
	b.times(w.StartNS, w.DurationNS, w.CPUNS)
	if cut {
		rows.Cut = append(rows.Cut, row)
	}
	for _, remark := range text.Remarks(w) {
		rows.Remarks = append(rows.Remarks, row, b.texts.name(remark))
	}
	b.figures(w.Meters)
	for i, m := range b.page.Meters {
		if f, ok := w.Tree[m.ID]; ok {
			rows.Trees.add(row, i, f)
		}
	}
	b.childrenOf(row, w)
	if kind == kindCell && b.choice.detailed[w.ID] {
		b.detail(row, w)
	}
}

func (b *builder) isFull() bool { return len(b.page.Rows.Kind) >= mostRows+mostStatements }

// between adds the row of a time between two cells.
func (b *builder) between(one *model.Between) {
	if b.isFull() {
		b.dropped++
		return
	}
	if !b.choice.resting && !moved(one) {
		b.page.Rows.Between++
		return
	}
	row := len(b.page.Rows.Kind)
	b.row(kindBetween, 0, 0, one.PID, 0, b.texts.name(one.Label), 0, 0, 0)
	b.times(one.StartNS, one.DurationNS, -1)
	remarks := model.Window{Note: one.Note, Refused: one.Refused}
	for _, remark := range text.Remarks(&remarks) {
		b.page.Rows.Remarks = append(b.page.Rows.Remarks, row, b.texts.name(remark))
	}
	b.figures(one.Meters)
}

func (b *builder) row(kind, id, parent, pid, execution, label, line, source, status int) {
	rows := &b.page.Rows
	rows.Kind, rows.ID = append(rows.Kind, kind), append(rows.ID, id)
	rows.Parent, rows.PID = append(rows.Parent, parent), append(rows.PID, pid)
	rows.Execution, rows.Label = append(rows.Execution, execution), append(rows.Label, label)
	rows.Line = append(rows.Line, line)
	rows.Source, rows.Status = append(rows.Source, source), append(rows.Status, status)
}

func (b *builder) times(start, duration, cpu int64) {
	rows := &b.page.Rows
	rows.Start, rows.Duration = append(rows.Start, start), append(rows.Duration, duration)
	rows.CPU = append(rows.CPU, cpu)
	b.page.Length = max(b.page.Length, start+duration)
}

// figures adds the figures of the newest row.
func (b *builder) figures(of map[string]model.Figure) {
	for i, m := range b.page.Meters {
		f, ok := of[m.ID]
		column := &b.page.Rows.Figures[i]
		column.Start, column.Need = append(column.Start, f.Start), append(column.Need, f.Need())
		column.Consumed = append(column.Consumed, f.Consumed)
		off := offOf(f)
		if !ok {
			off = absent
		}
		column.Off = append(column.Off, off)
	}
}

// offOf returns how far a figure can be off.
func offOf(f model.Figure) int64 {
	switch {
	case f.Exact:
		return 0
	case f.Bound == nil || *f.Bound <= 0:
		return unknown
	}
	return *f.Bound
}

func (t *trees) add(row, meter int, f model.Figure) {
	t.Row, t.Meter, t.Off = append(t.Row, row), append(t.Meter, meter), append(t.Off, offOf(f))
	t.Start, t.Need, t.Consumed = append(t.Start, f.Start), append(t.Need, f.Need()), append(t.Consumed, f.Consumed)
}

// packed adds a figure to a list of numbers.
func packed(to []int64, meter int, f model.Figure) []int64 {
	return append(to, int64(meter), f.Start, f.Need(), f.Consumed, offOf(f))
}

// allPacked returns the figures of a process.
func (b *builder) allPacked(of map[string]model.Figure) []int64 {
	out := []int64{}
	for i, m := range b.page.Meters {
		if f, ok := of[m.ID]; ok {
			out = packed(out, i, f)
		}
	}
	return out
}

// childrenOf adds the largest children of a window.
func (b *builder) childrenOf(row int, w *model.Window) {
	all := slices.Clone(w.Children)
	slices.SortStableFunc(all, func(x, y model.Child) int {
		return cmp.Or(cmp.Compare(y.Meters["cpu.resident"].Peak, x.Meters["cpu.resident"].Peak),
			cmp.Compare(x.PID, y.PID))
	})
	room := min(len(all), mostEach, max(0, mostChildren-b.children))
	b.children += room
	for _, c := range all[:room] {
		b.page.Rows.Children = append(b.page.Rows.Children, child{
			row, c.PID, b.texts.name(c.Command), b.allPacked(c.Meters),
		})
	}
	if more := len(all) - room + w.ChildrenUnlisted; more > 0 {
		to := &b.page.Rows.Unlisted
		to.Row, to.More = append(to.Row, row), append(to.More, more)
	}
}

// trim removes the columns that only say that every figure is exact.
func (r *rows) trim() {
	for i := range r.Figures {
		if !slices.ContainsFunc(r.Figures[i].Off, func(off int64) bool { return off != 0 }) {
			r.Figures[i].Off = nil
		}
	}
}

// label returns the name of a window for people: In[3], an experiment's name, line 7.
func label(w *model.Window) string {
	switch {
	case w.Kind == model.Session:
		return "session"
	case w.Kind == model.Experiment:
		return w.Name
	case w.Kind == model.Statement && w.Line == 0 && w.Name != "":
		return w.Name
	case w.Kind == model.Statement:
		return fmt.Sprintf("line %d", w.Line)
	case w.ExecutionCount == nil || w.Silent:
		return text.CellName(w) + words.OfKernel(w.Kernel)
	}
	return words.In(*w.ExecutionCount) + words.OfKernel(w.Kernel)
}

// Bounds of the lists in a page.
const (
	mostLines     = 600
	mostVariables = 300
	mostTensors   = 100
	mostProcesses = 200
	mostVerdicts  = 200
	mostHeld      = 100
	mostReasons   = 100
)

// detail adds the allocations of a window.
func (b *builder) detail(row int, w *model.Window) {
	if b.r.Detail != nil {
		b.r.Detail(w)
	}
	of := map[string][]model.Allocation{}
	for _, a := range w.Allocations {
		of[a.Meter] = append(of[a.Meter], a)
	}
	ids := slices.Collect(maps.Keys(of))
	for id := range w.Coverage {
		if of[id] == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		meter, known := b.meters[id]
		if !known {
			continue
		}
		cover := w.Coverage[id]
		d := detail{
			Row: row, Meter: meter, Stacks: longs{}, AtPeak: cover.AtPeak, Rest: cover.Rest, Unlisted: cover.Unlisted,
			UnlistedAtPeak: cover.UnlistedAtPeak, Exact: cover.Exact,
		}
		if cover.Sampled > 0 {
			d.Sampled = words.SampledLines(cover.Sampled)
		}
		all := of[id]
		slices.SortStableFunc(all, func(x, y model.Allocation) int {
			return cmp.Or(cmp.Compare(y.AtPeak, x.AtPeak), cmp.Compare(y.Allocated, x.Allocated))
		})
		room := min(len(all), mostStacksEach, max(1, b.choice.each/len(ids)))
		for _, a := range all[:room] {
			d.Stacks = append(d.Stacks, int64(b.calls.node(a.Stack)), a.AtPeak, a.Allocated, a.Freed, a.Count)
		}
		for _, a := range all[room:] {
			d.More++
			d.MoreAtPeak += a.AtPeak
		}
		b.page.Meters[meter].Blocks = true
		b.page.Details = append(b.page.Details, d)
	}
}
