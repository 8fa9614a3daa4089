// Package plan finds the machine that a notebook needs, from recordings of it. It finds how high the notebook goes,
// which cell and line decides that, and which changes would lower it. It is pure; how a plan is shown is package
// report's business.
package plan

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// highestCells and highestStatements are the numbers of highest cells and statements whose lines are searched, for each
// kind of memory.
const (
	highestCells      = 16
	highestStatements = 64
)

// Bounds on the parts of a run that are kept.
const (
	maxSource     = 4 << 10 // bytes of a cell's source
	maxLine       = 400     // of a line of it
	maxStatements = 1 << 20 // with a known rise
	maxGPUs       = 32
)

// Run is one session, reduced to what a plan needs.
type Run struct {
	model.PlanRun
	demands []*demand
	reasons []string      // sentences about why the run may have needed more
	ended   []words.Doubt // how processes ended, and their limits
	killed  bool          // a signal ended a process in a cell
	late    bool
	beyond  int64 // what the container had beyond the processes and page cache
}

// demand is the need of one kind of memory in one run.
type demand struct {
	meter   string // the meter of memory that a machine can run out of
	rank    string // the meter by which cells are ranked: the same, or PyTorch's active memory
	figure  model.Figure
	parts   map[string]int64 // the highest values of the parts of meter
	base    int64            // the value of rank when the first cell began
	hasBase bool
	top     []*highWindow // the highest cells, the highest first
	high    []*highWindow // the highest statements
	between int64         // the highest of the times between cells
	alone   map[place]outcome
	set     *set // the lines that save the most together; nil for none
}

// highWindow is one of the highest cells or statements.
type highWindow struct {
	id       int
	pid      int
	run      int
	count    *int
	kernel   string // its name, where the session has several
	source   string
	peak     int64
	need     int64
	children int64
	lines    map[place]*lineMemory
	best     candidate
}

// candidate is a statement that may decide how high its cell goes.
type candidate struct {
	line       int
	peak, need int64
}

// place is a line of a process: of a run of a cell, or of a file.
type place struct {
	pid, execution, line int
	file, function       string
}

// lineMemory is the memory of a line at the peak of a window, in bytes.
type lineMemory struct {
	blocks, mapped int64
	touched        int64 // the most of it that can be resident
	count          *int
	source         string
	within         string
	withinBytes    int64
}

// statement is a statement of a cell, with the rise of resident memory in it.
type statement struct {
	line int
	need int64
}

// cellRun is a run of a cell.
type cellRun struct{ pid, execution int }

// reader builds a Run from a report.
type reader struct {
	run            *Run
	r              *model.Report
	cells          map[int]cellRun // by the window's id
	statements     map[cellRun][]statement
	needs          map[cellRun]int64
	statementCount int
	sources        map[cellRun]int // window ids
	texts          map[int]string  // by these
}

// Read takes from a report what a plan needs. It reads all windows once, and then the highest windows again.
func Read(name string, r *model.Report) *Run {
	run := &Run{PlanRun: model.PlanRun{File: name, Host: r.Host, Finished: r.Certificate.Finished,
		Complete: r.Certificate.Complete}}
	// problems of stacks are left out: they affect no figure
	run.reasons = append(slices.Clone(r.Certificate.Incomplete), r.Certificate.Problems...)
	// doubts reports a cut recording by itself
	run.reasons = slices.DeleteFunc(run.reasons, func(why string) bool { return why == words.RecordingCut })
	x := &reader{run: run, r: r, cells: map[int]cellRun{}, statements: map[cellRun][]statement{},
		needs: map[cellRun]int64{}, sources: map[cellRun]int{}}
	run.demands = demandsOf(r.AllMeters(), r.Ranking(r.Nearest()))
	for w := range r.AllPassing() {
		switch w.Kind {
		case model.Session:
			x.session(w)
		case model.Cell:
			x.cell(w)
		case model.Statement:
			x.statement(w)
		}
	}
	for b := range r.AllBetweenPassing() {
		for _, d := range run.demands {
			d.between = max(d.between, b.Meters[d.rank].Peak)
		}
	}
	for _, d := range run.demands {
		for _, t := range slices.Concat(d.top, d.high) {
			x.findLines(d, t)
		}
	}
	x.weigh()
	x.processes()
	return run
}

// demandsOf returns the kinds of memory that a machine can run out of. The first is the one by which the report ranks
// cells.
func demandsOf(ids []string, ranks string) []*demand {
	all := []*demand{{meter: "cpu.resident", rank: "cpu.resident", parts: map[string]int64{}}}
	for _, id := range ids {
		gpu, ok := strings.CutSuffix(id, ".driver")
		if !ok || !words.OfGPU(id) || len(all) > maxGPUs {
			continue
		}
		rank := id
		if slices.Contains(ids, gpu+".active") {
			rank = gpu + ".active"
		}
		all = append(all, &demand{meter: id, rank: rank, parts: map[string]int64{}})
	}
	if at := slices.IndexFunc(all, func(d *demand) bool { return d.meter == ranks || d.rank == ranks }); at > 0 {
		first := all[at]
		all = slices.Insert(slices.Delete(all, at, at+1), 0, first)
	}
	return all
}

// session records the figures of a tree. If there are several trees it keeps the highest figures: whether the trees
// were high at the same time is not known.
func (x *reader) session(w *model.Window) {
	x.run.DurationNS = max(x.run.DurationNS, w.StartNS+w.DurationNS)
	for _, d := range x.run.demands {
		f, ok := w.Together(d.meter)
		if !ok {
			continue
		}
		gpu, _ := strings.CutSuffix(d.meter, ".driver")
		parts := []string{"cpu.resident.anon", "cpu.resident.file", "cpu.resident.shmem"}
		if words.OfGPU(d.meter) {
			parts = []string{gpu + ".driver", gpu + ".unattributed"}
			if beside, ok := w.Together(gpu + ".unattributed"); ok { // the highest of both need not have been at once
				f.Peak += beside.Peak
				f.Exact = f.Exact && beside.Exact
				if !beside.Exact {
					f.Bound = nil
				}
			}
		}
		if f.Peak < d.figure.Peak || f.Peak == d.figure.Peak && d.figure.Peak > 0 {
			continue
		}
		d.figure = f
		if f.Bound != nil {
			d.figure.Bound = new(*f.Bound)
		}
		for _, id := range parts {
			if p, ok := w.Together(id); ok {
				d.parts[id] = p.Peak
			}
		}
	}
}

func (x *reader) cell(w *model.Window) {
	x.run.Cells++
	if w.Status != model.OK {
		x.run.Failed++
	}
	x.run.beyond = max(x.run.beyond, beyondTree(w))
	key := cellRun{w.PID, w.Execution}
	x.cells[w.ID], x.sources[key], x.needs[key] = key, w.ID, w.Meters["cpu.resident"].Need()
	for _, d := range x.run.demands {
		f, ok := w.Together(d.rank)
		if !ok {
			continue
		}
		if !d.hasBase {
			d.base, d.hasBase = f.Start, true
		}
		d.top = insertHigh(d.top, highestCells, f.Peak, func() *highWindow {
			one := newHighWindow(w, w.Execution, w.ExecutionCount, f)
			one.source, one.children = strings.Clone(w.Source[:min(len(w.Source), maxSource)]), childrenOf(w, d.rank)
			return one
		})
	}
}

// beyondTree returns what the container of a cell had, at its highest in the cell, beyond the cell's processes and
// beyond page cache, which Linux can drop. It returns 0 without a limit: then the cgroup is of a user's whole session.
func beyondTree(w *model.Window) int64 {
	c := w.Container
	if c == nil || c.Limit == 0 || c.Parts == nil {
		return 0
	}
	anon, known := w.Together("cpu.resident.anon")
	shared, _ := w.Together("cpu.resident.shmem") // pages of files are in Parts.File already
	if !known {
		return 0
	}
	return max(0, c.AtLeast-c.Parts.File-anon.Peak-shared.Peak)
}

// newHighWindow returns a window as a highWindow.
func newHighWindow(w *model.Window, execution int, count *int, f model.Figure) *highWindow {
	h := &highWindow{id: w.ID, pid: w.PID, kernel: strings.Clone(w.Kernel), run: execution, peak: f.Peak,
		need: f.Need()}
	if count != nil {
		h.count = new(*count)
	}
	return h
}

// insertHigh inserts a window into a list of the highest, at most limit. It comes behind windows of the same height.
func insertHigh(highest []*highWindow, limit int, peak int64, newWindow func() *highWindow) []*highWindow {
	if len(highest) == limit && highest[limit-1].peak >= peak {
		return highest
	}
	at, _ := slices.BinarySearchFunc(highest, peak, func(t *highWindow, peak int64) int {
		return cmp.Or(cmp.Compare(peak, t.peak), -1)
	})
	highest = slices.Insert(highest, at, newWindow())
	return highest[:min(len(highest), limit)]
}

// statement records the rise of a statement, and chooses the statement that decides how high its cell goes.
func (x *reader) statement(w *model.Window) {
	key, ok := x.cells[w.Parent]
	if !ok || w.Line == 0 { // the allocations of hooks are of no line
		return
	}
	if f, ok := w.Meters["cpu.resident"]; ok && x.statementCount < maxStatements {
		x.statementCount++
		x.statements[key] = append(x.statements[key], statement{w.Line, f.Need()})
	}
	for _, d := range x.run.demands {
		f, ok := w.Together(d.rank)
		if !ok {
			continue
		}
		d.high = insertHigh(d.high, highestStatements, f.Peak, func() *highWindow {
			return newHighWindow(w, key.execution, nil, f)
		})
		for _, t := range d.top {
			if t.id == w.Parent {
				t.decide(candidate{w.Line, f.Peak, f.Need()})
			}
		}
	}
}

// nearPeak is the share of a cell's peak that the deciding statement must have reached. By this, a statement that rises
// little above the memory of an earlier one, as plt.show() may, does not decide.
const nearPeak = 0.9

// decide keeps the statement that rose most, of those that came near to the cell's peak.
func (t *highWindow) decide(c candidate) {
	if t.best.line == 0 {
		t.best = c
		return
	}
	least := nearPeak * float64(t.peak)
	isNear, bestIsNear := float64(c.peak) >= least, float64(t.best.peak) >= least
	isBetter := c.peak > t.best.peak
	switch {
	case isNear && bestIsNear:
		isBetter = c.need > t.best.need
	case isNear != bestIsNear:
		isBetter = isNear
	}
	if isBetter {
		t.best = c
	}
}

// processes records facts about processes that raise doubts.
func (x *reader) processes() {
	for i := range x.r.Processes {
		p := &x.r.Processes[i]
		if p.Parent == 0 && p.Late {
			x.run.late = true
		}
		x.run.killed = x.run.killed || p.Ending != nil && p.Ending.Signal != "" && p.Ending.Window != 0
		if p.Ending != nil && p.Ending.OutOfMemory {
			x.run.ended = append(x.run.ended, words.Doubt{Kind: words.KilledForMemory})
		}
		if p.SoftLimit != nil && p.SoftLimit.By != "" {
			x.run.ended = append(x.run.ended, words.Doubt{Kind: words.LimitedBySetting, Bytes: p.SoftLimit.Bytes})
		}
	}
}
