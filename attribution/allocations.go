package attribution

import (
	"cmp"
	"slices"
	"strconv"

	"ipytracer/event"
	"ipytracer/model"
)

// allocations knows what every traced process holds of the meters that count single blocks, and who allocated it, from
// the change stream. What the stream has lost is missing here, and shows: the blocks known at a window's peak then do
// not add up to the peak that the kernel's ledger says.
type allocations struct {
	blocks map[blockKey]block
	ranges map[int32]*ranges // of cpu.mapped, by process
	held   map[heldKey]*holding
	pieces int // of all ranges
	stacks *stackTable
	// waiting are changes of segments whose windows have not opened yet.
	waiting map[uint32]map[uint64][]event.Change
	waits   int                      // how many wait
	asked   map[askedKey]event.Bytes // what tensors asked for, of the blocks that lived at the end
	entries int                      // tallies of all windows that are not settled
	dropped int                      // blocks, tallies and stacks that found no room
	found   int                      // stacks of blocks that a search has found
	untold  bool                     // of blocks that moved a meter some were not told: of small ones, only samples
	spare   spare
	givenUp string // why nothing of this is kept any more, see [GiveUp]; "": it is
}

type heldKey struct {
	pid   int32
	meter event.Meter
}

type blockKey struct {
	heldKey
	address uint64
}

type block struct {
	size  event.Bytes
	stack uint64
}

// askedKey is a block of a process.
type askedKey struct {
	pid     int32
	address uint64
}

// askedBy takes in how many bytes of their blocks tensors asked for.
func (a *allocations) askedBy(e *event.Holders) {
	for _, h := range e.Holders {
		if h.Asked > 0 && a.givenUp == "" && len(a.asked) < maxBlocks {
			if a.asked == nil {
				a.asked = map[askedKey]event.Bytes{}
			}
			a.asked[askedKey{e.PID, h.Address}] = h.Asked
		}
	}
}

// Limits of what is kept: a target can make blocks and stacks without end.
const (
	maxBlocks  = 2 << 20 // the kernel's own tables hold as many
	maxTallies = 1 << 20
	maxFrames  = 1 << 20 // of all stacks
	maxWaits   = 1 << 18 // changes that wait for their segments
)

func newAllocations(stacks *stackTable) *allocations {
	return &allocations{
		blocks: map[blockKey]block{}, ranges: map[int32]*ranges{}, held: map[heldKey]*holding{},
		stacks: stacks, waiting: map[uint32]map[uint64][]event.Change{},
	}
}

// forget drops all blocks of some meters of a root: what becomes of them is not told for a while. What windows know
// that they allocated, and held at the peak so far, stays.
func (t *Tracker) forget(root uint32, which func(event.Meter) bool) {
	a := t.allocations
	of := func(pid int32) bool { p := t.processes.byPID[pid]; return p != nil && p.root == root }
	for at := range a.blocks {
		if which(at.meter) && of(at.pid) {
			delete(a.blocks, at)
		}
	}
	for key := range a.held {
		if which(key.meter) && of(key.pid) {
			t.copyAll(key)
			delete(a.held, key)
		}
	}
	for _, w := range t.processes.root(root).counted {
		w.forget(which)
	}
	if t.audit != nil {
		t.audit.forget(which, of)
	}
}

func (t *Tracker) addStack(s *event.Stack) {
	if t.allocations.givenUp == "" && !t.stacks.add(s) {
		t.allocations.dropped++
	}
}

func (w *window) forget(which func(event.Meter) bool) {
	for m, all := range w.tallies {
		if which(m) {
			for _, y := range all.byStack {
				y.held = 0
			}
		}
	}
}

// inOrder takes a number of the change stream in, with its change or nil if it is of something else.
func (t *Tracker) inOrder(r *root, stream uint64, c *event.Change) {
	r.ordered.add(stream, c, func(c *event.Change) { t.allocate(r, c) })
}

// allocate takes a change in that made or freed a block, once the windows of its segment are open.
func (t *Tracker) allocate(r *root, c *event.Change) {
	if t.allocations.givenUp != "" {
		return
	}
	if !c.IsBlock() && c.Meter.Facts().Kind == event.Total {
		r.sides.restart(c, func(c *event.Change) { t.await(r, c) })
	}
	if c.IsTurn() && t.audit == nil {
		t.await(r, c)
		return
	}
	if !c.IsBlock() && (t.audit == nil || c.Meter < event.CPUMeters) {
		return
	}
	if c.IsBlock() && c.Meter.Facts().Chained() {
		r.sides.link(c, r.ended, r.ordered.skips, func(c *event.Change) { t.await(r, c) })
		return
	}
	t.await(r, c)
}

// moveBlock makes, resizes or frees a block, in the ledger of blocks and in the windows of its segment.
func (t *Tracker) moveBlock(r *root, c *event.Change) {
	if segment := r.sides.segment(c); segment != c.Segment {
		placed := *c
		placed.Segment, c = segment, &placed
	}
	if t.audit != nil {
		t.audit.change(t, r, c)
		return
	}
	a := t.allocations
	if a.givenUp != "" {
		return
	}
	if c.Caller.Moves() { // the blocks are still the process's, wherever they are
		return
	}
	key := heldKey{c.PID, c.Meter}
	if p := t.processes.byPID[c.PID]; p != nil {
		p.counted = t.session.cut
	}
	if c.Meter == event.Mapped {
		t.moveRange(r, c)
		return
	}
	if c.IsTurn() {
		t.turn(r, c)
		return
	}
	at := blockKey{key, c.Address}
	before, known := a.blocks[at]
	after := block{size: before.size + c.Size, stack: c.Stack}
	switch {
	case c.Sample:
		after = a.sampled(c)
	case c.Found && known:
		after.stack = before.stack
	case c.Found && c.Size > 0:
		after.stack = stackOfFound(t, r, c)
	}
	switch {
	case !known && c.Size < 0: // made before the attach, or lost
		return
	case after.size <= 0:
		delete(a.blocks, at)
		after = block{}
	case !known && len(a.blocks) >= maxBlocks:
		a.dropped++
		return
	default:
		a.blocks[at] = after
	}
	windows := t.concerned(r, c)
	windows.times = timesOf(c)
	if c.Found {
		windows.sinceBefore(r.blankOf(c))
	}
	if c.Unchained {
		a.untold = true
		windows.follow(a, key, c)
	}
	t.replace(windows, key, before, after)
	if c.Unchained {
		windows.stood(a, key, c.Value)
	}
}

// concerned are the windows that a change is to be told to.
type concerned struct {
	in    []*window // they hold its segment
	later []*window // they began after it, where it comes late, and took what was known then for all there was
	times int64     // how many allocations it stands for
}

func (t *Tracker) concerned(r *root, c *event.Change) concerned {
	found := concerned{in: t.windowsOf(r, c), times: 1}
	if c.Segment > r.ended {
		return found
	}
	later := func(w *window) {
		if w.process.info.PID == c.PID && w.root == c.Root && w.firstSegment > c.Segment {
			found.later = append(found.later, w)
		}
	}
	if p := t.processes.byPID[c.PID]; p != nil {
		for _, w := range p.windows {
			later(w)
		}
		for _, w := range t.closed(p) {
			later(w)
		}
	}
	return found
}

// replace puts one block in the place of another, in the totals of a process and in windows. Either may be none.
func (t *Tracker) replace(windows concerned, key heldKey, before, after block) {
	a := t.allocations
	for _, w := range windows.in {
		w.beforeMove(a, key)
	}
	if before.size > 0 {
		t.hold(windows, key, before.stack, -before.size)
	}
	if after.size > 0 {
		t.hold(windows, key, after.stack, after.size)
	}
	for _, w := range windows.in {
		w.move(a, key, before, after, windows.times)
	}
}

// hold changes what a process has of a stack. The windows that saw it so far and are not to see this get a tally of
// what it had.
func (t *Tracker) hold(windows concerned, key heldKey, stack uint64, by event.Bytes) {
	a := t.allocations
	for _, w := range windows.later {
		if all := w.tallies[key.meter]; all != nil && all.byStack != nil {
			all.shift(a, key, stack, by)
		}
	}
	for _, w := range t.lately(key.pid) {
		if all := w.tallies[key.meter]; all != nil && all.byStack != nil && !slices.Contains(windows.later, w) {
			all.of(a, key, stack)
		}
	}
	for _, w := range windows.in {
		if all := w.tallies[key.meter]; all != nil && all.byStack != nil {
			all.of(a, key, stack)
		}
	}
	a.of(key).add(stack, by)
}

// copyAll gives all windows of a process that know of a meter's blocks tallies of all that it has: that is to be
// forgotten.
func (t *Tracker) copyAll(key heldKey) {
	p := t.processes.byPID[key.pid]
	if p == nil {
		return
	}
	for _, w := range slices.Concat(p.windows, t.lately(key.pid)) {
		if all := w.tallies[key.meter]; all != nil && all.byStack != nil {
			t.allocations.copyInto(all, key)
		}
	}
}

// copyInto gives tallies all that a process has.
func (a *allocations) copyInto(all *tallies, key heldKey) {
	for stack := range a.of(key).byStack {
		all.of(a, key, stack)
	}
}

// missesStacks says whether stacks of a meter were not walked at some time in the window.
func (w *window) missesStacks(m event.Meter) bool {
	return slices.ContainsFunc(m.Facts().Unwalked, func(stacks string) bool {
		return slices.Contains(w.unwalked, stacks)
	})
}

// orderFrames puts the same line of one cell's code behind that of a cell that ran before it.
func orderFrames(x, y model.Frame) int {
	return cmp.Or(compareFrames(x, y), cmp.Compare(x.Execution, y.Execution))
}

func compareFrames(x, y model.Frame) int {
	return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Function, y.Function),
		cmp.Compare(x.Module, y.Module))
}

func frameKey(frames []model.Frame) string {
	var key []byte
	for _, f := range frames {
		key = append(key, f.File...)
		key = append(key, 0)
		key = append(key, f.Function...)
		key = append(key, 0)
		if f.Native {
			key = append(key, f.Module...)
			key = append(key, 1)
		}
		key = strconv.AppendInt(key, int64(f.Line), 10)
		key = append(key, 0)
	}
	return string(key)
}
