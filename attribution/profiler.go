package attribution

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/attribution/internal/activity"
	"ipytracer/attribution/internal/blocks"
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// profiler is the part of a [Monitor] that knows who allocated: it keeps the live blocks and their stacks. The room for
// both is bounded. A block without room counts under a stack of its own, so sums stay exact.
type profiler struct {
	core   *core
	blocks *profiledBlocks
	used   []uint64 // stacks that allocated in the last interval
}

// NewProfiler returns a Monitor with stacks, which has seen nothing: it knows what was allocated, see [Monitor.Flows].
func NewProfiler() *Monitor {
	s := monitored(stacks.RoomOfProfiler)
	l := &profiledBlocks{blocks.NewFlowing(s)}
	c := newCore(s, l, noChart{})
	return &Monitor{core: c, profiler: &profiler{core: c, blocks: l}}
}

// finished returns the cells that closed since the last call, and keeps of them only what their names need.
func (pr *profiler) finished() (out []model.Window) {
	for _, w := range pr.core.activity.TakeDone() {
		out = append(out, pr.core.Presenter.Window(pr.core.Table.Whole(w)))
		pr.core.Files.Shrink(w)
	}
	return out
}

// Flows returns what a process and its children have allocated since the last call, and hold now, by meter; nil for a
// Monitor without stacks. Stacks that nothing refers to are forgotten, see [Monitor.Forgotten].
func (m *Monitor) Flows(pid int) []Flow {
	if m.profiler == nil {
		return nil
	}
	flows := m.profiler.flows(int32(pid))
	m.profiler.sweep()
	return flows
}

// Forgotten tells the Monitor that the kernel half has forgotten which stacks it sent (tracer.ForgetStacks), and sends
// each again when it is next met. The next call of [Monitor.Flows] drops the stacks that were not sent again, unless a
// block or an open cell refers to them.
func (m *Monitor) Forgotten() {
	if m.profiler != nil {
		m.profiler.core.Stacks.Era++
	}
}

// IsCrowded reports whether more than half of the room for stacks is taken.
func (m *Monitor) IsCrowded() bool {
	if m.profiler == nil {
		return false
	}
	t := m.profiler.core.Stacks
	return 2*(len(t.Stacks)+len(t.Repeated)) > t.Room.Stacks || 2*len(t.Calls) > t.Room.Frames || 2*t.Text > t.Room.Text
}

// profiledBlocks is the keeper of blocks of a profiler.
type profiledBlocks struct{ *blocks.Blocks }

var _ activity.Blocks = (*profiledBlocks)(nil)

// Keeps reports whether windows of a kind are kept: cells, for the names of their code.
func (*profiledBlocks) Keeps(kind windows.WindowKind) bool { return kind == windows.KindCell }

// Move takes in a change. The blocks of a process that has ended are gone.
func (l *profiledBlocks) Move(tree *windows.Tree, change *event.Change) {
	if p := l.Processes.ByPID[change.PID]; p == nil || p.Ended {
		l.Flow.Drop(course.Key{PID: change.PID, Meter: change.Meter}, change.Size)
		return
	}
	l.Flow.RecordValue(change)
	l.Blocks.Move(tree, change)
}

// DividersAt returns nothing: an agent gives no advice.
func (*profiledBlocks) DividersAt(*event.Refusal) []windows.Divider { return nil }

// Boundary ends all blocks of a process that has executed another program.
func (l *profiledBlocks) Boundary(process *windows.Process, boundary *event.Boundary) {
	l.Blocks.Boundary(process, boundary)
	if boundary.Kind == event.ProcessExec {
		l.Ended(boundary.PID)
	}
}

// Ended drops all blocks of a process that has ended.
func (l *profiledBlocks) Ended(pid int32) {
	l.Blocks.Ended(pid)
	hadBlocks := false
	for key := range l.Held {
		if key.PID == pid {
			l.CopyAll(key)
			l.Holdings.Drop(key)
			hadBlocks = true
		}
	}
	for key := range l.Flow.Values {
		if key.PID == pid {
			delete(l.Flow.Values, key)
		}
	}
	if !hadBlocks {
		return
	}
	for at := range l.Live {
		if at.PID == pid {
			delete(l.Live, at)
		}
	}
}

// Flow has the memory of one meter that a process and its children allocated since the last [Monitor.Flows], and the
// memory that they hold now. The figures of its Stacks add up to Allocated and Known.
type Flow struct {
	Meter     string
	Allocated int64 // bytes
	// Held is the meter's value. Known is the part that the stacks explain. It exceeds Held if records of frees were
	// lost.
	Held, Known int64
	// Exact and Bound are as in [model.Figure], for the whole session so far.
	Exact  bool
	Bound  *int64
	Stacks []FlowStack
	// Dropped is the number of blocks, tallies and stacks, of all meters, that have found no room so far.
	Dropped int
}

// FlowStack is the part of a [Flow] that one stack allocated.
type FlowStack struct {
	Frames    []model.Frame // innermost first
	Truncated bool          // there were more calls further out
	// Missing: there was a stack, but no room to keep it, or its record was lost. If Missing is false and there are no
	// Frames, no Python code allocated, or the stack was not walked.
	Missing         bool
	Allocated, Held int64
}

// flowSum has the bytes of one stack in a flow.
type flowSum struct{ allocated, held event.Bytes }

// flows returns the flows of the meters of blocks since the last call, of a process and its children.
func (pr *profiler) flows(pid int32) (out []Flow) {
	defer pr.blocks.Flow.Clear()
	pr.used = pr.used[:0]
	root := pr.core.Processes.ByPID[pid]
	if root == nil {
		return nil
	}
	for _, m := range pr.core.GPUs.Meters {
		if m.Facts().InBlocks() && pr.core.GPUs.Shows(m, nil, root.Info.Python != "") {
			out = append(out, pr.flow(root, m))
		}
	}
	return out
}

// missingStack stands for the place of all stacks that are not in the table.
const missingStack = ^uint32(0)

// flow returns the flow of one meter.
func (pr *profiler) flow(root *windows.Process, m event.Meter) Flow {
	f := Flow{Meter: m.String(), Dropped: pr.blocks.Missing(), Held: int64(pr.value(root, m))}
	sums := map[uint64]flowSum{}
	for stack, bytes := range pr.blocks.Flow.Allocated[m] {
		pr.used = append(pr.used, stack)
		sum := sums[stack]
		sum.allocated += bytes
		sums[stack] = sum
	}
	for key, held := range pr.blocks.Held {
		if key.Meter == m {
			for stack, bytes := range held.ByStack {
				sum := sums[stack]
				sum.held += bytes
				sums[stack] = sum
			}
		}
	}
	window := pr.core.Processes.SessionOf(root)
	if window != nil {
		window = pr.core.Table.Whole(window)
	}
	f.Exact, f.Bound = pr.core.Figurer.Quality(m, window)
	indexes := map[uint32]int{} // indexes in f.Stacks, by the stack's place in the table
	for _, number := range slices.Sorted(maps.Keys(sums)) {
		sum := sums[number]
		f.Allocated += int64(sum.allocated)
		f.Known += int64(sum.held)
		place := pr.core.Stacks.Place(number)
		hadStack := number != 0 && number != stacks.SampleMark
		if place == 0 && hadStack {
			place = missingStack
		}
		i, known := indexes[place]
		if !known {
			i = len(f.Stacks)
			indexes[place] = i
			f.Stacks = append(f.Stacks, FlowStack{Missing: place == missingStack})
			if s := pr.core.Stacks.Of(number); s != nil && window != nil {
				f.Stacks[i].Frames, f.Stacks[i].Truncated = pr.core.Symbolizer.Frames(window, s), s.More
			}
		}
		f.Stacks[i].Allocated += int64(sum.allocated)
		f.Stacks[i].Held += int64(sum.held)
	}
	slices.SortStableFunc(f.Stacks, func(x, y FlowStack) int {
		return cmp.Or(cmp.Compare(y.Held, x.Held), cmp.Compare(y.Allocated, x.Allocated),
			slices.CompareFunc(x.Frames, y.Frames, stacks.OrderFrames))
	})
	return f
}

// value returns the present value of a meter of a tree: that of the last boundary, moved by the changes after it.
func (pr *profiler) value(process *windows.Process, m event.Meter) event.Bytes {
	tree := pr.core.Processes.Tree(process.Root)
	sum := tree.Gauges.Value(m)
	for key, last := range pr.blocks.Flow.Values {
		if p := pr.core.Processes.ByPID[key.PID]; key.Meter == m && p != nil && !p.Ended && last.Segment > tree.Ended {
			sum += last.Bytes - p.Gauges.Value(m)
		}
	}
	return sum
}

// A profiler runs as long as its kernel, which runs new code in each cell. So old stacks must be dropped. From time to
// time the kernel half forgets which stacks it has sent, and sends each again when it is next met. The profiler drops a
// stack that was not sent again and that nothing refers to.

// sweep drops the stacks that were not sent since the kernel half forgot them, unless they are needed.
func (pr *profiler) sweep() {
	t := pr.core.Stacks
	if !t.IsOld() {
		return
	}
	needed := map[uint64]bool{}
	for _, stack := range pr.used { // the kernel half does not send a thread's last stack again
		needed[t.Original(stack)] = true
	}
	for _, held := range pr.blocks.Held {
		for stack := range held.ByStack {
			needed[t.Original(stack)] = true
		}
	}
	t.Shrink(needed)
	pr.core.Symbolizer.Forget()
	pr.core.Files.Sweep()
}
