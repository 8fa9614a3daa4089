package attribution

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

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

// flow is what the processes of a tree have allocated since it was last taken, by stack.
type flow struct {
	allocated map[event.Meter]map[uint64]event.Bytes
	entries   int
	values    map[course.Key]valueAt // of processes that live
}

// valueAt is the value of a meter after a change in a segment.
type valueAt struct {
	segment uint64
	bytes   event.Bytes
}

// notKept is the number that stands for stacks without room.
const notKept = 0x6e07_4e97_0000_0001

// add adds a block that was allocated.
func (f *flow) add(h *stacks.Holdings, key course.Key, b stacks.Block) {
	if f == nil || b.Size <= 0 {
		return
	}
	by := f.of(key.Meter)
	switch _, known := by[b.Stack]; {
	case known:
	case f.entries >= h.Known.Room.Tallies:
		h.Dropped++
		b.Stack = notKept
	default:
		f.entries++
	}
	by[b.Stack] += b.Size
}

// drop adds a block that was allocated, and has no room in the ledger.
func (f *flow) drop(key course.Key, size event.Bytes) {
	if f != nil && size > 0 {
		f.of(key.Meter)[notKept] += size
	}
}

func (f *flow) of(m event.Meter) map[uint64]event.Bytes {
	by := f.allocated[m]
	if by == nil {
		by = map[uint64]event.Bytes{}
		f.allocated[m] = by
	}
	return by
}

// leads records the value that a change leads to.
func (f *flow) leads(c *event.Change) {
	if c.Size != 0 {
		f.values[course.Key{PID: c.PID, Meter: c.Meter}] = valueAt{c.Segment, c.Value}
	}
}

// clear begins again.
func (f *flow) clear() {
	*f = flow{allocated: map[event.Meter]map[uint64]event.Bytes{}, values: map[course.Key]valueAt{}}
}

// flowSum is a part of a flow, of the same lines.
type flowSum struct{ allocated, held event.Bytes }

// flows makes the flows of the meters of blocks, and begins again.
func (pr *profiler) flows(pid int32) (out []Flow) {
	defer pr.ledger.flow.clear()
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
	f := Flow{Meter: m.String(), Dropped: pr.ledger.missing(), Held: int64(pr.value(root, m))}
	sums := map[uint64]flowSum{}
	for stack, bytes := range pr.ledger.flow.allocated[m] {
		pr.used = append(pr.used, stack)
		one := sums[stack]
		one.allocated += bytes
		sums[stack] = one
	}
	for key, held := range pr.ledger.Held {
		if key.Meter == m {
			for stack, bytes := range held.ByStack {
				one := sums[stack]
				one.held += bytes
				sums[stack] = one
			}
		}
	}
	w := pr.core.Processes.SessionOf(root)
	if w != nil {
		w = pr.core.Table.Whole(w)
	}
	f.Exact, f.Bound = pr.core.Figurer.Quality(m, w)
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
			if s := pr.core.Stacks.Of(number); s != nil && w != nil {
				f.Stacks[i].Frames, f.Stacks[i].Truncated = pr.core.Symbolizer.Frames(w, s), s.More
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
	r := pr.core.Processes.Tree(of.Root)
	sum := r.Gauges.Value(m)
	for key, last := range pr.ledger.flow.values {
		if p := pr.core.Processes.ByPID[key.PID]; key.Meter == m && p != nil && !p.Ended && last.segment > r.Ended {
			sum += last.bytes - p.Gauges.Value(m)
		}
	}
	return sum
}
