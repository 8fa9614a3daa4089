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
	meters   map[string]int // the index of each meter in page.Meters, by id
	calls    *calls
	children int // children in the page so far
	dropped  int // rows without room
	omitted  int // tracks of the timeline without room
	thinned  int // points of the timeline without room
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

// hasRow reports whether a window has a row, and counts the window if it has none.
func (b *builder) hasRow(kind string, _, parent int) bool {
	_, ok := kinds[kind]
	switch {
	case !ok || b.isFull():
		b.dropped++
		return false
	case kind == model.Statement && b.choice.statements != nil && !b.choice.statements[parent]:
		b.page.Rows.Statements++
		return false
	}
	return true
}

// window adds the row of a window.
func (b *builder) window(w *model.Window) {
	kind, rows := kinds[w.Kind], &b.page.Rows
	row := len(rows.Kind)
	source, cut := 0, false
	if kind == kindCell { // a statement's source is a part of its cell's
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

// isFull reports whether the page has no room for another row.
func (b *builder) isFull() bool { return len(b.page.Rows.Kind) >= mostRows+mostStatements }

// between adds the row of a time between two cells, or counts the time if it has none.
func (b *builder) between(between *model.Between) {
	if b.isFull() {
		b.dropped++
		return
	}
	if !b.choice.resting && !moved(between) {
		b.page.Rows.Between++
		return
	}
	row := len(b.page.Rows.Kind)
	b.row(kindBetween, 0, 0, between.PID, 0, b.texts.name(between.Label), 0, 0, 0)
	b.times(between.StartNS, between.DurationNS, -1)
	remarks := model.Window{Note: between.Note, Refused: between.Refused}
	for _, remark := range text.Remarks(&remarks) {
		b.page.Rows.Remarks = append(b.page.Rows.Remarks, row, b.texts.name(remark))
	}
	b.figures(between.Meters)
}

// row begins a row: it adds a value to each column but those of times and figures.
func (b *builder) row(kind, id, parent, pid, execution, label, line, source, status int) {
	rows := &b.page.Rows
	rows.Kind, rows.ID = append(rows.Kind, kind), append(rows.ID, id)
	rows.Parent, rows.PID = append(rows.Parent, parent), append(rows.PID, pid)
	rows.Execution, rows.Label = append(rows.Execution, execution), append(rows.Label, label)
	rows.Line = append(rows.Line, line)
	rows.Source, rows.Status = append(rows.Source, source), append(rows.Status, status)
}

// times adds the times of the newest row, in nanoseconds; a cpu of -1 is not known.
func (b *builder) times(start, duration, cpu int64) {
	rows := &b.page.Rows
	rows.Start, rows.Duration = append(rows.Start, start), append(rows.Duration, duration)
	rows.CPU = append(rows.CPU, cpu)
	b.page.Length = max(b.page.Length, start+duration)
}

// figures adds the figures of the newest row.
func (b *builder) figures(figures map[string]model.Figure) {
	for i, m := range b.page.Meters {
		f, ok := figures[m.ID]
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

// offOf returns how far a figure can be off, in bytes: its bound, 0 if it is exact, or unknown.
func offOf(f model.Figure) int64 {
	switch {
	case f.Exact:
		return 0
	case f.Bound == nil || *f.Bound <= 0:
		return unknown
	}
	return *f.Bound
}

// add adds the figure of a meter, by its index, to a row.
func (t *trees) add(row, meter int, f model.Figure) {
	t.Row, t.Meter, t.Off = append(t.Row, row), append(t.Meter, meter), append(t.Off, offOf(f))
	t.Start, t.Need, t.Consumed = append(t.Start, f.Start), append(t.Need, f.Need()), append(t.Consumed, f.Consumed)
}

// packed returns the figures of a process as one list of numbers, five for each meter: its index, start, need, consumed
// and off.
func (b *builder) packed(figures map[string]model.Figure) []int64 {
	out := []int64{}
	for i, m := range b.page.Meters {
		if f, ok := figures[m.ID]; ok {
			out = append(out, int64(i), f.Start, f.Need(), f.Consumed, offOf(f))
		}
	}
	return out
}

// childrenOf adds the largest children of a window, and the number of the others.
func (b *builder) childrenOf(row int, w *model.Window) {
	const resident = "cpu.resident"
	children := slices.Clone(w.Children)
	slices.SortStableFunc(children, func(x, y model.Child) int {
		return cmp.Or(cmp.Compare(y.Meters[resident].Peak, x.Meters[resident].Peak), cmp.Compare(x.PID, y.PID))
	})
	shown := min(len(children), mostEach, max(0, mostChildren-b.children))
	b.children += shown
	for _, c := range children[:shown] {
		b.page.Rows.Children = append(b.page.Rows.Children, child{
			row, c.PID, b.texts.name(c.Command), b.packed(c.Meters),
		})
	}
	if more := len(children) - shown + w.ChildrenUnlisted; more > 0 {
		to := &b.page.Rows.Unlisted
		to.Row, to.More = append(to.Row, row), append(to.More, more)
	}
}

// trim removes the columns Off of meters whose figures are all exact.
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

// detail adds the allocations of a window, the largest at the peak of each meter.
func (b *builder) detail(row int, w *model.Window) {
	if b.r.Detail != nil {
		b.r.Detail(w)
	}
	byMeter := map[string][]model.Allocation{}
	for _, a := range w.Allocations {
		byMeter[a.Meter] = append(byMeter[a.Meter], a)
	}
	ids := slices.Collect(maps.Keys(byMeter))
	for id := range w.Coverage {
		if byMeter[id] == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		meter, known := b.meters[id]
		if !known {
			continue
		}
		coverage := w.Coverage[id]
		d := detail{
			Row: row, Meter: meter, Stacks: longs{}, AtPeak: coverage.AtPeak, Rest: coverage.Rest,
			Unlisted: coverage.Unlisted, UnlistedAtPeak: coverage.UnlistedAtPeak, Exact: coverage.Exact,
		}
		if coverage.Sampled > 0 {
			d.Sampled = words.SampledLines(coverage.Sampled, coverage.SampledError)
		}
		allocations := byMeter[id]
		slices.SortStableFunc(allocations, func(x, y model.Allocation) int {
			return cmp.Or(cmp.Compare(y.AtPeak, x.AtPeak), cmp.Compare(y.Allocated, x.Allocated))
		})
		shown := min(len(allocations), mostStacksEach, max(1, b.choice.each/len(ids)))
		for _, a := range allocations[:shown] {
			d.Stacks = append(d.Stacks, int64(b.calls.node(a.Stack)), a.AtPeak, a.Allocated, a.Freed, a.Count)
		}
		for _, a := range allocations[shown:] {
			d.More++
			d.MoreAtPeak += a.AtPeak
		}
		b.page.Meters[meter].Blocks = true
		b.page.Details = append(b.page.Details, d)
	}
}
