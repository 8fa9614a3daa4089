package tracer

import (
	"log/slog"
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/cpython"
	"ipytracer/tracer/internal/endings"
	"ipytracer/tracer/internal/lines"
)

// intake is the [ledger.Sink] for the records of the kernel half: it completes them with data that only user space has,
// and queues them.
type intake struct {
	log        *slog.Logger
	options    *Options
	fs         process.FS
	ledger     *kernelHalf
	queue      *eventQueue
	targets    *targets
	examiner   *examiner
	placer     *placer
	end        *windup
	allowance  *allowance
	budget     *budget
	counters   *counters
	cells      *cells
	codes      *codes
	natives    *natives
	devices    *devices
	limits     *limits
	watches    *endings.Watches
	overlooked *overlooked
	live       *live
	lines      *lines.Maker
}

var _ ledger.Sink = (*intake)(nil)

// Change queues a value of the change stream.
func (i *intake) Change(c *event.Change) {
	if i.allowance.isCrowded(i.queue.waiting()) {
		return
	}
	if i.options.Holders {
		i.live.change(c)
	}
	i.queue.change(c)
}

// Reading queues the values that a boundary has for another process.
func (i *intake) Reading(r *event.Reading) { i.queue.add(r) }

// Refusal queues a request for memory that was refused.
func (i *intake) Refusal(r *event.Refusal) { i.queue.add(r) }

// Foreign queues that memory of another process was opened or closed.
func (i *intake) Foreign(f *event.Foreign) { i.queue.add(f) }

// LibrariesChanged notes that a process's mappings are to be listed again.
func (i *intake) LibrariesChanged(pid int32) {
	if t := i.targets.find(int(pid)); t != nil {
		t.unlisted = true
		if t.natives.places != nil {
			i.natives.remap(t)
		}
	}
}

// Boundary completes a boundary with data that only user space has, and queues it.
func (i *intake) Boundary(b *event.Boundary, extra ledger.BoundaryExtra) {
	i.limits.note(b)
	i.cells.past.changed(b)
	i.complete(i.targets.find(int(b.PID)), b, extra)
	i.live.boundary(b)
	i.devices.sample(b)
	i.counters.sample(b)
	i.queue.add(b)
	if b.Kind == event.ProcessExit {
		i.queue.add(i.watches.Ending(b, extra))
	}
	if b.Late {
		if c := i.cells.open[b.Cell]; c != nil && c.found != nil {
			i.queue.add(c.found)
		}
	}
}

// complete fills in the fields that a boundary of its kind lacks, and updates the session for the event. t is nil where
// the process is no target.
func (i *intake) complete(t *target, b *event.Boundary, extra ledger.BoundaryExtra) {
	switch b.Kind {
	case event.StatementOpen:
		c := i.cells.cell(b.Cell, b.PID)
		c.ran = true
		if t != nil && t.python != nil {
			b.Line = lineIn(c.lines,
				int32(cpython.FirstLine(t.python.binary.Version(), extra.FirstLine, extra.LineTable)))
		}
	case event.ExperimentBegin, event.ExperimentEnd:
		b.Experiment = strings.TrimSuffix(b.Experiment, ">")
	case event.Line:
		b.Descriptor = strings.TrimSuffix(b.Descriptor, ">")
		if t != nil && !t.gone {
			i.lines.TakeOver(t.pid, b.Descriptor)
		}
	case event.CellOpen:
		i.cellOpened(t, b)
	case event.CellResult:
		c := i.cells.cell(b.Cell, b.PID)
		if t != nil && t.python != nil {
			b.Outcome = i.cells.outcome(t, b, i.ledger.CellsOpened, extra.Told, c.ran)
		}
		c.decided = b.Outcome
	case event.CellClose:
		i.cellClosed(t, b, extra.Told)
	case event.ProcessExec, event.ProcessStart:
		i.processChanged(t, b, extra)
	case event.ProcessExit:
		i.overlookedEnds(b, extra)
		if t != nil {
			i.examiner.sayUnseen(t)
			i.placer.release(t)
			t.gone, t.ended = true, time.Now()
		}
		i.cells.forget(b.PID)
	case event.MeterShed:
		if extra.Foreign != 0 {
			if b.Group = event.ForeignArrays; t != nil && t.numpy != nil {
				t.numpy.pass(extra.Foreign)
			}
			break
		}
		i.budget.shed(b.Root, extra.Group)
		b.Group, b.Probes = extra.Group.About()
	case event.MeterBack:
		if b.Group, b.Probes = extra.Group.About(); extra.Foreign != 0 {
			b.Group, b.Probes = event.ForeignArrays, ""
		}
	}
}

// cellOpened remembers the cell, and reads len(In) where the kernel did not know the list yet.
func (i *intake) cellOpened(t *target, b *event.Boundary) {
	c := i.cells.cell(b.Cell, b.PID)
	if !b.Late {
		i.cells.newest = max(i.cells.newest, b.Cell)
	}
	if b.Late {
		b.File, b.Inputs = c.file, c.inputs
		return
	}
	c.pid, c.file = b.PID, b.File
	if t == nil || t.python == nil {
		return
	}
	t.python.unseen = 0 // In now holds these cells
	known := b.Inputs >= 0 || b.Inputs == event.InputsElsewhere
	if !known && t.python.inputs == 0 {
		i.examiner.learn(t)
	}
	if !known && t.python.inputs != 0 {
		if n, err := t.python.live.ListLen(t.python.inputs); err == nil {
			b.Inputs = t.python.oneMore(n)
		}
	}
	t.python.stored = max(t.python.stored, b.Inputs)
}

// cellClosed determines how a cell ended. The outcome decided at its result stands; the records of hooks since then do
// not count for the next cell.
func (i *intake) cellClosed(t *target, b *event.Boundary, told bool) {
	c := i.cells.cell(b.Cell, b.PID)
	delete(i.cells.open, b.Cell)
	if !c.told && (c.kind != 0 || len(c.compiled) > 0) { // chunks are missing
		i.queueSource(i.cells.tell(b.Cell, c))
	}
	if b.Outcome == event.OutcomeMissed {
		return
	}
	if t != nil && t.python != nil {
		b.Outcome = i.cells.outcome(t, b, i.ledger.CellsOpened, told, c.ran)
	}
	if c.decided != event.OutcomeUnknown {
		b.Outcome = c.decided
	}
}

// processChanged notes a program that a traced process executes: it may be a Python.
func (i *intake) processChanged(t *target, b *event.Boundary, extra ledger.BoundaryExtra) {
	if c, err := i.fs.Proc(int(b.PID)).Cmdline(); err == nil {
		b.Command = strings.ToValidUTF8(strings.Join(c.Args, " "), "?")
	}
	if b.Kind != event.ProcessExec {
		return
	}
	i.overlookedEnds(b, extra)
	if t != nil && t.isRoot() && (ownership{i.fs, i.options.Owner}).isLost(t) {
		i.end.stopped = "the target executed a program with rights that its user has not"
		return
	}
	if extra.NamedPython {
		i.overlooked.begin(b, b.CPUTime)
	} else if t == nil {
		return // most children are not targets: they are measured, and not examined
	}
	known := t != nil
	if !known {
		t = &target{pid: int(b.PID), root: b.Root, child: true, limited: i.limits.guards != nil}
		var err error
		if t.handle, err = i.fs.Open(t.pid); err != nil {
			return
		}
	}
	// A process with a handle and a slot belongs to the tree, even if the pid has been reused since the record.
	slot, err := i.ledger.Slot(t.pid)
	if err != nil || i.placer.hasEnded(t) {
		if !known {
			_ = t.close()
		}
		return // it has ended since
	}
	if !known {
		i.targets.all = append(i.targets.all, t)
	}
	i.examiner.sayUnseen(t)
	t.closeProbes()
	i.natives.forget(t)
	t.identified = false // its slot is a new one
	if t.python != nil {
		t.python.close()
		t.python = nil
	}
	t.slot, t.patience, t.looked = slot, pythonPatience, time.Time{}
}

// overlookedEnds notes the end of a program that may not have been examined.
func (i *intake) overlookedEnds(b *event.Boundary, extra ledger.BoundaryExtra) {
	if _, known := i.overlooked.running[b.PID]; known {
		i.overlooked.end(b.PID, i.targets.rootOf(b.Root, b.PID), b.Time, b.CPUTime, extra.Imports)
	}
}

// Source collects the chunks of a cell's text, and queues the text once it is complete.
func (i *intake) Source(chunk *ledger.SourceChunk) {
	i.queueSource(i.cells.add(chunk))
}

// queueSource queues a cell's text, if there is one.
func (i *intake) queueSource(source *event.CellSource) {
	if source != nil {
		i.queue.add(source)
	}
}
