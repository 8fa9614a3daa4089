package plan

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"ipytracer/model"
)

// Bounds on the weighing.
const (
	maxCandidates = 32   // lines
	maxMoments    = 4096 // with shares that are kept apart
	maxSpikes     = 1 << 16
)

// moment is a high moment of the notebook: the peak of a statement, of a cell outside of its statements, or of the time
// between two cells.
type moment struct {
	peak   int64
	need   int64
	shares []int64 // of the candidates
	at     model.PlanPlace
	gap    bool // between two cells
}

// moments are the high moments. Of moments with equal shares they keep the highest one.
type moments struct {
	all  []moment
	at   map[string]int
	rest *moment // the moments without room: the highest peak, and the least memory of each line
}

// add adds a moment.
func (m *moments) add(one moment) {
	key := make([]byte, 0, 10*len(one.shares))
	for _, s := range one.shares {
		key = binary.AppendVarint(key, s)
	}
	if i, known := m.at[string(key)]; known {
		was := &m.all[i]
		switch {
		case one.peak <= was.peak:
		case isNextToNothing(one.need, one.peak) && isNextToNothing(one.peak-was.peak, one.peak):
			was.peak = one.peak // the memory rose in the earlier moment
		default:
			*was = one
		}
		return
	}
	if len(m.all) < maxMoments {
		m.at[string(key)] = len(m.all)
		m.all = append(m.all, one)
		return
	}
	if m.rest == nil {
		m.rest = &one
		return
	}
	shares := m.rest.shares
	for i := range shares {
		shares[i] = min(shares[i], one.shares[i])
	}
	if one.peak > m.rest.peak {
		*m.rest = one
	}
	m.rest.shares = shares
}

// spike is a time between two cells in which memory rose.
type spike struct {
	pid  int
	peak int64
}

// weighing weighs the lines for one demand, window by window.
type weighing struct {
	standing *standing
	least    int64 // moments that are lower do not matter
	spikes   map[int][]spike
	moments  moments
	stood    map[int]map[heldBy]int64 // by process, when its last cell was over

	cell    *moment // the current cell
	id      int
	highest int64            // of its statements
	running map[heldBy]int64 // memory that stands within it
}

// weigh computes by how much each demand would fall without some lines. It subtracts the lines' memory from every high
// moment, and takes the moment that is then the highest.
func (x *reader) weigh() {
	var all []*weighing
	for _, d := range x.run.demands {
		if len(d.top) > 0 && d.between <= d.top[0].peak {
			all = append(all, weighingOf(d, x.r.AllMeters()))
		}
	}
	if len(all) == 0 {
		return
	}
	x.findSpikes(all)
	for _, y := range all {
		y.addSpikes(0)
	}
	for w := range x.r.AllPassing() {
		if w.Kind != model.Cell && w.Kind != model.Statement {
			continue
		}
		detailed := false
		for _, y := range all {
			if !y.needsWindow(x, w) {
				continue
			}
			if !detailed && x.r.Detail != nil {
				x.r.Detail(w)
			}
			detailed = true
			y.add(w)
		}
	}
	for _, y := range all {
		y.finish()
		y.conclude(x)
	}
}

func weighingOf(d *demand, meters []string) *weighing {
	y := &weighing{standing: candidates(d, meters), spikes: map[int][]spike{}, stood: map[int]map[heldBy]int64{},
		moments: moments{at: map[string]int{}}}
	largest := slices.Sorted(slices.Values(y.standing.maxBytes))
	y.least = d.top[0].peak
	for _, bytes := range largest[max(0, len(largest)-maxNamedLines):] {
		y.least -= bytes
	}
	return y
}

// findSpikes records the times between cells in which memory rose. Other times between cells have only memory that the
// next cell has, too. It also records processes without cells, unless cells run in their descendants: the memory of a
// process that starts kernels does not depend on their lines.
func (x *reader) findSpikes(all []*weighing) {
	parents, ran := x.parents(), map[int]bool{}
	for _, c := range x.cells {
		ran[rootOf(parents, c.pid)] = true
	}
	left := maxSpikes
	for b := range x.r.AllBetweenPassing() {
		for _, y := range all {
			f := b.Meters[y.standing.d.rank]
			alone := b.Before == 0 && b.After == 0
			if f.Peak < y.least || f.Peaked < leastMapped && !alone || alone && ran[rootOf(parents, b.PID)] {
				continue
			}
			if left--; left < 0 { // without a place: suppose that no line has a part in it
				y.moments.add(moment{peak: f.Peak, shares: make([]int64, len(y.standing.lines)), gap: true})
				continue
			}
			y.spikes[b.After] = append(y.spikes[b.After], spike{b.PID, f.Peak})
		}
	}
}

// parents returns the parent of each process.
func (x *reader) parents() map[int]int {
	parents := map[int]int{}
	for i := range x.r.Processes {
		parents[x.r.Processes[i].PID] = x.r.Processes[i].Parent
	}
	return parents
}

// rootOf returns the attached process to whose tree a process belongs.
func rootOf(parents map[int]int, pid int) int {
	for range maxGenerations {
		if parent := parents[pid]; parent != 0 {
			pid = parent
		} else {
			break
		}
	}
	return pid
}

// maxGenerations bounds how far rootOf goes up.
const maxGenerations = 64

// needsWindow reports whether the weighing needs a window: a cell for its memory, a statement only in a high cell.
func (y *weighing) needsWindow(x *reader, w *model.Window) bool {
	if w.Kind == model.Statement {
		return y.cell != nil && w.Parent == y.id && y.cell.peak >= y.least
	}
	_, isNested := x.cells[w.Parent] // the outer cell includes a nested one
	return !isNested
}

// add adds the moment of a statement, or begins a cell.
func (y *weighing) add(w *model.Window) {
	f, _ := w.Together(y.standing.d.rank)
	l := y.standing.listing(w)
	if w.Kind == model.Statement {
		one := moment{peak: f.Peak, need: f.Need(), shares: y.standing.shares(w, l, y.running), at: y.cell.at}
		one.at.Line, one.at.Children = w.Line, childrenOf(w, y.standing.d.rank)
		y.standing.begin(l, y.running)
		y.standing.end(l, y.running)
		y.highest = max(y.highest, f.Peak)
		y.addMoment(one)
		return
	}
	y.finish()
	stood := y.stood[w.PID]
	if stood == nil {
		stood = map[heldBy]int64{}
		y.stood[w.PID] = stood
	}
	y.cell = &moment{peak: f.Peak, need: f.Need(), shares: y.standing.shares(w, l, stood),
		at: model.PlanPlace{PID: w.PID, Kernel: strings.Clone(w.Kernel), Execution: w.Execution,
			Children: childrenOf(w, y.standing.d.rank)}}
	if w.ExecutionCount != nil {
		y.cell.at.ExecutionCount = new(*w.ExecutionCount)
	}
	y.id, y.highest = w.ID, 0
	y.standing.begin(l, stood)
	y.running = maps.Clone(stood)
	y.standing.end(l, stood)
}

// finish ends the current cell: it adds the cell's own moment, if the cell was higher than its statements, and the time
// after it.
func (y *weighing) finish() {
	if y.cell == nil {
		return
	}
	if y.highest < y.cell.peak {
		y.addMoment(*y.cell)
	}
	y.cell = nil
	y.addSpikes(y.id)
}

// addSpikes adds the times after a cell; after 0 those before the first cell.
func (y *weighing) addSpikes(after int) {
	for _, s := range y.spikes[after] {
		shares := y.standing.shares(&model.Window{PID: s.pid}, &listing{}, y.stood[s.pid])
		y.addMoment(moment{peak: s.peak, shares: shares, gap: true})
	}
}

func (y *weighing) addMoment(one moment) {
	if one.peak >= y.least {
		y.moments.add(one)
	}
}

func childrenOf(w *model.Window, meter string) int64 {
	f, _ := w.Together(meter)
	return f.Peak - min(f.Peak, w.Meters[meter].Peak)
}

// conclude computes what each line saves by itself, and which lines save most together.
func (y *weighing) conclude(x *reader) {
	if y.moments.rest != nil {
		y.moments.all = append(y.moments.all, *y.moments.rest)
	}
	slices.SortStableFunc(y.moments.all, func(a, b moment) int { return cmp.Compare(b.peak, a.peak) })
	d := y.standing.d
	d.alone = map[place]outcome{}
	for i, at := range y.standing.lines {
		d.alone[at] = y.outcome(x, i)
	}
	d.set = y.best(x)
}
