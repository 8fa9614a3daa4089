package attribution

import (
	"maps"

	"ipytracer/event"
	"ipytracer/model"
)

// Auditor finds memory that stays behind, in the events of a session. It keeps every live block with the cell and the
// statement that made it, and nothing of the windows but their figures: a session of millions of changes fits.
type Auditor struct{ tracker *Tracker }

// NewAuditor returns an Auditor that has seen nothing.
func NewAuditor() *Auditor {
	t := New()
	t.audit = &audit{
		live: map[int32]map[place]kept{}, ranges: map[int32]*ranges{}, leaving: map[int32]map[place]left{},
		gone:    map[passing]*passed{},
		holders: map[int32]*holders{}, devices: map[heldKey]*cache{}, pending: map[int32]*pending{},
		torch: map[blockKey]bool{},
		ended: map[int32]bool{}, failures: map[int32][]*window{}, unmapped: map[unmapping]event.Bytes{},
		started: map[int32]*birth{}, statement: map[int32]closing{}, blind: map[event.Meter]*blind{},
		pools: map[int32]string{},
	}
	return &Auditor{t}
}

// Add takes the next event in.
func (a *Auditor) Add(e event.Event) { a.tracker.Add(e) }

// Flush settles what has come so far, see [Tracker.Flush].
func (a *Auditor) Flush() { a.tracker.Flush() }

// Finished returns the cells that closed since the last call, see [Tracker.Finished].
func (a *Auditor) Finished() []model.Window { return a.tracker.Finished() }

// audit is what a [Tracker] keeps for an audit.
type audit struct {
	live   map[int32]map[place]kept // by process
	ranges map[int32]*ranges        // of cpu.mapped
	// leaving are blocks that were freed after the process's last cell. Should another cell follow, they were freed
	// late; should the process end, it was the interpreter that cleared everything away.
	leaving map[int32]map[place]left
	gone    map[passing]*passed
	// unmapped is what went of ranges after the run of the cell that mapped them.
	unmapped map[unmapping]event.Bytes
	holders  map[int32]*holders
	count    int                    // of live blocks
	dropped  int                    // blocks and tallies that found no room
	blind    map[event.Meter]*blind // of whose blocks it was not told for a while
	sampled  bool                   // small blocks were told as samples

	devices   map[heldKey]*cache  // PyTorch's allocator, by process and its meter of handed out memory
	pending   map[int32]*pending  // by thread
	torch     map[blockKey]bool   // the driver's blocks that PyTorch's allocator has
	failures  map[int32][]*window // cells that ended with an exception, by process, in order
	ended     map[int32]bool      // processes that did; true: the interpreter freed what it could
	statement map[int32]closing   // the last that ended, by process
	pools     map[int32]string    // which processes wait in a pool for the next task, and in which
	started   map[int32]*birth    // processes, by where their first ancestor was started
}

// place is where a block lies in its process.
type place struct {
	meter   event.Meter
	address uint64
}

// kept is a block that lives.
type kept struct {
	size  event.Bytes
	stack uint64
	birth *birth
	at    event.Nanoseconds
	// sample: it stands for other blocks that are as large as it is.
	sample bool
}

// birth is where in the notebook a block was made.
type birth struct {
	cell   *window // nil if no cell ran
	line   int     // of the statement; 0 if none ran
	status string  // of the statement, or else the cell; "" while it runs
}

// closing is a statement that ended.
type closing struct {
	birth  *birth
	closed event.Nanoseconds
}

// vforkLag is how long after its parent went on a child that was started by vfork may be seen to execute its program:
// the kernel lets the parent go when the child's old memory is released, and tells of the new program after that.
const vforkLag = event.Nanoseconds(100e6)

// holders is what a process said, in the end, of who holds its blocks.
type holders struct {
	complete bool
	objects  int64
	by       map[uint64]event.Holder
	views    map[uint64]event.View // memory that only views hold, by its address
}

// openBirth gives a window what its blocks will refer to.
func (a *audit) openBirth(w *window) {
	switch w.kind {
	case kindCell:
		w.birth = &birth{cell: w}
	case kindStatement:
		w.birth = &birth{cell: w.parent, line: w.line}
	case kindBetween:
		w.birth = &birth{}
	}
}

// change takes in what moved: a block, or PyTorch's totals.
func (a *audit) change(t *Tracker, r *root, c *event.Change) {
	a.totals(t, r, c)
	switch {
	case !c.IsBlock():
	case c.Meter == event.Mapped:
		a.moveRange(t, r, c)
	default:
		a.move(t, r, c)
	}
}

// move makes, resizes or frees a block.
func (a *audit) move(t *Tracker, r *root, c *event.Change) {
	a.claim(c)
	blocks := a.live[c.PID]
	if blocks == nil {
		blocks = map[place]kept{}
		a.live[c.PID] = blocks
	}
	at := place{c.Meter, c.Address}
	b, known := blocks[at]
	size := c.Size
	if c.Sample { // it stands for others
		size, a.sampled = sampleSize(size), true
	}
	b.size += size
	switch {
	case !known && size < 0: // made before the attach, or lost
	case b.size <= 0:
		delete(blocks, at)
		a.count--
		b.size -= size
		if !c.Found { // it went at some time while nobody looked
			a.free(t.innermost(r, c), at, b, c)
		}
	case known:
		blocks[at] = b
	case a.count >= maxBlocks:
		a.dropped++
	default:
		a.count++
		b.stack, b.at, b.sample = c.Stack, c.Time, c.Sample
		if c.Found {
			b.stack = stackOfFound(t, r, c)
		} else if w := t.innermost(r, c); w != nil {
			b.birth = w.birth
		}
		blocks[at] = b
	}
}

// moveRange takes in that a range was mapped or unmapped.
func (a *audit) moveRange(t *Tracker, r *root, c *event.Change) {
	w := t.innermost(r, c)
	by := maker{stack: c.Stack, at: c.Time}
	if w != nil { // not the very time: a heap would be a piece for each page it grew by
		by.birth, by.at = w.birth, w.opened
	}
	gone, _ := rangesOf(a.ranges, c.PID).move(c, by, &a.count, &a.dropped)
	for _, p := range gone {
		a.free(w, place{event.Mapped, p.start}, kept{size: p.size(), stack: p.stack, birth: p.birth, at: p.at}, c)
		a.unmap(w, p, c.PID)
	}
}

// each goes through what lives of a process.
func (a *audit) each(pid int32, do func(place, kept)) {
	for at, b := range a.live[pid] {
		do(at, b)
	}
	if all := a.ranges[pid]; all != nil {
		all.tree.Ascend(func(p piece) bool {
			do(place{event.Mapped, p.start}, kept{size: p.size(), stack: p.stack, birth: p.birth, at: p.at})
			return true
		})
	}
}

// innermost is the statement, cell or time between cells of the process in which a change fell.
func (t *Tracker) innermost(r *root, c *event.Change) (found *window) {
	if c.Segment <= r.ended {
		return t.innermostBefore(c)
	}
	p := t.processes.byPID[c.PID]
	if p == nil {
		return nil
	}
	for _, w := range p.windows {
		if w.birth != nil && w.root == c.Root && w.firstSegment <= c.Segment &&
			(found == nil || w.firstSegment >= found.firstSegment) {
			found = w
		}
	}
	return found
}

// innermostBefore finds it for a change that comes late, among the last cells.
func (t *Tracker) innermostBefore(c *event.Change) *window {
	for i := len(t.table.slots) - 1; i >= max(0, len(t.table.slots)-latest); i-- {
		if w := t.table.slots[i].w; w != nil && !w.dropped && w.birth != nil && w.process.info.PID == c.PID &&
			w.holds(c.Root, c.Segment) {
			return w
		}
	}
	return nil
}

// latest is how many windows a change can be late.
const latest = 64

// boundary follows the lives of processes.
func (a *audit) boundary(t *Tracker, p *process, b *event.Boundary) {
	switch b.Kind {
	case event.CellOpen:
		if len(p.open) == 0 {
			a.settleLeaving(b.PID)
		}
	case event.Detached:
		a.settleLeaving(b.PID)
	case event.MeterShed, event.MeterBack:
		a.blindTo(b)
	case event.StatementClose:
		if cell := t.cells[b.Cell]; cell != nil && cell.statement != nil {
			a.statement[b.PID] = closing{cell.statement.birth, b.Time}
		}
	case event.ProcessStart:
		a.start(t, b)
	case event.ProcessExec:
		if !p.alive { // a vfork: it begins with its program
			a.start(t, b)
			now, last := a.started[b.PID], a.statement[b.Parent]
			if (now == nil || now.line == 0) && last.birth != nil && b.Time-last.closed <= vforkLag {
				a.started[b.PID] = last.birth
			}
		}
		a.drop(b.PID)
	case event.ProcessExit:
		if p.session == nil { // a child's memory goes with it
			a.drop(b.PID)
			return
		}
		a.ended[b.PID] = len(a.leaving[b.PID]) > 0
	}
}

// start remembers which statement started a process, or the process that started it.
func (a *audit) start(t *Tracker, b *event.Boundary) {
	from := a.started[b.Parent]
	if p := t.processes.byPID[b.Parent]; p != nil {
		for _, w := range p.windows {
			if w.root == b.Root && w.birth != nil && w.kind != kindBetween {
				from = w.birth
			}
		}
	}
	if from != nil {
		a.started[b.PID] = from
	} else {
		delete(a.started, b.PID)
	}
}

// fail remembers a cell that ended with an exception.
func (a *audit) fail(pid int32, w *window) { a.failures[pid] = append(a.failures[pid], w) }

func (a *audit) drop(pid int32) {
	a.count -= len(a.live[pid])
	if all := a.ranges[pid]; all != nil {
		a.count -= all.tree.Len()
	}
	delete(a.ranges, pid)
	delete(a.live, pid)
	delete(a.leaving, pid)
}

// forget drops the blocks of some meters, see [Tracker.forget].
func (a *audit) forget(which func(event.Meter) bool, of func(pid int32) bool) {
	for pid, blocks := range a.live {
		for at := range blocks {
			if which(at.meter) && of(pid) {
				delete(blocks, at)
				a.count--
			}
		}
	}
	for pid, blocks := range a.leaving {
		maps.DeleteFunc(blocks, func(at place, _ left) bool { return which(at.meter) && of(pid) })
	}
}

// heldBy takes in what the target's objects said.
func (a *audit) heldBy(e *event.Holders) {
	if e.Pool != "" {
		a.pools[e.PID] = e.Pool
		return
	}
	h := a.holders[e.PID]
	if h == nil {
		h = &holders{complete: true, by: map[uint64]event.Holder{}, views: map[uint64]event.View{}}
		a.holders[e.PID] = h
	}
	h.complete = h.complete && e.Complete
	h.objects = e.Objects
	for _, one := range e.Views {
		if len(h.views) < maxListed && len(one.Viewers) > 0 {
			h.views[one.Address] = one
		}
	}
	for _, one := range e.Holders {
		if len(h.by) < maxBlocks {
			h.by[one.Address] = one
		}
	}
}
