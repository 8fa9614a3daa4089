package attributiontest

import (
	"fmt"
	"slices"

	"ipytracer/event"
)

// Anything emits a session of random steps. By the seed, some changes are lost or late, some boundaries of two CPUs
// cross, and some small blocks are streamed as samples.
func Anything(emit func(event.Event), seed uint64, steps int) {
	s := New(emit, seed)
	if seed%2 == 1 {
		s.Losing = 0.02
	}
	s.Late = 0.03 * float64(seed%4)
	s.Crossed = 0.1 * float64(seed%3)
	s.Sampled = 0.45 * float64(seed/2%3)
	w := &wanderer{Session: s, next: Kernel + 1}
	for range steps {
		w.step()
	}
	s.End()
}

// wanderer is the state of a random session.
type wanderer struct {
	*Session
	cells    []uint64 // the open cells, the innermost last
	made     uint64   // cells so far
	next     int32    // the pid of the next child
	children []int32
	names    []string // of experiments
	result   bool     // the innermost cell has its result
	stated   bool     // a statement is open
	paused   map[event.Group]bool
	stacks   []uint64
}

// groups are the groups of probes that are paused.
var groups = []event.Group{event.ArrayProbes, event.SmallBlocks, event.TorchCPU, event.TorchTotals, event.Stacks,
	event.SmallStacks, event.MappedStacks, event.TensorStacks, event.HeapStacks, event.OtherProbes}

// step takes a random step. Cases that are listed more often are likelier.
func (w *wanderer) step() {
	switch w.Random.IntN(34) {
	case 0, 1, 2:
		w.open()
	case 3, 4, 5:
		w.close()
	case 6, 7, 8, 9:
		w.statement()
	case 10:
		name := fmt.Sprintf("e%d", w.Random.IntN(5))
		w.names = append(w.names, name)
		w.Mark(event.ExperimentBegin, name)
	case 11:
		w.Mark(event.ExperimentEnd, fmt.Sprintf("e%d", w.Random.IntN(6)))
	case 12:
		w.fork()
	case 13:
		w.child(func(pid int32) {
			w.Exec(pid, fmt.Sprintf("worker of %d", pid))
			if pid%3 == 0 {
				w.Emit(&event.Process{ProcessInfo: event.ProcessInfo{PID: pid, Command: "python3 worker.py",
					Python: "3.11.2", Inputs: -1}})
			}
		})
	case 14:
		w.child(func(pid int32) {
			w.Exit(pid)
			if i := slices.Index(w.children, pid); i >= 0 {
				w.children = slices.Delete(w.children, i, i+1)
			}
		})
	case 15:
		group := groups[w.Random.IntN(len(groups))]
		kind := event.MeterShed
		if w.paused == nil {
			w.paused = map[event.Group]bool{}
		}
		if w.paused[group] {
			kind = event.MeterBack
		}
		w.paused[group] = !w.paused[group]
		w.Pause(kind, group)
	case 16:
		stream, segment := w.Streamed()
		w.Emit(&event.Refusal{Stream: stream, Segment: segment, Time: w.Now, PID: Kernel, TID: Kernel,
			Meter: event.OfDevice(0, event.Active), Asked: 8 << 30, Held: 1 << 20})
	case 17:
		stream, segment := w.Streamed()
		w.Emit(&event.Foreign{Stream: stream, Segment: segment, Time: w.Now, PID: Kernel, TID: Kernel,
			Meter: event.OfDevice(0, event.Driver), Open: int64(w.Random.IntN(3)), Closed: w.Random.IntN(2) == 0})
	default:
		w.move()
	}
}

// open opens a cell, perhaps within another one.
func (w *wanderer) open() {
	if len(w.cells) > 3 || len(w.cells) > 0 && w.Random.IntN(3) > 0 {
		return
	}
	outer := uint64(0)
	if len(w.cells) > 0 {
		outer = w.cells[len(w.cells)-1]
	}
	w.made++
	w.cells = append(w.cells, w.made)
	w.OpenCell(w.made, outer, fmt.Sprintf("/tmp/ipykernel_1/%d.py", w.made%7), fmt.Sprintf("x = %d\nf(x)", w.made%7))
	w.result = false
}

// close gives the innermost cell its result, or closes it.
func (w *wanderer) close() {
	if len(w.cells) == 0 {
		return
	}
	cell := w.cells[len(w.cells)-1]
	if !w.result && w.Random.IntN(3) > 0 {
		w.Of(event.CellResult, cell, 0, event.Outcome(1+w.Random.IntN(3)))
		w.result = true
		return
	}
	w.CloseCell(cell, []event.Outcome{event.OutcomeOK, event.OutcomeError, event.OutcomeMissed, event.OutcomeAbandoned,
		event.OutcomeUnknown}[w.Random.IntN(5)])
	w.cells, w.result = w.cells[:len(w.cells)-1], false
}

// statement opens a statement in the innermost cell, or closes the open one.
func (w *wanderer) statement() {
	if len(w.cells) == 0 || w.result {
		return
	}
	cell := w.cells[len(w.cells)-1]
	if w.stated {
		w.Of(event.StatementClose, cell, 0, event.OutcomeOK)
	} else {
		w.Of(event.StatementOpen, cell, int32(1+w.Random.IntN(2)), 0)
	}
	w.stated = !w.stated
}

// fork forks a child, perhaps with a pid that was used before.
func (w *wanderer) fork() {
	parent := Kernel
	if len(w.children) > 0 && w.Random.IntN(3) == 0 {
		parent = w.children[w.Random.IntN(len(w.children))]
	}
	if len(w.children) > 12 {
		return
	}
	pid := w.next
	if w.Random.IntN(8) == 0 && !w.Alive(Kernel+1) { // a pid that was used before
		pid = Kernel + 1
	} else {
		w.next++
	}
	if w.Alive(pid) {
		return
	}
	w.children = append(w.children, pid)
	w.Fork(parent, pid)
}

// child calls do with the pid of a random child, if there is one.
func (w *wanderer) child(do func(int32)) {
	if len(w.children) > 0 {
		do(w.children[w.Random.IntN(len(w.children))])
	}
}

// move moves a random meter of a random process.
func (w *wanderer) move() {
	pid := Kernel
	if len(w.children) > 0 && w.Random.IntN(3) == 0 {
		pid = w.children[w.Random.IntN(len(w.children))]
	}
	stack := uint64(0)
	switch {
	case len(w.stacks) > 0 && w.Random.IntN(2) == 0:
		stack = w.stacks[w.Random.IntN(len(w.stacks))]
	case len(w.cells) > 0:
		stack = w.Stack(pid, event.Frame{Function: "f", File: "/lib/f.py", Line: int32(w.Random.IntN(5))},
			event.Frame{Function: "<module>", File: fmt.Sprintf("/tmp/ipykernel_1/%d.py", w.made%7),
				Line: int32(1 + w.Random.IntN(2))})
		w.stacks = append(w.stacks, stack)
	}
	size := event.Bytes(1+w.Random.IntN(1<<16)) << 12
	if w.Sampled > 0 && w.Random.IntN(2) == 0 {
		size = event.Bytes(1024 + w.Random.IntN(int(event.SampleOf)))
	}
	switch w.Random.IntN(8) {
	case 0, 1:
		w.To(pid, event.Resident, size)
	case 2:
		w.To(pid, event.ResidentAnon, size)
	case 3:
		w.Make(pid, event.NumPy, size, stack)
	case 4:
		w.Make(pid, []event.Meter{event.Mapped, event.Heap, event.Torch, event.Pinned}[w.Random.IntN(4)], size, stack)
	case 5:
		w.Make(Kernel, event.OfDevice(w.Random.IntN(2), event.DeviceMeter(w.Random.IntN(2))), size, stack)
	default:
		w.Free(pid, w.Random.IntN(2) == 0)
	}
}
