// Package plan finds the machine that a notebook needs, from recordings of it: how high it goes, which cell and line
// decides that, and which changes would lower it. It is pure; how a plan is shown is package report's business.
package plan

import (
	"cmp"
	"slices"
	"strings"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// highestCells and highestStatements are how many of the highest cells and statements are searched for lines, for each
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

// Run is one session, as far as a plan needs it.
type Run struct {
	model.PlanRun
	demands []*demand
	reasons []string // in words, why it may have needed more
	ended   []words.Doubt
	killed  bool // a signal ended a process in a cell
	late    bool
}

// demand is one kind of memory in one run.
type demand struct {
	meter   string // of the memory that a machine is limited in
	rank    string // by which cells are ranked: the same, or PyTorch's active memory
	figure  model.Figure
	parts   map[string]int64 // highest of the parts of it
	base    int64
	hasBase bool
	top     []*top // the highest cells, the highest first
	high    []*top // the highest statements
	gap     int64  // the highest of the times between cells
	alone   map[place]outcome
	set     *set // the lines that save the most together; nil for none
}

// top is a cell that is among the highest.
type top struct {
	id       int
	pid      int
	run      int
	count    *int
	kernel   string // its name, where the session has several
	source   string
	peak     int64
	need     int64
	children int64
	lines    map[place]*share
	best     candidate
}

// candidate is the statement that decides how high a cell goes.
type candidate struct {
	line       int
	peak, need int64
}

// place is a line of a process: of a run of a cell, or of a file.
type place struct {
	pid, execution, line int
	file, function       string
}

// share is the memory of a line at a cell's peak.
type share struct {
	blocks, mapped int64
	touched        int64 // the most of that that is resident
	count          *int
	source         string
	within         string
	withinBytes    int64
}

// statement is a statement of a cell.
type statement struct {
	line int
	need int64
}

// cellRun is a run of a cell.
type cellRun struct{ pid, execution int }

// reader goes through a report.
type reader struct {
	run        *Run
	r          *model.Report
	cells      map[int]cellRun // by the window's id
	statements map[cellRun][]statement
	needs      map[cellRun]int64
	known      int
	sources    map[cellRun]int // window ids
	texts      map[int]string  // by these
}

// Read takes the parts that a plan needs from a report. It reads the windows once, and then the highest windows again.
func Read(name string, r *model.Report) *Run {
	run := &Run{PlanRun: model.PlanRun{File: name, Host: r.Host, Finished: r.Certificate.Finished,
		Complete: r.Certificate.Complete}}
	// of figures and windows: the stacks that allocated decide nothing here
	run.reasons = append(slices.Clone(r.Certificate.Incomplete), r.Certificate.Problems...)
	// that one is reported first
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
			d.gap = max(d.gap, b.Meters[d.rank].Peak)
		}
	}
	for _, d := range run.demands {
		for _, t := range slices.Concat(d.top, d.high) {
			x.look(d, t)
		}
	}
	x.weigh()
	x.processes()
	return run
}

// demandsOf returns the kinds of memory that a machine can run out of. The first is the one by which cells are ranked.
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

// session adds the figures of a whole tree. Of several trees only the highest counts: it is not known whether they were
// there at the same time.
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
		d.top = among(d.top, highestCells, f.Peak, func() *top {
			one := topOf(w, w.Execution, w.ExecutionCount, f)
			one.source, one.children = strings.Clone(w.Source[:min(len(w.Source), maxSource)]), childrenOf(w, d.rank)
			return one
		})
	}
}

// topOf returns the top of a window that is among the highest.
func topOf(w *model.Window, execution int, count *int, f model.Figure) *top {
	one := &top{id: w.ID, pid: w.PID, kernel: strings.Clone(w.Kernel), run: execution, peak: f.Peak, need: f.Need()}
	if count != nil {
		one.count = new(*count)
	}
	return one
}

// among inserts a window among the highest, behind windows that are as high.
func among(all []*top, most int, peak int64, one func() *top) []*top {
	if len(all) == most && all[most-1].peak >= peak {
		return all
	}
	at, _ := slices.BinarySearchFunc(all, peak, func(t *top, peak int64) int {
		return cmp.Or(cmp.Compare(peak, t.peak), -1)
	})
	all = slices.Insert(all, at, one())
	return all[:min(len(all), most)]
}

// statement records the rise of a statement, and whether the statement decides how high its cell goes.
func (x *reader) statement(w *model.Window) {
	key, ok := x.cells[w.Parent]
	if !ok || w.Line == 0 { // the allocations of hooks are of no line
		return
	}
	if f, ok := w.Meters["cpu.resident"]; ok && x.known < maxStatements {
		x.known++
		x.statements[key] = append(x.statements[key], statement{w.Line, f.Need()})
	}
	for _, d := range x.run.demands {
		f, ok := w.Together(d.rank)
		if !ok {
			continue
		}
		d.high = among(d.high, highestStatements, f.Peak, func() *top { return topOf(w, key.execution, nil, f) })
		for _, t := range d.top {
			if t.id == w.Parent {
				t.decide(candidate{w.Line, f.Peak, f.Need()})
			}
		}
	}
}

// near is the share of a cell's peak that a statement must have reached to be the one that decides. So a statement that
// rises little above the memory of an earlier one, as plt.show() does, does not decide.
const near = 0.9

// decide chooses, of the statements that came near to the cell's peak, the one that rose most.
func (t *top) decide(c candidate) {
	isNear, wasNear := float64(c.peak) >= near*float64(t.peak), t.best.line > 0 &&
		float64(t.best.peak) >= near*float64(t.peak)
	switch {
	case t.best.line == 0, isNear && !wasNear, isNear && c.need > t.best.need, !isNear && !wasNear &&
		c.peak > t.best.peak:
		t.best = c
	}
}

// processes collects other facts that may matter.
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
