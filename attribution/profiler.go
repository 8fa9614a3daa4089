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

// profiler is the part of a [Monitor] that knows who allocated: the live blocks, and the stacks that these refer to.
// Both have a bounded room. What finds none counts under a name of its own, so sums stay exact.
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

// finished returns the cells that closed since the last call. Of them, only what their names need is kept.
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
	all := m.profiler.flows(int32(pid))
	m.profiler.sweep()
	return all
}

// Forgotten says that stacks which were sent before are sent again when they are next met (tracer.ForgetStacks). The
// next call of [Monitor.Flows] forgets those that were not, unless a block or an open cell refers to them.
func (m *Monitor) Forgotten() {
	if m.profiler != nil {
		m.profiler.core.Stacks.Era++
	}
}

// IsCrowded reports whether half of the room for stacks is taken.
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

// Keeps reports that cells are kept, for the names of their code.
func (*profiledBlocks) Keeps(kind windows.WindowKind) bool { return kind == windows.KindCell }

// Move takes in a change. The blocks of a process that has ended are gone.
func (l *profiledBlocks) Move(tree *windows.Tree, change *event.Change) {
	if p := l.Processes.ByPID[change.PID]; p == nil || p.Ended {
		l.Flow.Drop(course.Key{PID: change.PID, Meter: change.Meter}, change.Size)
		return
	}
	l.Flow.Leads(change)
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
	had := false
	for key := range l.Held {
		if key.PID == pid {
			l.CopyAll(key)
			delete(l.Held, key)
			had = true
		}
	}
	for key := range l.Flow.Values {
		if key.PID == pid {
			delete(l.Flow.Values, key)
		}
	}
	if !had {
		return
	}
	for at := range l.Live {
		if at.PID == pid {
			delete(l.Live, at)
		}
	}
}

// Flow is the memory of one meter that a process and its children have allocated since the last [Monitor.Flows], and
// that they hold now. Its parts add up to both.
type Flow struct {
	Meter     string
	Allocated int64 // bytes
	// Held is the meter's value. Known is how much of it the stacks explain; it is more than that where records were
	// lost.
	Held, Known int64
	// Exact and Bound are as in [model.Figure], for the whole session so far.
	Exact  bool
	Bound  *int64
	Stacks []FlowStack
	// Dropped is the number of blocks, tallies and stacks, of all meters, that have found no room so far.
	Dropped int
}

// FlowStack is the part of one stack.
type FlowStack struct {
	Frames    []model.Frame // innermost first
	Truncated bool          // there were more calls further out
	// Missing: there was a stack, but no room to keep it, or its record was lost. Otherwise no Python code allocated,
	// or the stack was not walked.
	Missing         bool
	Allocated, Held int64
}

// flowSum is a part of a flow, of the same lines.
type flowSum struct{ allocated, held event.Bytes }

// flows makes the flows of the meters of blocks, and begins again.
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

func (pr *profiler) flow(root *windows.Process, m event.Meter) Flow {
	f := Flow{Meter: m.String(), Dropped: pr.blocks.Missing(), Held: int64(pr.value(root, m))}
	sums := map[uint64]flowSum{}
	for stack, bytes := range pr.blocks.Flow.Allocated[m] {
		pr.used = append(pr.used, stack)
		one := sums[stack]
		one.allocated += bytes
		sums[stack] = one
	}
	for key, held := range pr.blocks.Held {
		if key.Meter == m {
			for stack, bytes := range held.ByStack {
				one := sums[stack]
				one.held += bytes
				sums[stack] = one
			}
		}
	}
	window := pr.core.Processes.SessionOf(root)
	if window != nil {
		window = pr.core.Table.Whole(window)
	}
	f.Exact, f.Bound = pr.core.Figurer.Quality(m, window)
	at := map[uint32]int{} // indexes in f.Stacks, by the stack's place in the table
	for _, number := range slices.Sorted(maps.Keys(sums)) {
		one := sums[number]
		f.Allocated += int64(one.allocated)
		f.Known += int64(one.held)
		place := pr.core.Stacks.Place(number)
		if place == 0 && number != 0 && number != stacks.SampleMark {
			place = ^uint32(0)
		}
		i, known := at[place]
		if !known {
			i = len(f.Stacks)
			at[place] = i
			f.Stacks = append(f.Stacks, FlowStack{Missing: place == ^uint32(0)})
			if s := pr.core.Stacks.Of(number); s != nil && window != nil {
				f.Stacks[i].Frames, f.Stacks[i].Truncated = pr.core.Symbolizer.Frames(window, s), s.More
			}
		}
		f.Stacks[i].Allocated += int64(one.allocated)
		f.Stacks[i].Held += int64(one.held)
	}
	slices.SortStableFunc(f.Stacks, func(x, y FlowStack) int {
		return cmp.Or(cmp.Compare(y.Held, x.Held), cmp.Compare(y.Allocated, x.Allocated),
			slices.CompareFunc(x.Frames, y.Frames, stacks.OrderFrames))
	})
	return f
}

// value returns the present value of a meter of a tree: that of the last boundary, moved by the changes after it.
func (pr *profiler) value(of *windows.Process, m event.Meter) event.Bytes {
	tree := pr.core.Processes.Tree(of.Root)
	sum := tree.Gauges.Value(m)
	for key, last := range pr.blocks.Flow.Values {
		if p := pr.core.Processes.ByPID[key.PID]; key.Meter == m && p != nil && !p.Ended && last.Segment > tree.Ended {
			sum += last.Bytes - p.Gauges.Value(m)
		}
	}
	return sum
}

// A profiler runs for as long as its kernel, which has new code in each cell. So stacks are forgotten: the kernel half
// forgets which ones it has sent, and sends each again when it is next met. A stack that was not sent again, and that
// nothing refers to, is dropped here.

// sweep drops the stacks that were not sent since the kernel half forgot them, unless they are needed.
func (pr *profiler) sweep() {
	t := pr.core.Stacks
	if !t.IsOld() {
		return
	}
	needed := map[uint64]bool{}
	for _, stack := range pr.used { // a thread's last stack is not sent again
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
