package tracer

import (
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
	"ipytracer/tracer/internal/budget"
	"ipytracer/tracer/internal/lastlook"
	"ipytracer/tracer/internal/running"
	"ipytracer/tracer/internal/tracee"
)

// intake is the [ledger.Sink] for the records of the kernel half. It adds facts that only user space has, and queues
// the records as events.
type intake struct {
	*trace
	examiner  *examiner
	budget    *budget.Budget
	devices   *tracee.Devices
	watches   *tracee.Watches
	live      *lastlook.Live
	limits    *limits
	allowance *allowance
	counters  counters
	lines     lineMaker

	containers tracee.Containers
}

var _ ledger.Sink = (*intake)(nil)

// Change queues a value of the change stream.
func (i *intake) Change(c *event.Change) {
	if i.allowance.isCrowded(i.queue.waiting()) {
		return
	}
	if i.options.Holders {
		i.live.Change(c)
	}
	i.queue.addChange(c)
}

// Reading queues the values that a boundary has for another process.
func (i *intake) Reading(r *event.Reading) { i.queue.add(r) }

// Refusal queues a request for memory that was refused.
func (i *intake) Refusal(r *event.Refusal) { i.queue.add(r) }

// Foreign queues that memory of another process was opened or closed.
func (i *intake) Foreign(f *event.Foreign) { i.queue.add(f) }

// LibrariesChanged records that a process's mappings must be listed again.
func (i *intake) LibrariesChanged(pid int32) {
	if t := i.targets.Find(int(pid)); t != nil {
		t.Mappings.Stale = true
		if t.Natives.Places != nil {
			i.code.Natives.Remap(t)
		}
	}
}

// Boundary completes a boundary with data that only user space has, and queues it.
func (i *intake) Boundary(b *event.Boundary, extra ledger.BoundaryExtra) {
	i.containers.Separate(b, extra.Watched) // at once: the next cell may begin any moment
	i.limits.recordChild(b)
	i.code.Cells.Past.Changed(b)
	i.complete(i.targets.Find(int(b.PID)), b, extra)
	i.live.Boundary(b)
	i.devices.Sample(b)
	i.counters.sample(b)
	i.containers.Divide(b)
	i.queue.add(b)
	if b.Kind == event.ProcessExit {
		i.queue.add(i.watches.Ending(b, extra))
	}
	if b.Late {
		if c := i.code.Cells.Open[b.Cell]; c != nil && c.Found != nil {
			i.queue.add(c.Found)
		}
	}
}

// complete fills in the fields that the kernel half cannot fill, by the boundary's kind, and updates the session. t is
// nil if the process is no target.
func (i *intake) complete(t *tracee.Target, b *event.Boundary, extra ledger.BoundaryExtra) {
	switch b.Kind {
	case event.StatementOpen:
		c := i.code.Cells.Cell(b.Cell, b.PID)
		c.Ran = true
		if t != nil && t.Python != nil {
			b.Line = running.LineIn(c.Lines,
				int32(cpython.FirstLine(t.Python.Binary.Version(), extra.FirstLine, extra.LineTable)))
		}
	case event.ExperimentBegin, event.ExperimentEnd:
		b.Experiment = strings.TrimSuffix(b.Experiment, ">")
	case event.Line:
		b.Descriptor = strings.TrimSuffix(b.Descriptor, ">")
		if t != nil && !t.Gone {
			i.lines.TakeOver(t.PID, b.Descriptor)
		}
	case event.CellOpen:
		i.cellOpened(t, b)
	case event.CellResult:
		c := i.code.Cells.Cell(b.Cell, b.PID)
		if t != nil && t.Python != nil {
			b.Outcome = i.code.Cells.Outcome(t, b, i.ledger.CellsOpened, extra.Told, c.Ran)
		}
		c.Decided = b.Outcome
	case event.CellClose:
		i.cellClosed(t, b, extra.Told)
	case event.ProcessExec, event.ProcessStart:
		i.processChanged(t, b, extra)
	case event.ProcessExit:
		i.noteOverlookedEnd(b, extra)
		if t != nil {
			i.examiner.sayUnseen(t)
			i.examiner.sayHeap(t)
			i.probes.Placer.Release(t)
			t.Gone, t.Ended = true, time.Now()
		}
		i.code.Cells.Forget(b.PID)
	case event.MeterShed:
		switch extra.Foreign {
		case 0:
			i.budget.Pause(b.Root, extra.Group)
			b.Group, b.Probes = extra.Group.About()
		case ledger.ForeignCounted:
			b.Group = countedBy(extra.Group)
		default:
			if b.Group = event.ForeignArrays; t != nil && t.NumPy != nil {
				t.NumPy.Pass(extra.Foreign)
			}
		}
	case event.MeterBack:
		switch b.Group, b.Probes = extra.Group.About(); extra.Foreign {
		case 0:
		case ledger.ForeignCounted:
			b.Group, b.Probes = countedBy(extra.Group), ""
		default:
			b.Group, b.Probes = event.ForeignArrays, ""
		}
	}
}

// countedBy returns the group of stacks that are not known of blocks that a process counts itself. g has their probes.
func countedBy(g ledger.Group) event.Group {
	switch g {
	case ledger.GroupHeap:
		return event.CountedHeap
	case ledger.GroupTorchCPU:
		return event.CountedTensors
	}
	return event.CountedArrays
}

// cellOpened records a cell that opens, and reads len(In) if the kernel half did not know the list yet.
func (i *intake) cellOpened(t *tracee.Target, b *event.Boundary) {
	c := i.code.Cells.Cell(b.Cell, b.PID)
	if !b.Late {
		i.code.Cells.Newest = max(i.code.Cells.Newest, b.Cell)
	}
	if b.Late {
		b.File, b.Inputs = c.File, c.Inputs
		return
	}
	c.PID, c.File = b.PID, b.File
	if t == nil || t.Python == nil {
		return
	}
	t.Python.Unseen = 0 // len(In) accounts for the unseen cells from now on
	known := b.Inputs >= 0 || b.Inputs == event.InputsElsewhere
	if !known && t.Python.Inputs == 0 {
		i.examiner.learn(t)
	}
	if !known && t.Python.Inputs != 0 {
		if n, err := t.Python.Live.ListLen(t.Python.Inputs); err == nil {
			b.Inputs = t.Python.OneMore(n)
		}
	}
	t.Python.Stored = max(t.Python.Stored, b.Inputs)
}

// cellClosed determines how a cell ended. An outcome that was determined at the cell's result stays.
func (i *intake) cellClosed(t *tracee.Target, b *event.Boundary, told bool) {
	c := i.code.Cells.Cell(b.Cell, b.PID)
	delete(i.code.Cells.Open, b.Cell)
	if !c.Told && (c.Kind != 0 || len(c.Compiled) > 0) { // chunks of its text are missing
		i.queueSource(i.code.Cells.Tell(b.Cell, c))
	}
	if b.Outcome == event.OutcomeMissed {
		return
	}
	if t != nil && t.Python != nil {
		b.Outcome = i.code.Cells.Outcome(t, b, i.ledger.CellsOpened, told, c.Ran)
	}
	if c.Decided != event.OutcomeUnknown {
		b.Outcome = c.Decided
	}
}

// processChanged takes in that a traced process starts or executes a program, which may be a Python.
func (i *intake) processChanged(t *tracee.Target, b *event.Boundary, extra ledger.BoundaryExtra) {
	if c, err := i.fs.Proc(int(b.PID)).Cmdline(); err == nil {
		b.Command = strings.ToValidUTF8(strings.Join(c.Args, " "), "?")
	}
	if b.Kind != event.ProcessExec {
		return
	}
	i.noteOverlookedEnd(b, extra)
	if t != nil && t.IsRoot() && (ownership{i.fs, i.options.Owner}).isLost(t) {
		i.end.stopped = "the target executed a program with rights that its user has not"
		return
	}
	if t != nil {
		t.OwnHeap.End() // its library has gone with the program before
		t.OwnHeap = nil
	}
	if extra.NamedPython {
		i.examiner.overlooked.begin(b, b.CPUTime)
	} else if t == nil {
		return // a child that is no Python is measured, but not examined
	}
	known := t != nil
	if !known {
		t = &tracee.Target{PID: int(b.PID), Root: b.Root, Child: true, Limited: i.limits.guards != nil}
		var err error
		if t.Handle, err = i.fs.Open(t.PID); err != nil {
			return
		}
	}
	// A process with a handle and a slot belongs to the tree, even if the pid has been reused since the record.
	slot, err := i.ledger.Slot(t.PID)
	if err != nil || i.probes.Placer.HasEnded(t) {
		if !known {
			_ = t.Close()
		}
		return // it has ended meanwhile
	}
	if !known {
		i.targets.All = append(i.targets.All, t)
	}
	i.examiner.sayUnseen(t)
	t.CloseProbes()
	i.code.Natives.Forget(t)
	t.Identified = false // its slot is a new one
	if t.Python != nil {
		t.Python.Close()
		t.Python = nil
	}
	t.Slot, t.Patience, t.Looked = slot, tracee.PythonPatience, time.Time{}
}

// noteOverlookedEnd records the end of a Python that was not examined yet, if it is one.
func (i *intake) noteOverlookedEnd(b *event.Boundary, extra ledger.BoundaryExtra) {
	if _, known := i.examiner.overlooked.running[b.PID]; known {
		i.examiner.overlooked.end(b.PID, i.targets.RootOf(b.Root, b.PID), b.Time, b.CPUTime, extra.Imports)
	}
}

// Source collects the chunks of a cell's text, and queues the text once it is complete.
func (i *intake) Source(chunk *ledger.SourceChunk) {
	i.queueSource(i.code.Cells.AddChunk(chunk))
}

// queueSource queues a cell's text, if there is one.
func (i *intake) queueSource(source *event.CellSource) {
	if source != nil {
		i.queue.add(source)
	}
}

// Code stores a code object for the stacks that follow.
func (i *intake) Code(c *ledger.Code) {
	if t := i.targets.Find(int(c.PID)); t != nil && t.Python != nil && i.allowance.givenUp == "" {
		i.code.Codes.Add(t.Python, c)
	}
}

// Stack turns the instructions of a stack into lines, and queues the stack.
func (i *intake) Stack(from *ledger.Stack) {
	if i.allowance.givenUp != "" {
		return
	}
	out := i.code.Codes.Stack(from, &i.code.Cells)
	i.queue.add(out)
	i.code.Natives.Keep(i.options.Native, out)
}

// StackCopy unwinds the copy of a stack that the kernel half could not unwind, and queues the stack. It passes the
// rules for unwinding that it found to the kernel half.
func (i *intake) StackCopy(c *ledger.StackCopy) {
	t := i.targets.Find(int(c.PID))
	if t == nil || t.Python == nil || t.Slot != c.Slot || i.allowance.givenUp != "" {
		return
	}
	i.code.Natives.CatchUp(t)
	text := t.Python.File.Mapping
	inPython := func(pc uint64) bool { return pc >= text.Start && pc < text.End }
	out := ledger.NativeStack{PID: c.PID, Number: c.Number, Python: c.Python}
	if !inPython(c.IP) { // as in bpf/native.h
		out.PCs, out.Leaf = append(out.PCs, c.IP), true
	}
	registers := elffile.Registers{IP: c.IP, SP: c.SP, BP: c.BP, Link: c.Link}
	calls, end := elffile.Unwind(registers, c.Memory, ledger.MaxNative-len(out.PCs),
		func(pc uint64, leaf bool) elffile.Rule { return i.code.Natives.Rule(t, pc, leaf) },
		func(pc uint64) bool { return c.Python != 0 && inPython(pc) })
	out.PCs, out.End = append(out.PCs, calls...), nativeEnds[end]
	i.NativeStack(&out)
}

var nativeEnds = [...]ledger.NativeEnd{
	elffile.EndFull: ledger.NativeFull, elffile.EndOutermost: ledger.NativeOutermost,
	elffile.EndStopped: ledger.NativePython,
	elffile.EndUnknown: ledger.NativeUnknown,
}

// NativeStack queues a native stack. It looks up the files of the code at once: the library may be unloaded soon.
func (i *intake) NativeStack(from *ledger.NativeStack) {
	if i.allowance.givenUp != "" {
		return
	}
	out := &event.Stack{Number: from.Number, PID: from.PID}
	i.queue.add(out)
	i.code.Natives.Queue(out, from)
}
