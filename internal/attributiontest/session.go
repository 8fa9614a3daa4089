// Package attributiontest makes up sessions for tests and benchmarks. They have events as the kernel half sends them,
// of notebooks of any size and of targets that try to exhaust the tracer's memory. It makes the same session for the
// same arguments, and checks no result.
package attributiontest

import (
	"math/rand/v2"
	"slices"

	"ipytracer/event"
)

// Kernel is the pid of the target of a made-up session.
const Kernel = int32(4242)

// Session is the state that the kernel half keeps of a tree of processes. Its methods emit events.
type Session struct {
	emit            func(event.Event)
	Random          *rand.Rand
	Now             event.Nanoseconds
	number, segment uint64
	stream          uint64
	processes       map[int32]*process
	alive           []*process // in the order in which they began
	tree, treeHigh  event.Readings
	inputs          int64
	address, stacks uint64
	held            []event.Change // changes that are late: they are emitted after the next boundary
	Losing          float64        // the share of the changes that are lost
	Late            float64        // the share of the changes that are late
	Crossed         float64        // the share of the boundaries with the time of an earlier or a later boundary
	Sampled         float64        // the share of the small blocks that are streamed as samples, or not at all
}

// process is a process of a session.
type process struct {
	pid         int32
	value, high event.Readings
	shared      event.Readings // with its parent, since it was forked
	moved       bool           // since the last boundary
	blocks      []block
	sampling
}

// New begins a session, and attaches to [Kernel].
func New(emit func(event.Event), seed uint64) *Session {
	s := &Session{emit: emit, Random: rand.New(rand.NewPCG(seed, 1)), Now: 1e9, segment: 1,
		processes: map[int32]*process{}, inputs: 1}
	var meters []event.MeterSource
	for m := range event.Meter(event.CPUMeters) {
		meters = append(meters, event.MeterSource{Meter: m, Source: "made up", Exact: true})
	}
	for m := range event.DeviceMeter(event.DeviceMeters) {
		meters = append(meters, event.MeterSource{Meter: event.OfDevice(0, m), Source: "made up", Exact: true})
	}
	s.emit(&event.Start{
		Host: event.Host{Name: "made-up", Kernel: "6.18", CPUs: 2, Memory: 16 << 30, Tracer: "test", WallNow: 1e18,
			MonoNow: 1e9},
		Processes: []event.ProcessInfo{{PID: Kernel, Command: "python3 -m ipykernel", Python: "3.11.2",
			IPython: "8.5.0", Frontend: "ipykernel", Inputs: 1}},
		Meters: meters,
	})
	s.born(Kernel)
	s.set(Kernel, event.Resident, 120<<20)
	s.set(Kernel, event.ResidentAnon, 80<<20)
	s.set(Kernel, event.ResidentFile, 40<<20)
	s.set(Kernel, event.Mapped, 300<<20)
	s.Boundary(event.Boundary{Kind: event.Attached, PID: Kernel, Inputs: -1})
	return s
}

// born adds a process.
func (s *Session) born(pid int32) *process {
	p := &process{pid: pid}
	s.processes[pid] = p
	s.alive = append(s.alive, p)
	return p
}

// set sets a meter's value without emitting a change.
func (s *Session) set(pid int32, m event.Meter, to event.Bytes) {
	p := s.processes[pid]
	s.tree[m] += to - p.value[m]
	p.value[m] = to
	p.high[m] = max(p.high[m], to)
	s.treeHigh[m] = max(s.treeHigh[m], s.tree[m])
	p.moved = true
}

// Value returns the value of a meter of a process.
func (s *Session) Value(pid int32, m event.Meter) event.Bytes { return s.processes[pid].value[m] }

// To sets a meter of pages to a value, and emits the change.
func (s *Session) To(pid int32, m event.Meter, to event.Bytes) {
	s.set(pid, m, to)
	s.change(event.Change{PID: pid, Meter: m, Value: to})
}

// Block allocates a block of a meter, or frees it if the size is negative.
func (s *Session) Block(pid int32, m event.Meter, size event.Bytes, address, stack uint64) {
	block{meter: m, size: size, address: address}.moves(s, s.processes[pid], size, stack)
}

// change numbers a change and emits it, unless it is lost or late.
func (s *Session) change(c event.Change) {
	s.stream++
	c.Stream, c.Segment, c.Time, c.TID = s.stream, s.segment, s.Now, c.PID
	switch x := s.Random.Float64(); {
	case x < s.Losing:
	case x < s.Losing+s.Late:
		s.held = append(s.held, c)
	default:
		s.emit(&c)
	}
}

// Make allocates a block at a new address and keeps it for Free.
func (s *Session) Make(pid int32, m event.Meter, size event.Bytes, stack uint64) {
	s.address += 1 << 32
	p := s.processes[pid]
	b := block{meter: m, size: size, address: s.address, as: p.draw(s.Random, s.Sampled, m, size)}
	b.moves(s, p, size, stack)
	p.blocks = append(p.blocks, b)
}

// Free frees one of the blocks that Make allocated: the last one, or a random one.
func (s *Session) Free(pid int32, newest bool) {
	p := s.processes[pid]
	if len(p.blocks) == 0 {
		return
	}
	i := len(p.blocks) - 1
	if !newest {
		i = s.Random.IntN(len(p.blocks))
	}
	b := p.blocks[i]
	p.blocks = slices.Delete(p.blocks, i, i+1)
	b.moves(s, p, -b.size, 0)
}

// Stack emits a stack of calls, and returns its number.
func (s *Session) Stack(pid int32, frames ...event.Frame) uint64 {
	s.stacks++
	s.emit(&event.Stack{Number: s.stacks * 0x9e3779b97f4a7c15, PID: pid, Frames: frames})
	return s.stacks * 0x9e3779b97f4a7c15
}

// Emit emits an event as it is.
func (s *Session) Emit(e event.Event) { s.emit(e) }

// Streamed returns the next number in the stream of changes, for an event that moves no meter, and the segment.
func (s *Session) Streamed() (stream, segment uint64) { s.stream++; return s.stream, s.segment }

// Boundary emits a boundary of a process with its fields about the state filled in, and readings of the other processes
// whose meters have moved. Another segment begins.
func (s *Session) Boundary(b event.Boundary) {
	p := s.processes[b.PID]
	s.number++
	s.Now += 50_000
	b.Number, b.Time, b.Segment, b.Stream, b.CPUTime = s.number, s.Now, s.segment, s.stream, s.Now/2
	if s.Crossed > 0 && s.Random.Float64() < s.Crossed {
		b.Time += event.Nanoseconds(s.Random.IntN(9)-4) * 50_000
	}
	if b.TID == 0 {
		b.TID = b.PID
	}
	b.Value, b.High, b.Tree, b.TreeHigh = p.value, p.high, s.tree, s.treeHigh
	s.emit(&b)
	for _, other := range s.alive {
		if other != p && other.moved {
			s.emit(&event.Reading{Number: s.number, PID: other.pid, Value: other.value, High: other.high})
		}
		other.moved, other.high = false, other.value
		other.sent = event.Readings{}
	}
	s.treeHigh = s.tree
	s.segment++
	for i := range s.held {
		s.emit(&s.held[i])
	}
	s.held = s.held[:0]
}

// Fork starts a child that shares its parent's memory.
func (s *Session) Fork(parent, pid int32) {
	from := s.processes[parent]
	p := s.born(pid)
	p.value, p.high, p.shared = from.value, from.value, from.value
	for m := range p.value {
		if !paged(event.Meter(m)) {
			p.value[m], p.high[m], p.shared[m] = 0, 0, 0
		}
	}
	s.Boundary(event.Boundary{Kind: event.ProcessStart, PID: pid, Parent: parent, Inputs: -1})
}

// paged reports whether a meter counts pages, which a child shares with its parent.
func paged(m event.Meter) bool { return m <= event.ResidentShmem }

// Exec replaces a child's program.
func (s *Session) Exec(pid int32, command string) {
	p := s.processes[pid]
	for m := range p.value {
		s.tree[m] -= p.value[m] - p.shared[m]
		p.value[m], p.high[m], p.shared[m] = 0, 0, 0
	}
	for m := range event.Meter(event.ResidentShmem) {
		s.set(pid, m, 1<<20)
	}
	s.Boundary(event.Boundary{Kind: event.ProcessExec, PID: pid, Command: command, Inputs: -1})
}

// Exit ends a process.
func (s *Session) Exit(pid int32) {
	p := s.processes[pid]
	s.Boundary(event.Boundary{Kind: event.ProcessExit, PID: pid, Inputs: -1})
	for m := range p.value {
		s.tree[m] -= p.value[m] - p.shared[m]
	}
	s.treeHigh = s.tree
	s.alive = slices.DeleteFunc(s.alive, func(x *process) bool { return x == p })
	delete(s.processes, pid)
}

// Alive reports whether a process has not ended.
func (s *Session) Alive(pid int32) bool { return s.processes[pid] != nil }

// OpenCell emits the begin of a cell, and its source. Like IPython it counts the cell as an input.
func (s *Session) OpenCell(cell, outer uint64, file, source string) {
	s.inputs++
	s.Boundary(event.Boundary{Kind: event.CellOpen, PID: Kernel, Cell: cell, Outer: outer, Inputs: s.inputs,
		File: file})
	s.emit(&event.CellSource{Cell: cell, PID: Kernel, Text: source})
}

// CloseCell emits the end of a cell.
func (s *Session) CloseCell(cell uint64, o event.Outcome) {
	s.Boundary(event.Boundary{Kind: event.CellClose, PID: Kernel, Cell: cell, Outcome: o, Inputs: -1})
}

// Of emits a boundary of a kind for a cell.
func (s *Session) Of(kind event.BoundaryKind, cell uint64, line int32, o event.Outcome) {
	s.Boundary(event.Boundary{Kind: kind, PID: Kernel, Cell: cell, Line: line, Outcome: o, Inputs: -1})
}

// Mark emits the begin or the end of an experiment.
func (s *Session) Mark(kind event.BoundaryKind, name string) {
	s.Boundary(event.Boundary{Kind: kind, PID: Kernel, Experiment: name, Inputs: -1})
}

// Pause emits the begin or the end of a pause of a group of probes.
func (s *Session) Pause(kind event.BoundaryKind, group event.Group) {
	b := event.Boundary{Kind: kind, PID: Kernel, Group: group, Inputs: -1}
	if group == event.OtherProbes {
		b.Probes = "the probes on x were stepped down"
	}
	s.Boundary(b)
}

// End emits the end of the session.
func (s *Session) End() {
	s.Boundary(event.Boundary{Kind: event.Detached, PID: Kernel, Inputs: -1})
	s.emit(&event.Finish{Time: s.Now, Reason: "interrupted", Made: s.stream, Delivered: s.stream})
}
