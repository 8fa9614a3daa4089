package attribution

import (
	"cmp"
	"slices"
	"sort"
	"strconv"

	"ipytracer/report"
	"ipytracer/tracer/event"
)

// allocations knows what every traced process holds of the meters that count single blocks, and who allocated it, from the
// change stream. What the stream has lost is missing here, and shows: the blocks known at a window's peak then do not add
// up to the peak that the kernel's ledger says.
type allocations struct {
	blocks map[blockKey]block
	ranges map[int32]*ranges // of cpu.mapped, by process
	held   map[heldKey]*holding
	pieces int // of all ranges
	stacks stackTable
	// waiting are changes of segments whose windows have not opened yet.
	waiting map[uint32]map[uint64][]event.Change
	waits   int                      // how many wait
	asked   map[askedKey]event.Bytes // what tensors asked for, of the blocks that lived at the end
	entries int                      // tallies of all windows that are not settled
	dropped int                      // blocks, tallies and stacks that found no room
	spare   spare
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
		if h.Asked > 0 && len(a.asked) < maxBlocks {
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

// tallies are what a window knows of a meter's allocations. Of stacks that have none nothing moved since the window began: they have
// what the process has of them now.
type tallies struct {
	byStack map[uint64]*tally
	cold    cold
	coolAt  int      // of how many in byStack it is looked which are cold
	moved   []*tally // since the highest total so far
	highest event.Bytes
	first   event.Bytes // total before the first change
	done    *settled    // in the place of byStack, once the window is settled
	wrong   bool        // a change came after that, or frees what nobody is known to have made
}

// tally is what one stack did in a window.
type tally struct {
	stack            uint64
	allocated, freed event.Bytes
	count            int64 // allocations
	atPeak, held     event.Bytes
	since            event.Bytes // by how much held has changed since the process ended its cells-th cell
	cells            int32
	isMoved, isCold  bool
}

func newAllocations() allocations {
	return allocations{
		blocks: map[blockKey]block{}, ranges: map[int32]*ranges{}, held: map[heldKey]*holding{},
		stacks: newStackTable(), waiting: map[uint32]map[uint64][]event.Change{},
	}
}

// counted says whether every block of a meter is in the change stream.
func counted(m event.Meter) bool {
	if isArray(m) || m == event.Pinned || m == event.Mapped || m == event.Heap {
		return true
	}
	_, kind, ok := m.Device()
	return ok && kind == event.Driver || isActive(m)
}

// isActive says whether a meter is what PyTorch has handed out on some GPU.
func isActive(m event.Meter) bool {
	_, kind, ok := m.Device()
	return ok && kind == event.Active
}

// isBlock says whether a change is of one block.
func isBlock(c *event.Change) bool {
	return c.Size != 0 && counted(c.Meter) && (c.Block || c.Meter != event.Mapped && c.Meter != event.Heap && !isActive(c.Meter))
}

// isHeap says whether a meter is what malloc has handed out.
func isHeap(m event.Meter) bool { return m == event.Heap }

// forget drops all blocks of some meters of a root: what becomes of them is not told for a while. What windows know that they
// allocated, and held at the peak so far, stays.
func (t *Tracker) forget(root uint32, which func(event.Meter) bool) {
	a := &t.allocations
	of := func(pid int32) bool { p := t.processes[pid]; return p != nil && p.root == root }
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
	for _, w := range t.root(root).counted {
		w.forget(which)
	}
	if t.audit != nil {
		t.audit.forget(which, of)
	}
}

func isNumPy(m event.Meter) bool { return m == event.NumPy }

func isTorch(m event.Meter) bool { return m == event.Torch }

// isArray says whether a meter is data of arrays or tensors on the CPU.
func isArray(m event.Meter) bool { return isNumPy(m) || isTorch(m) }

func (t *Tracker) addStack(s *event.Stack) {
	if !t.allocations.stacks.add(s) {
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
	if !isBlock(c) && (t.audit == nil || c.Meter < event.CPUMeters) {
		return
	}
	if isBlock(c) && isChained(c.Meter) {
		r.sides.link(c, r.ended, r.ordered.skips, func(c *event.Change) { t.await(r, c) })
		return
	}
	t.await(r, c)
}

// await takes in a change whose turn it is.
func (t *Tracker) await(r *root, c *event.Change) {
	until, late := r.sides.waitsFor(c, r.ended)
	if late > 0 {
		t.allocateIn(c.Root, r, late)
	}
	if until == 0 && c.Segment <= r.ended+1 {
		t.moveBlock(r, c)
		return
	}
	if !t.limits.room(&t.limits.waiting, t.allocations.waits < maxWaits) {
		return
	}
	t.allocations.waits++
	waiting := t.allocations.waiting[c.Root]
	if waiting == nil {
		waiting = map[uint64][]event.Change{}
		t.allocations.waiting[c.Root] = waiting
	}
	until = max(until, c.Segment)
	all, known := waiting[until]
	if !known {
		all = t.allocations.spare.waiting()
	}
	waiting[until] = append(all, *c)
}

// handOnAll takes in what waits in the order of changes: nothing more comes.
func (t *Tracker) handOnAll() {
	for _, r := range t.roots {
		r.ordered.flush(func(c *event.Change) { t.allocate(r, c) })
		r.sides.flush(r.ended, true, func(c *event.Change) { t.await(r, c) })
	}
}

// allocateIn takes in what waited for the segments up to this one.
func (t *Tracker) allocateIn(root uint32, r *root, upTo uint64) {
	waiting := t.allocations.waiting[root]
	r.sides.heard(upTo)
	r.sides.flush(r.ended, false, func(c *event.Change) { t.await(r, c) })
	if len(waiting) == 0 {
		return
	}
	segments := make([]uint64, 0, few)
	for s := range waiting {
		if s <= upTo {
			segments = append(segments, s)
		}
	}
	slices.Sort(segments)
	for _, s := range segments {
		t.allocations.waits -= len(waiting[s])
		for i := range waiting[s] {
			t.moveBlock(r, &waiting[s][i])
		}
		t.allocations.spare.waited(waiting[s])
		delete(waiting, s)
	}
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
	a := &t.allocations
	key := heldKey{c.PID, c.Meter}
	if p := t.processes[c.PID]; p != nil {
		p.counted = t.cut
	}
	if c.Meter == event.Mapped {
		t.moveRange(r, c)
		return
	}
	at := blockKey{key, c.Address}
	before, known := a.blocks[at]
	after := block{size: before.size + c.Size, stack: c.Stack}
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
	t.replace(t.concerned(r, c), key, before, after)
}

// concerned are the windows that a change is to be told to.
type concerned struct {
	in    []*window // they hold its segment
	later []*window // they began after it, where it comes late, and took what was known then for all there was
}

func (t *Tracker) concerned(r *root, c *event.Change) concerned {
	found := concerned{in: t.windowsOf(r, c)}
	if c.Segment > r.ended {
		return found
	}
	later := func(w *window) {
		if w.process.info.PID == c.PID && w.root == c.Root && w.firstSegment > c.Segment {
			found.later = append(found.later, w)
		}
	}
	if p := t.processes[c.PID]; p != nil {
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
	a := &t.allocations
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
		w.move(a, key, before, after)
	}
}

// hold changes what a process has of a stack. The windows that saw it so far and are not to see this get a tally of what it had.
func (t *Tracker) hold(windows concerned, key heldKey, stack uint64, by event.Bytes) {
	a := &t.allocations
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

// lately are the windows of a process that are over and not settled yet.
func (t *Tracker) lately(pid int32) []*window {
	p := t.processes[pid]
	if p == nil {
		return nil
	}
	found := t.found[:0]
	for _, w := range t.closing {
		if w.process == p && len(w.tallies) > 0 {
			found = append(found, w)
		}
	}
	for _, w := range []*window{p.session, p.whole} {
		if w != nil && !w.isOpen && len(w.tallies) > 0 {
			found = append(found, w)
		}
	}
	for _, w := range p.open {
		if s := w.atResult; s != nil && len(s.tallies) > 0 {
			found = append(found, s)
		}
	}
	t.found = found
	return found
}

// copyAll gives all windows of a process that know of a meter's blocks tallies of all that it has: that is to be forgotten.
func (t *Tracker) copyAll(key heldKey) {
	p := t.processes[key.pid]
	if p == nil {
		return
	}
	for _, w := range slices.Concat(p.windows, t.lately(key.pid)) {
		if all := w.tallies[key.meter]; all != nil && all.byStack != nil {
			t.copyInto(all, key)
		}
	}
}

// copyInto gives tallies all that a process has.
func (t *Tracker) copyInto(all *tallies, key heldKey) {
	for stack := range t.allocations.of(key).byStack {
		all.of(&t.allocations, key, stack)
	}
}

// windowsOf are the windows of a process that hold a change's segment. They are forgotten when it is called again.
func (t *Tracker) windowsOf(r *root, c *event.Change) []*window {
	p := t.processes[c.PID]
	if p == nil {
		return nil
	}
	found := t.holding[:0]
	defer func() { t.holding = found }()
	for _, w := range p.windows {
		if w.root == c.Root && w.firstSegment <= c.Segment {
			found = append(found, w)
		}
	}
	if c.Segment > r.ended {
		return found
	}
	found = append(found, t.closedWith(c.PID, c.Root, c.Segment)...) // it comes late
	return found
}

// closedWith are the windows of a process that are over and hold a segment, and can still be told of it.
func (t *Tracker) closedWith(pid int32, root uint32, segment uint64) (found []*window) {
	p := t.processes[pid]
	if p == nil {
		return nil
	}
	for _, w := range t.closed(p) {
		if w.process == p && w.holds(root, segment) {
			found = append(found, w)
		}
	}
	for _, w := range p.open {
		if s := w.atResult; s != nil && s.holds(root, segment) {
			found = append(found, s)
		}
	}
	return found
}

// closed are the windows that are over and not archived; of sessions those of a process.
func (t *Tracker) closed(of *process) []*window {
	all := slices.Concat(t.closing, t.settled)
	for _, w := range []*window{of.session, of.whole} {
		if w != nil && !w.isOpen {
			all = append(all, w)
		}
	}
	return all
}

// beforeMove remembers how much was there when the first block of a meter moves in a window.
func (w *window) beforeMove(a *allocations, key heldKey) {
	if w.kind == kindBetween || w.tallies[key.meter] != nil {
		return
	}
	if w.tallies == nil {
		w.tallies = map[event.Meter]*tallies{}
	}
	if w.isSettled {
		w.tallies[key.meter] = &tallies{done: &settled{}}
		return
	}
	total := a.of(key).total
	w.tallies[key.meter] = &tallies{byStack: map[uint64]*tally{}, highest: total, first: total}
}

// of is a stack's tally, nil if there is no room for one more. It has what the process has of the stack.
func (all *tallies) of(a *allocations, key heldKey, stack uint64) *tally {
	y := all.byStack[stack]
	if y == nil {
		if a.entries >= maxTallies {
			a.dropped++
			return nil
		}
		a.entries++
		held := a.of(key).byStack[stack]
		y = &tally{stack: stack, atPeak: held, held: held}
		all.byStack[stack] = y
	}
	return y
}

func (w *window) move(a *allocations, key heldKey, before, after block) {
	all := w.tallies[key.meter]
	if w.isSettled && all != nil {
		all.wrong = true
		return
	}
	if all == nil { // the time between cells is not listed
		return
	}
	if all.isWarm() {
		all.cool(a, key, w.process.ranCells)
	}
	if before.size > 0 {
		if y := all.of(a, key, before.stack); y != nil {
			y.freed += before.size
			all.moves(y, -before.size, w.process.ranCells)
		}
	}
	if after.size > 0 {
		if y := all.of(a, key, after.stack); y != nil {
			y.allocated += after.size
			y.count++
			all.moves(y, after.size, w.process.ranCells)
		}
	}
	if total := a.of(key).total; total > all.highest {
		all.highest = total
		for _, y := range all.moved {
			y.isMoved = false
			all.hadAtPeak(y, y.held)
		}
		all.moved = all.moved[:0]
	}
}

// shift changes what a stack held from the window's beginning on. Without a tally it does so by itself.
func (all *tallies) shift(a *allocations, key heldKey, stack uint64, by event.Bytes) {
	all.highest += by
	all.first += by
	if all.byStack[stack] == nil && a.of(key).byStack[stack]+by >= 0 {
		return
	}
	if y := all.of(a, key, stack); y != nil {
		y.held += by
		all.hadAtPeak(y, y.atPeak+by)
	}
}

// hadAtPeak notes what a stack held at the peak. Less than nothing is what a loss looks like.
func (all *tallies) hadAtPeak(y *tally, held event.Bytes) {
	if held < 0 {
		all.wrong, held = true, 0
	}
	y.atPeak = held
}

func (all *tallies) moves(y *tally, by event.Bytes, cells int32) {
	y.held += by
	if y.cells != cells {
		y.cells, y.since = cells, 0
	}
	y.since += by
	if !y.isMoved {
		y.isMoved = true
		all.moved = append(all.moved, y)
	}
}

// missesStacks says whether stacks of a meter were not walked at some time in the window.
func (w *window) missesStacks(m event.Meter) bool {
	misses := func(stacks string) bool { return slices.Contains(w.unwalked, stacks) }
	switch {
	case isActive(m):
		return misses(event.TensorStacks)
	case isHeap(m):
		return misses(event.HeapStacks)
	case m == event.Mapped:
		return misses(event.MappedStacks) || misses(event.SmallStacks)
	case isArray(m):
		return misses(event.Stacks) || misses(event.SmallStacks)
	}
	return misses(event.Stacks)
}

// allocationsOf lists who allocated in a window, behind what out has, and adds to coverage how far that explains its peaks.
func (t *Tracker) allocationsOf(w *window, out []report.Allocation, coverage map[string]report.Coverage) []report.Allocation {
	tallies := t.talliesOf(w)
	for m, all := range tallies {
		s := all.settle(&t.allocations, heldKey{w.process.info.PID, m}, w.keeps())
		own := w.own.of(m)
		peak := own.highest()
		c := report.Coverage{
			AtPeak: int64(s.known), Rest: int64(peak - s.known),
			Unlisted: s.stacks, UnlistedAtPeak: int64(s.rest.atPeak), UnlistedNet: int64(s.rest.allocated - s.rest.freed), UnlistedAllocated: int64(s.rest.allocated),
			Exact: peak-own.start == all.highest-all.first && own.end-own.start == s.net && !slices.Contains(w.shed, m) && !all.wrong && !w.missesStacks(m),
		}
		listed, rest := t.divide(w, s)
		out = slices.Grow(out, len(listed))
		for _, y := range listed {
			out = append(out, t.allocation(w, m, y))
		}
		for _, y := range rest {
			c.Unlisted++
			c.UnlistedAtPeak += int64(y.atPeak)
			c.UnlistedNet += int64(y.allocated - y.freed)
			c.UnlistedAllocated += int64(y.allocated)
		}
		coverage[m.String()] = c
	}
	slices.SortFunc(out, compareAllocations)
	return out
}

func compareAllocations(x, y report.Allocation) int {
	if c := cmp.Or(cmp.Compare(y.AtPeak, x.AtPeak), cmp.Compare(y.Allocated, x.Allocated), cmp.Compare(x.Meter, y.Meter)); c != 0 {
		return c
	}
	if c := slices.CompareFunc(x.Stack, y.Stack, compareFrames); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(y.Freed, x.Freed), cmp.Compare(y.Count, x.Count))
}

// listing says how many allocations of a meter are listed in a window, the most at the peak first: so few in any case, more of them only
// if they have a share of the heaviest, and so many at most. What is not listed is added up.
type listing struct{ few, most, share int }

var (
	listingOfSession   = listing{few: 1000, most: 1000, share: 1} // and of experiments
	listingOfCell      = listing{few: 20, most: 80, share: 1000}
	listingOfStatement = listing{few: 3, most: 8, share: 100}
)

// divide parts what a window has kept into what a report lists, and the rest. Neither is to be changed, and both go when it is called again.
func (t *Tracker) divide(w *window, s *settled) (listed, rest []doneTally) {
	if s.isShort {
		return s.tallies, nil
	}
	listed, rest = t.divided.listed[:0], t.divided.rest[:0]
	for i, y := range t.sameLines(s.tallies) {
		if w.lists(i, y, s.heaviest) {
			listed = append(listed, y)
		} else {
			rest = append(rest, y)
		}
	}
	t.divided.listed, t.divided.rest = listed, rest
	return listed, rest
}

// lists says whether a window lists what is the i-th heaviest.
func (w *window) lists(i int, y doneTally, heaviest event.Bytes) bool {
	l := listingOfSession
	switch w.kind {
	case kindCell:
		l = listingOfCell
	case kindStatement:
		l = listingOfStatement
	}
	return i < l.few || i < l.most && max(y.atPeak, y.allocated) > heaviest/event.Bytes(l.share)
}

// divided is memory to divide in, window by window.
type divided struct {
	all, listed, rest []doneTally
	// at is where in all the tally of each stack is, by the stack's place in the table, from 1; of 0 those that are not there. It is of
	// the turn it says, and of no other.
	at   []turnedAt
	turn uint32
}

type turnedAt struct{ turn, at uint32 }

// sameLines adds up what is of the same lines, the most at the peak first.
func (t *Tracker) sameLines(tallies []doneTally) []doneTally {
	d, table := &t.divided, &t.allocations.stacks
	if d.turn++; d.turn == 0 || len(d.at) <= len(table.stacks) {
		d.at, d.turn = make([]turnedAt, len(table.stacks)+len(table.stacks)/4+1), 1
	}
	out := d.all[:0]
	for _, y := range tallies {
		place := table.place(y.stack) // 0 where there was none, it was not walked, or it was lost
		before := &d.at[place]
		if before.turn == d.turn {
			out[before.at].add(&y)
			continue
		}
		*before = turnedAt{d.turn, uint32(len(out))}
		if y.stack = 0; place > 0 {
			y.stack = table.stacks[place-1].number
		}
		out = append(out, y)
	}
	d.all = out
	slices.SortFunc(out, heavier)
	return out
}

func (y *doneTally) add(of *doneTally) {
	y.allocated += of.allocated
	y.freed += of.freed
	y.atPeak += of.atPeak
	y.count += of.count
}

func (t *Tracker) allocation(w *window, m event.Meter, y doneTally) report.Allocation {
	stack := t.allocations.stacks.of(y.stack)
	return report.Allocation{
		Meter: m.String(), Stack: t.frames(w, stack), StackTruncated: stack != nil && stack.more,
		Allocated: int64(y.allocated), Freed: int64(y.freed), Net: int64(y.allocated - y.freed), AtPeak: int64(y.atPeak), Count: y.count,
	}
}

// cellOf is the cell that a file name stands for, by its number, seen from a window: itself, or the latest that began before its end.
func (t *Tracker) cellOf(w *window, pid int32, number uint32) *window {
	file := t.allocations.stacks.names[number]
	cells := t.ranIn(pid, number)
	for c := w; c != nil && len(cells) > 0; c = c.parent {
		if c.kind == kindCell && c.file == file && c.process.info.PID == pid {
			return c
		}
	}
	n := len(cells)
	if !w.isOpen {
		n = sort.Search(n, func(i int) bool { return cells[i].opened > w.closed })
	}
	if n == 0 {
		return nil
	}
	return cells[n-1]
}

// ranIn are the cells that a file name stands for. The names of a report are few, and asked for again and again.
func (t *Tracker) ranIn(pid int32, number uint32) []*window {
	if n := len(t.allocations.stacks.names); len(t.ran) < n {
		t.ran = slices.Grow(t.ran, n-len(t.ran))[:n]
	}
	one := &t.ran[number]
	if one.pid != pid {
		*one = ran{pid, t.files[fileKey{pid, t.allocations.stacks.names[number]}]}
	}
	return one.cells
}

// ran are the cells that a file name stands for in a process, 0 for not known.
type ran struct {
	pid   int32
	cells []*window
}

// fileKey is the name of a cell's code in a process.
type fileKey struct {
	pid  int32
	file string
}

func compareFrames(x, y report.Frame) int {
	return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Function, y.Function), cmp.Compare(x.Module, y.Module))
}

func frameKey(frames []report.Frame) string {
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
