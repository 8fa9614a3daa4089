package notebook

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/internal/syntax"
	"ipytracer/model"
)

// Options choose what is judged.
type Options struct {
	// Meter is the judged meter; "" for the meter that is nearest to its limit.
	Meter string
	// PID is the judged kernel; 0 for the kernel with the highest peak.
	PID int
	// Input restricts the search for the highest moment to In[Input]; 0 searches the whole session.
	Input int
	// Room bounds the sites that moments keep, added up over all moments. 0 stands for four million: reading so many
	// takes some seconds.
	Room int
}

// reader builds a notebook from the windows of a report.
type reader struct {
	n        *Notebook
	o        Options
	sources  int           // bytes of all sources so far
	cells    map[int]*Cell // by the id of the window
	standing standing
	current  *Cell
	own      *Moment // the moment of the current cell's window
	top      *Moment // the highest moment of the current cell's statements; nil before the first
	order    int
	highest  int64                // the highest value of the meter in a cell
	betweens map[int]model.Figure // the time behind a cell, by the id of its window
}

// Read returns the notebook of a report. It reads the windows twice: for cells and statements, and for moments.
func Read(r *model.Report, o Options) *Notebook {
	n := &Notebook{Report: r, Meter: o.Meter, PID: o.PID, sites: map[string]*Site{},
		byNumber: map[int]*Cell{}, maxEntries: cmp.Or(o.Room, maxEntries)}
	if n.Meter == "" {
		n.Meter = judged(r)
	}
	if n.PID == 0 {
		n.PID = highest(r, n.Meter)
	}
	n.chosen = func(m *Moment) bool { return true }
	if o.Input > 0 {
		n.chosen = func(m *Moment) bool {
			return m.Cell != nil && m.Cell.Window.ExecutionCount != nil && *m.Cell.Window.ExecutionCount == o.Input
		}
	}
	for _, v := range r.Variables {
		if v.PID == n.PID {
			n.Variables = append(n.Variables, v)
		}
	}
	x := &reader{n: n, o: o, cells: map[int]*Cell{}}
	x.standing = newStanding(n)
	x.open()
	x.measure()
	n.prune()
	slices.SortStableFunc(n.Moments, func(a, b *Moment) int { return cmp.Compare(a.Order, b.Order) })
	for _, m := range n.Moments {
		if n.chosen(m) {
			n.highest = append(n.highest, m)
		}
	}
	slices.SortStableFunc(n.highest, func(a, b *Moment) int { return cmp.Compare(b.Peak, a.Peak) })
	if len(n.highest) > 0 {
		n.Peak = n.summit()
	}
	return n
}

// judged returns the meter by which the report ranks cells. Instead of a GPU's driver it returns the meter of PyTorch's
// tensors if the report has one: code can free tensors.
func judged(r *model.Report) string {
	meter := r.Ranking(r.Nearest())
	if gpu, ok := strings.CutSuffix(meter, ".driver"); ok && strings.HasPrefix(meter, "gpu.") {
		if slices.Contains(r.AllMeters(), gpu+".active") {
			return gpu + ".active"
		}
	}
	return cmp.Or(meter, "cpu.resident")
}

// highest returns the PID of the process whose cells have the highest peak; 0 if no process has cells.
func highest(r *model.Report, meter string) (pid int) {
	most := int64(-1)
	for w := range r.Picked(model.IsCell) {
		if f, _ := w.Together(meter); f.Peak > most {
			most, pid = f.Peak, w.PID
		}
	}
	return pid
}

// open makes the cells and their statements.
func (x *reader) open() {
	for w := range x.n.Report.Picked(x.mayOpen) {
		if w.PID != x.n.PID {
			continue
		}
		switch w.Kind {
		case model.Cell:
			x.openCell(w)
		case model.Statement:
			x.openStatement(w)
		}
	}
	for _, c := range x.n.Cells {
		if len(c.Statements) > 0 {
			c.Last = c.Statements[len(c.Statements)-1].Order
		}
	}
}

// mayOpen reports whether open may make a cell or a statement of a window.
func (x *reader) mayOpen(kind string, _, parent int) bool {
	switch kind {
	case model.Cell:
		return !x.n.Dropped || len(x.n.Cells) < maxCells
	case model.Statement:
		return x.cells[parent] != nil
	}
	return false
}

func (x *reader) openCell(w *model.Window) {
	if x.cells[w.Parent] != nil { // a cell within a cell: the figures of the outer cell include it
		return
	}
	if len(x.n.Cells) >= maxCells {
		x.n.Dropped = true
		return
	}
	x.order++
	f, _ := x.n.Figure(w)
	x.highest = max(x.highest, f.Peak)
	c := &Cell{Window: kept(w), Index: len(x.n.Cells), First: x.order, Last: x.order}
	if x.sources += len(w.Source); len(w.Source) <= maxSource && x.sources <= maxSources && !w.SourceTruncated {
		c.Lines = linesOf(c.Window.Source)
		if tree, err := syntax.Parse(c.Window.Source); err == nil {
			c.Tree = folded(tree)
		}
	} else {
		c.Window.Source = ""
	}
	x.cells[w.ID], x.n.byNumber[w.Execution] = c, c
	x.n.Cells = append(x.n.Cells, c)
}

func (x *reader) openStatement(w *model.Window) {
	c := x.cells[w.Parent]
	if c == nil || w.Line == 0 {
		return
	}
	if len(x.n.Statements) >= maxStatements {
		x.n.Dropped = true
		return
	}
	x.order++
	s := &Statement{Cell: c, Window: kept(w), Order: x.order, Line: w.Line}
	s.Node = c.node(w.Line, len(c.Statements))
	c.Statements = append(c.Statements, s)
	x.n.Statements = append(x.n.Statements, s)
}

// node returns the syntax tree of the statement on a line; nil if there is none. ran is the number of the cell's
// statements that have run. If several statements are on the line, node returns the one behind the last that ran.
func (c *Cell) node(line, ran int) syntax.Stmt {
	if c.Tree == nil {
		return nil
	}
	var found syntax.Stmt
	for _, stmt := range c.Tree.Body {
		p := stmt.Place()
		if p.Start.Line > line {
			break
		}
		if p.End.Line < line {
			continue
		}
		found = stmt
		if ran == 0 || c.Statements[ran-1].Node == nil ||
			c.Statements[ran-1].Node.Place().Start.Offset < p.Start.Offset {
			break
		}
	}
	return found
}

// kept returns a copy of a window without its allocations. The copy shares no memory with the stream that w comes from.
func kept(w *model.Window) *model.Window {
	out := *w
	out.Source, out.Kernel, out.Name = strings.Clone(w.Source), strings.Clone(w.Kernel), strings.Clone(w.Name)
	out.Meters, out.Tree = map[string]model.Figure{}, map[string]model.Figure{}
	for id, f := range w.Meters {
		out.Meters[id] = f
	}
	for id, f := range w.Tree {
		out.Tree[id] = f
	}
	if w.ExecutionCount != nil {
		out.ExecutionCount = new(*w.ExecutionCount)
	}
	out.Allocations, out.Coverage, out.Children = nil, nil, nil
	return &out
}

// measure makes the moments.
func (x *reader) measure() {
	statements := map[int]*Statement{}
	x.betweens = map[int]model.Figure{}
	for b := range x.n.Report.AllBetweenPassing() {
		if b.PID == x.n.PID && b.After > 0 && x.cells[b.After] != nil {
			x.betweens[b.After] = b.Meters[x.n.Meter]
		}
	}
	for _, s := range x.n.Statements {
		statements[s.Window.ID] = s
	}
	isRead := func(_ string, id, _ int) bool { return x.cells[id] != nil || statements[id] != nil }
	for w := range x.n.Report.Picked(isRead) {
		c, s := x.cells[w.ID], statements[w.ID]
		if x.n.Report.Detail != nil {
			x.n.Report.Detail(w)
		}
		if c != nil {
			x.measureCell(c, w)
		} else if s.Cell == x.current {
			x.measureStatement(s, w)
		}
	}
	x.finish()
}

func (x *reader) measureCell(c *Cell, w *model.Window) {
	x.finish()
	f, _ := x.n.Figure(w)
	if c.Index == 0 {
		x.n.Base = f.Start
	}
	l := x.standing.listing(w)
	m := x.standing.momentOf(l, f.Peak < x.highest/4)
	m.Cell, m.Order, m.Start, m.Peak, m.End = c, c.Last, f.Start, f.Peak, f.End
	x.current, x.own, x.top = c, m, nil
	x.standing.enterCell(l)
}

func (x *reader) measureStatement(s *Statement, w *model.Window) {
	f, ok := x.n.Figure(w)
	l := x.standing.listing(w)
	if ok {
		m := x.standing.momentOf(l, f.Peak < x.highest/4)
		m.Cell, m.Statement, m.Order = s.Cell, s, s.Order
		m.Start, m.Peak, m.End = f.Start, f.Peak, f.End
		s.Moment = m
		if x.top == nil || m.Peak > x.top.Peak {
			x.top = m
		}
		x.n.add(m)
	}
	x.standing.passStatement(l)
}

// finish ends the current cell. If the cell was higher than its statements, it adds the cell's own moment. If the time
// behind the cell was higher still, it adds a moment of that time.
func (x *reader) finish() {
	c := x.current
	if c == nil {
		return
	}
	x.current = nil
	x.standing.leaveCell()
	highest := x.top
	if x.top == nil || x.own.Peak > x.top.Peak {
		highest = x.addHigher(x.top, x.own)
		if highest == x.own {
			c.Moment = x.own
		}
	}
	between, known := x.betweens[c.Window.ID]
	if known && between.Peak > highest.Peak {
		behind := &Moment{Order: c.Last, Start: between.Start, Peak: between.Peak, End: between.End,
			Live: x.standing.snapshot()}
		x.addHigher(highest, behind)
	}
}

// addHigher adds the moment higher, and returns it. If higher exceeds m by next to nothing, it gives m the new height
// instead, and returns m. m may be nil.
func (x *reader) addHigher(m, higher *Moment) *Moment {
	if m != nil && higher.Peak-m.Peak < higher.Peak/nextToNothing {
		m.Peak = higher.Peak
		return m
	}
	x.n.add(higher)
	return higher
}

// add keeps a moment if it is among the highest.
func (n *Notebook) add(m *Moment) {
	n.Moments = append(n.Moments, m)
	if len(n.Moments) < 2*maxMoments {
		return
	}
	n.prune()
}

// prune keeps the highest moments.
func (n *Notebook) prune() {
	if len(n.Moments) <= maxMoments {
		return
	}
	slices.SortStableFunc(n.Moments, func(a, b *Moment) int { return cmp.Compare(b.Peak, a.Peak) })
	for _, m := range n.Moments[maxMoments:] {
		n.unlisted = max(n.unlisted, m.Peak)
		if m.Statement != nil {
			m.Statement.Moment = nil
		}
		if m.Cell != nil && m.Cell.Moment == m {
			m.Cell.Moment = nil
		}
	}
	clear(n.Moments[maxMoments:])
	n.Moments = n.Moments[:maxMoments]
	slices.SortStableFunc(n.Moments, func(a, b *Moment) int { return cmp.Compare(a.Order, b.Order) })
}
