// Package audit finds memory that stays behind. It keeps each live block with the cell and the statement that allocated
// it, and judges the blocks that are left, at any time.
package audit

import (
	"ipytracer/attribution/internal/activity"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// Audit is the keeper of blocks of an [Auditor].
type Audit struct {
	*windows.State
	activity.Untallied
	finds *windows.FoundNames

	births     *births
	departures *departures
	torch      *torchCaches

	live    map[int32]map[place]block       // by pid
	ranges  map[int32]*stacks.Ranges[maker] // of cpu.mapped, by pid
	holders map[int32]*holders              // by pid
	Count   int                             // number of live blocks and pieces of ranges
	dropped int                             // number of blocks and pieces that found no room
	pauses  pauses
	sampled bool // small blocks were streamed as samples

	exited map[int32]bool   // processes that exited, by pid; true: the interpreter cleared everything away at the exit
	pools  map[int32]string // the pool in which a process waits for its next task, by pid
}

// holders records which objects hold the blocks of a process, as its objects showed at the end.
type holders struct {
	complete bool                    // all objects were read
	objects  int64                   // number of objects
	by       map[uint64]event.Holder // by the block's address
	views    map[uint64]event.View   // memory that only views hold, by address
}

// Keeps reports whether windows of a kind are kept.
func (a *Audit) Keeps(kind windows.WindowKind) bool { return kind.IsAudited() }

// BecameBetween turns a window that was opened as a statement into the time between cells.
func (a *Audit) BecameBetween(w *windows.Window) { a.births.becomeBetween(w) }

// Ended does nothing: [Audit.Boundary] takes in the ends of processes.
func (a *Audit) Ended(int32) {}

// Opened gives a window its birth.
func (a *Audit) Opened(w *windows.Window, line int) { a.births.open(w, line) }

// Takes reports whether a change concerns a block, or PyTorch's totals.
func (a *Audit) Takes(c *event.Change) bool { return c.IsBlock() || c.Meter >= event.CPUMeters }

// Move takes in a change of a block, or of PyTorch's totals.
func (a *Audit) Move(r *windows.Tree, c *event.Change) {
	a.torch.followTotals(r, c)
	switch {
	case !c.IsBlock():
	case c.Meter == event.Mapped:
		a.moveRange(r, c)
	default:
		a.moveBlock(r, c)
	}
}

// moveBlock allocates, resizes or frees a block.
func (a *Audit) moveBlock(r *windows.Tree, c *event.Change) {
	a.torch.addPending(c)
	blocks := a.live[c.PID]
	if blocks == nil {
		blocks = map[place]block{}
		a.live[c.PID] = blocks
	}
	at := place{c.Meter, c.Address}
	b, known := blocks[at]
	size := c.Size
	if c.Sample { // the block stands for others, too
		size, a.sampled = sampleSize(c), true
	}
	b.size += size
	switch {
	case !known && size < 0: // allocated before the attach, or its allocation was lost
	case b.size <= 0:
		delete(blocks, at)
		a.Count--
		b.size -= size
		if !c.Found { // a block that a search found missing went at an unknown time
			a.departures.free(a.births.innermost(r, c), at, b, c)
		}
	case known:
		blocks[at] = b
	case a.Count >= stacks.MaxBlocks:
		a.dropped++
	default:
		a.Count++
		b.stack, b.at, b.sample = c.Stack, c.Time, c.Sample
		if c.Found {
			b.stack = a.finds.StackOf(r, c)
		} else if w := a.births.innermost(r, c); w != nil {
			b.birth = w.Birth
		}
		blocks[at] = b
	}
}

// moveRange takes in that a range was mapped or unmapped.
func (a *Audit) moveRange(r *windows.Tree, c *event.Change) {
	w := a.births.innermost(r, c)
	mapper := maker{stack: c.Stack, at: c.Time}
	if w != nil { // the window's time, not the change's: else each page of a growing heap would be a piece of its own
		mapper.birth, mapper.at = w.Birth, w.Opened
	}
	replaced, _ := stacks.RangesOf(a.ranges, c.PID).Move(c, mapper, &a.Count, &a.dropped, stacks.MaxBlocks)
	for _, p := range replaced {
		a.departures.free(w, place{event.Mapped, p.Start}, keptRange(p), c)
		a.departures.unmap(w, p, c.PID)
	}
}

// keptRange returns a mapped piece as a block.
func keptRange(p stacks.Piece[maker]) block {
	return block{size: p.Size(), stack: p.Maker.stack, birth: p.Maker.birth, at: p.Maker.at}
}

// each calls do for each live block and range of a process.
func (a *Audit) each(pid int32, do func(place, block)) {
	for at, b := range a.live[pid] {
		do(at, b)
	}
	if ranges := a.ranges[pid]; ranges != nil {
		ranges.Each(func(p stacks.Piece[maker]) { do(place{event.Mapped, p.Start}, keptRange(p)) })
	}
}

// Boundary follows the starts, program changes and exits of processes, and the ends of statements.
func (a *Audit) Boundary(p *windows.Process, b *event.Boundary) {
	switch b.Kind {
	case event.CellOpen:
		if len(p.Open) == 0 {
			a.departures.settle(b.PID)
		}
	case event.Detached:
		a.departures.settle(b.PID)
	case event.MeterShed, event.MeterBack:
		a.pauses.follow(b)
	case event.StatementClose:
		if cell := a.Table.Running[b.Cell]; cell != nil && cell.Statement != nil {
			a.births.closeStatement(b.PID, closing{cell.Statement.Birth, b.Time})
		}
	case event.ProcessStart:
		a.births.start(b)
	case event.ProcessExec:
		if !p.Alive { // a child of vfork: it begins with its program
			a.births.execute(b)
		}
		a.dropProcess(b.PID)
	case event.ProcessExit:
		if p.Session == nil { // a child's memory ends with it
			a.dropProcess(b.PID)
			return
		}
		a.exited[b.PID] = len(a.departures.leaving[b.PID]) > 0
	}
}

// CellOver records a cell that ended with an exception.
func (a *Audit) CellOver(pid int32, w *windows.Window) {
	if w.Status == model.Error || w.Status == model.Interrupted {
		a.departures.fail(pid, w)
	}
}

func (a *Audit) dropProcess(pid int32) {
	a.Count -= len(a.live[pid])
	if all := a.ranges[pid]; all != nil {
		a.Count -= all.Len()
	}
	delete(a.ranges, pid)
	delete(a.live, pid)
	delete(a.departures.leaving, pid)
}

// Forget drops the blocks of some meters of a root.
func (a *Audit) Forget(root uint32, which func(event.Meter) bool) {
	inRoot := func(pid int32) bool { p := a.Processes.ByPID[pid]; return p != nil && p.Root == root }
	for pid, blocks := range a.live {
		for at := range blocks {
			if which(at.meter) && inRoot(pid) {
				delete(blocks, at)
				a.Count--
			}
		}
	}
	a.departures.forget(func(pid int32, m event.Meter) bool { return which(m) && inRoot(pid) })
}

// HeldBy records the holders that the target's objects reported.
func (a *Audit) HeldBy(e *event.Holders) {
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
		if len(h.views) < stacks.MaxListed && len(one.Viewers) > 0 {
			h.views[one.Address] = one
		}
	}
	for _, one := range e.Holders {
		if len(h.by) < stacks.MaxBlocks {
			h.by[one.Address] = one
		}
	}
}

// ask replaces the holders that processes reported by found, until restore is called.
func (a *Audit) ask(found []*event.Holders) (restore func()) {
	holdersBefore, poolsBefore := a.holders, a.pools
	a.holders, a.pools = map[int32]*holders{}, map[int32]string{}
	for _, e := range found {
		a.HeldBy(e)
	}
	return func() { a.holders, a.pools = holdersBefore, poolsBefore }
}

// BlockAt returns the stack of a live block.
func (a *Audit) BlockAt(pid int32, m event.Meter, address uint64) (stack uint64, ok bool) {
	b, ok := a.live[pid][place{m, address}]
	return b.stack, ok
}

// RangeAt returns the stack that mapped an address.
func (a *Audit) RangeAt(pid int32, address uint64) (stack uint64, ok bool) {
	by, ok := a.ranges[pid].At(address)
	return by.stack, ok
}

// DividersAt returns nothing: an audit has no refused requests.
func (a *Audit) DividersAt(*event.Refusal) []windows.Divider { return nil }

// IsWhole reports whether everything that arrived has found room.
func (a *Audit) IsWhole() bool { return a.Stacks.Dropped == 0 && a.leftOut() == 0 }

// leftOut returns the number of blocks and tallies that found no room.
func (a *Audit) leftOut() int { return a.dropped + a.departures.dropped }

// sampleSize returns the bytes that a sample stands for: negative for a free.
func sampleSize(c *event.Change) event.Bytes {
	if c.Size < 0 {
		return -c.Represents()
	}
	return c.Represents()
}

// New returns an audit that has seen nothing.
func New(s *windows.State) *Audit {
	born := newBirths(s.Processes)
	return &Audit{
		State: s, finds: &windows.FoundNames{State: s}, births: born, departures: newDepartures(),
		torch: newTorchCaches(born),
		live:  map[int32]map[place]block{}, ranges: map[int32]*stacks.Ranges[maker]{}, holders: map[int32]*holders{},
		exited: map[int32]bool{}, pauses: pauses{}, pools: map[int32]string{},
	}
}
