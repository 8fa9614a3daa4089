package attribution

import (
	"maps"

	"ipytracer/event"
	"ipytracer/model"
)

// audit is the ledger of an [Auditor].
type audit struct {
	untallied
	processes *processes
	table     *windowTable
	stacks    *stackTable
	finds     *finds
	openCell  func(id uint64) *window // nil for a cell that does not run

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
	exited    map[int32]bool      // processes that did; true: the interpreter freed what it could
	statement map[int32]closing   // the last that ended, by process
	pools     map[int32]string    // which processes wait in a pool for the next task, and in which
	started   map[int32]*birth    // processes, by where their first ancestor was started
}

// holders is what a process said, in the end, of who holds its blocks.
type holders struct {
	complete bool
	objects  int64
	by       map[uint64]event.Holder
	views    map[uint64]event.View // memory that only views hold, by its address
}

// keeps reports whether windows of a kind are kept: what a statement made remembers it.
func (a *audit) keeps(kind windowKind) bool { return kind != kindStatement && kind != kindLife }

// becameGap makes a statement that was none the time between cells.
func (a *audit) becameGap(w *window) {
	*w.birth = birth{}
	a.table.keep(w)
}

// ended has nothing left to do: see [audit.boundary].
func (a *audit) ended(int32) {}

// opened gives a window what its blocks will refer to.
func (a *audit) opened(w *window, line int) {
	w.line = line
	switch w.kind {
	case kindCell:
		w.birth = &birth{cell: w}
	case kindStatement:
		w.birth = &birth{cell: w.parent, line: w.line}
	case kindBetween:
		w.birth = &birth{}
	}
}

// takes reports whether a change is of a block, or of PyTorch's totals.
func (a *audit) takes(c *event.Change) bool { return c.IsBlock() || c.Meter >= event.CPUMeters }

// move takes in what moved: a block, or PyTorch's totals.
func (a *audit) move(r *root, c *event.Change) {
	a.totals(r, c)
	switch {
	case !c.IsBlock():
	case c.Meter == event.Mapped:
		a.moveRange(r, c)
	default:
		a.moveBlock(r, c)
	}
}

// moveBlock makes, resizes or frees a block.
func (a *audit) moveBlock(r *root, c *event.Change) {
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
			a.free(a.innermost(r, c), at, b, c)
		}
	case known:
		blocks[at] = b
	case a.count >= maxBlocks:
		a.dropped++
	default:
		a.count++
		b.stack, b.at, b.sample = c.Stack, c.Time, c.Sample
		if c.Found {
			b.stack = a.finds.stackOf(r, c)
		} else if w := a.innermost(r, c); w != nil {
			b.birth = w.birth
		}
		blocks[at] = b
	}
}

// moveRange takes in that a range was mapped or unmapped.
func (a *audit) moveRange(r *root, c *event.Change) {
	w := a.innermost(r, c)
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

// boundary follows the lives of processes.
func (a *audit) boundary(p *process, b *event.Boundary) {
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
		if cell := a.openCell(b.Cell); cell != nil && cell.statement != nil {
			a.statement[b.PID] = closing{cell.statement.birth, b.Time}
		}
	case event.ProcessStart:
		a.start(b)
	case event.ProcessExec:
		if !p.alive { // a vfork: it begins with its program
			a.start(b)
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
		a.exited[b.PID] = len(a.leaving[b.PID]) > 0
	}
}

// cellOver remembers a cell that ended with an exception.
func (a *audit) cellOver(pid int32, w *window) {
	if w.status == model.Error || w.status == model.Interrupted {
		a.failures[pid] = append(a.failures[pid], w)
	}
}

func (a *audit) drop(pid int32) {
	a.count -= len(a.live[pid])
	if all := a.ranges[pid]; all != nil {
		a.count -= all.tree.Len()
	}
	delete(a.ranges, pid)
	delete(a.live, pid)
	delete(a.leaving, pid)
}

// forget drops the blocks of some meters of a root.
func (a *audit) forget(root uint32, which func(event.Meter) bool) {
	of := func(pid int32) bool { p := a.processes.byPID[pid]; return p != nil && p.root == root }
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

// ask has what was found now stand for what processes have said, until the function that it returns is called.
func (a *audit) ask(found []*event.Holders) (restore func()) {
	holdersBefore, poolsBefore := a.holders, a.pools
	a.holders, a.pools = map[int32]*holders{}, map[int32]string{}
	for _, e := range found {
		a.heldBy(e)
	}
	return func() { a.holders, a.pools = holdersBefore, poolsBefore }
}

// cache is PyTorch's caching allocator on one device.
type cache struct {
	active, reserved event.Bytes
	before           event.Bytes // active, before the last report
	// grown counts how often reserved grew by no more than what lay free in the cache already, and by how much in all.
	grown  event.Bytes
	times  int64
	first  event.Nanoseconds
	births []*birth // of the last of them
}

// pending are the driver's blocks that a thread has taken since PyTorch last reported on it.
type pending struct {
	blocks   []blockKey
	sizes    []event.Bytes
	reported bool
}
