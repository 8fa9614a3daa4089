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

// moment is a time at which a notebook may be at its highest: the peak of a statement, of a cell outside of its
// statements, or of the time between two cells.
type moment struct {
	peak   int64
	need   int64
	shares []int64 // of the candidates
	at     model.PlanPlace
	gap    bool // between two cells
}

// moments are those that are high enough to matter, each set of shares once.
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
			was.peak = one.peak // it belongs to the one before
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

// spike is a time between two cells that rose on its own.
type spike struct {
	pid  int
	peak int64
}

// weighing goes through the windows for one demand.
type weighing struct {
	s       *standing
	least   int64 // moments that are lower do not matter
	spikes  map[int][]spike
	moments moments
	stood   map[int]map[heldBy]int64 // by process, when its last cell was over

	cell    *moment // the current cell
	id      int
	highest int64            // of its statements
	running map[heldBy]int64 // memory that stands within it
}

// weigh finds out how much lower each demand would be without some lines: it subtracts their memory from every high
// moment, and looks for the moment that is then the highest.
func (x *reader) weigh() {
	var all []*weighing
	for _, d := range x.run.demands {
		if len(d.top) > 0 && d.gap <= d.top[0].peak {
			all = append(all, weighingOf(d, x.r.AllMeters()))
		}
	}
	if len(all) == 0 {
		return
	}
	x.findSpikes(all)
	for _, y := range all {
		y.between(0)
	}
	for w := range x.r.AllPassing() {
		if w.Kind != model.Cell && w.Kind != model.Statement {
			continue
		}
		detailed := false
		for _, y := range all {
			if !y.takes(x, w) {
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
	y := &weighing{s: candidates(d, meters), spikes: map[int][]spike{}, stood: map[int]map[heldBy]int64{},
		moments: moments{at: map[string]int{}}}
	largest := slices.Sorted(slices.Values(y.s.most))
	y.least = d.top[0].peak
	for _, bytes := range largest[max(0, len(largest)-mattering):] {
		y.least -= bytes
	}
	return y
}

// findSpikes records the times between cells that rose on their own: memory that stands between two cells stands in the
// next, too. Of processes without cells those matter that no cell ran below: the memory of a process that starts
// kernels is there whatever lines they have.
func (x *reader) findSpikes(all []*weighing) {
	parents, ran := x.parents(), map[int]bool{}
	for _, c := range x.cells {
		ran[rootOf(parents, c.pid)] = true
	}
	left := maxSpikes
	for b := range x.r.AllBetweenPassing() {
		for _, y := range all {
			f := b.Meters[y.s.d.rank]
			alone := b.Before == 0 && b.After == 0
			if f.Peak < y.least || f.Peaked < notMuch && !alone || alone && ran[rootOf(parents, b.PID)] {
				continue
			}
			if left--; left < 0 { // it stands, whatever is left out
				y.moments.add(moment{peak: f.Peak, shares: make([]int64, len(y.s.lines)), gap: true})
				continue
			}
			y.spikes[b.After] = append(y.spikes[b.After], spike{b.PID, f.Peak})
		}
	}
}

// parents returns the parents of processes.
func (x *reader) parents() map[int]int {
	parents := map[int]int{}
	for i := range x.r.Processes {
		parents[x.r.Processes[i].PID] = x.r.Processes[i].Parent
	}
	return parents
}

// rootOf returns the process above pid that a session was attached to.
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

// maxGenerations bounds a line of processes, each of which started the next.
const maxGenerations = 64

// takes reports whether a window shows standing memory, or is high enough to matter.
func (y *weighing) takes(x *reader, w *model.Window) bool {
	if w.Kind == model.Statement {
		return y.cell != nil && w.Parent == y.id && y.cell.peak >= y.least
	}
	_, within := x.cells[w.Parent] // the outer one of a cell in a cell includes it
	return !within
}

func (y *weighing) add(w *model.Window) {
	f, _ := w.Together(y.s.d.rank)
	l := y.s.listing(w)
	if w.Kind == model.Statement {
		one := moment{peak: f.Peak, need: f.Need(), shares: y.s.shares(w, l, y.running), at: y.cell.at}
		one.at.Line, one.at.Children = w.Line, childrenOf(w, y.s.d.rank)
		y.s.begin(l, y.running)
		y.s.end(l, y.running)
		y.highest = max(y.highest, f.Peak)
		y.take(one)
		return
	}
	y.finish()
	stood := y.stood[w.PID]
	if stood == nil {
		stood = map[heldBy]int64{}
		y.stood[w.PID] = stood
	}
	y.cell = &moment{peak: f.Peak, need: f.Need(), shares: y.s.shares(w, l, stood),
		at: model.PlanPlace{PID: w.PID, Kernel: strings.Clone(w.Kernel), Execution: w.Execution,
			Children: childrenOf(w, y.s.d.rank)}}
	if w.ExecutionCount != nil {
		y.cell.at.ExecutionCount = new(*w.ExecutionCount)
	}
	y.id, y.highest = w.ID, 0
	y.s.begin(l, stood)
	y.running = maps.Clone(stood)
	y.s.end(l, stood)
}

// finish adds the cell that is over, where it was highest outside of its statements, and the time after it.
func (y *weighing) finish() {
	if y.cell == nil {
		return
	}
	if y.highest < y.cell.peak {
		y.take(*y.cell)
	}
	y.cell = nil
	y.between(y.id)
}

// between adds the times after a cell.
func (y *weighing) between(after int) {
	for _, one := range y.spikes[after] {
		y.take(moment{peak: one.peak, shares: y.s.shares(&model.Window{PID: one.pid}, &listing{}, y.stood[one.pid]),
			gap: true})
	}
}

func (y *weighing) take(one moment) {
	if one.peak >= y.least {
		y.moments.add(one)
	}
}

func childrenOf(w *model.Window, meter string) int64 {
	f, _ := w.Together(meter)
	return f.Peak - min(f.Peak, w.Meters[meter].Peak)
}

// conclude finds how much each line saves alone, and which lines save most together.
func (y *weighing) conclude(x *reader) {
	if y.moments.rest != nil {
		y.moments.all = append(y.moments.all, *y.moments.rest)
	}
	slices.SortStableFunc(y.moments.all, func(a, b moment) int { return cmp.Compare(b.peak, a.peak) })
	d := y.s.d
	d.alone = map[place]outcome{}
	for i, at := range y.s.lines {
		d.alone[at] = y.outcome(x, i)
	}
	d.set = y.best(x)
}
