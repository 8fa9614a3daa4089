package tracer

import (
	"strings"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/ledger"
	"ipytracer/tracer/python/cpython"
)

// Change, Boundary, Reading and Source make a Session a ledger.Sink.

// Change queues a value of the change stream.
func (s *Session) Change(c *event.Change) {
	if s.allowance.isCrowded(len(s.queue) - s.next) {
		return
	}
	if len(s.changes) == cap(s.changes) {
		s.changes = make([]event.Change, 0, 512)
	}
	s.changes = append(s.changes, *c)
	if s.options.Holders {
		s.live.change(c)
	}
	s.queue = append(s.queue, &s.changes[len(s.changes)-1])
}

// Reading queues what a boundary says of another process.
func (s *Session) Reading(r *event.Reading) { s.queue = append(s.queue, r) }

// Refusal queues a request for memory that was refused.
func (s *Session) Refusal(r *event.Refusal) { s.queue = append(s.queue, r) }

// Foreign queues that memory of another process was opened or closed.
func (s *Session) Foreign(f *event.Foreign) { s.queue = append(s.queue, f) }

// LibrariesChanged notes that a process's mappings are worth a look.
func (s *Session) LibrariesChanged(pid int32) {
	if t := s.target(int(pid)); t != nil {
		t.unlisted = true
		if t.natives.places != nil {
			s.natives.remap(t)
		}
	}
}

// Boundary completes a boundary with what only user space can tell, and queues it.
func (s *Session) Boundary(b *event.Boundary, extra ledger.BoundaryExtra) {
	t := s.target(int(b.PID))
	s.limits.note(b)
	s.cells.past.changed(b)
	switch b.Kind {
	case event.StatementOpen:
		c := s.cells.cell(b.Cell, b.PID)
		c.ran = true
		if t != nil && t.python != nil {
			b.Line = lineIn(c.lines, int32(cpython.FirstLine(t.python.binary.Version(), extra.FirstLine, extra.LineTable)))
		}
	case event.ExperimentBegin, event.ExperimentEnd:
		b.Text = strings.TrimSuffix(b.Text, ">")
	case event.Line:
		b.Text = strings.TrimSuffix(b.Text, ">")
		s.lines.takeOver(t, b.Text)
	case event.CellOpen:
		s.cellOpened(t, b)
	case event.CellResult:
		c := s.cells.cell(b.Cell, b.PID)
		if t != nil && t.python != nil {
			b.Outcome = s.outcome(t, b, extra.Told, c.ran)
		}
		c.decided = b.Outcome
	case event.CellClose:
		s.cellClosed(t, b, extra.Told)
	case event.ProcessExec, event.ProcessStart:
		s.processChanged(t, b, extra)
	case event.ProcessExit:
		s.overlookedEnds(b, extra)
		if t != nil {
			s.sayUnseen(t)
			s.release(t)
			t.gone = true
		}
	case event.MeterShed:
		if extra.Foreign != 0 {
			if b.Text = event.ForeignArrays; t != nil && t.numpy != nil {
				t.numpy.pass(extra.Foreign)
			}
			break
		}
		s.budget.shed(b.Root, extra.Group)
		b.Text = extra.Group.Text()
	case event.MeterBack:
		if b.Text = extra.Group.Text(); extra.Foreign != 0 {
			b.Text = event.ForeignArrays
		}
	}
	s.live.boundary(b)
	s.devices.sample(b)
	s.counters.sample(b)
	s.queue = append(s.queue, b)
	if b.Kind == event.ProcessExit {
		s.queue = append(s.queue, s.watches.ending(b, extra))
	}
	if b.Late {
		if c := s.cells.open[b.Cell]; c != nil && c.found != nil {
			s.queue = append(s.queue, c.found)
		}
	}
}

// cellOpened remembers the cell, and reads len(In) where the kernel did not know the list yet.
func (s *Session) cellOpened(t *target, b *event.Boundary) {
	c := s.cells.cell(b.Cell, b.PID)
	if !b.Late {
		s.cells.newest = max(s.cells.newest, b.Cell)
	}
	if b.Late {
		b.Text, b.Inputs = c.file, c.inputs
		return
	}
	c.pid, c.file = b.PID, b.Text
	if t == nil || t.python == nil {
		return
	}
	t.python.unseen = 0 // what is in In now says it
	known := b.Inputs >= 0 || b.Inputs == event.InputsElsewhere
	if !known && t.python.inputs == 0 {
		s.learn(t)
	}
	if !known && t.python.inputs != 0 {
		if n, err := t.python.live.ListLen(t.python.inputs); err == nil {
			b.Inputs = t.python.oneMore(n)
		}
	}
	t.python.stored = max(t.python.stored, b.Inputs)
}

// oneMore is what len(In) was when a cell began, from what it is by now: later cells may have begun. IPython stores at most one for each.
func (p *python) oneMore(now int64) int64 {
	if p.stored <= 0 {
		return now
	}
	return min(now, p.stored+1)
}

// cellClosed finds out how a cell ended. What its result decided stands; what hooks have shown since is not the next cell's.
func (s *Session) cellClosed(t *target, b *event.Boundary, told bool) {
	c := s.cells.cell(b.Cell, b.PID)
	delete(s.cells.open, b.Cell)
	if !c.told && (c.kind != 0 || len(c.compiled) > 0) { // chunks are missing
		s.queueSource(s.cells.tell(b.Cell, c))
	}
	if b.Outcome == event.OutcomeMissed {
		return
	}
	if t != nil && t.python != nil {
		b.Outcome = s.outcome(t, b, told, c.ran)
	}
	if c.decided != event.OutcomeUnknown {
		b.Outcome = c.decided
	}
}

// processChanged notes a program that a traced process executes: it may be a Python.
func (s *Session) processChanged(t *target, b *event.Boundary, extra ledger.BoundaryExtra) {
	if c, err := s.fs.Proc(int(b.PID)).Cmdline(); err == nil {
		b.Text = strings.ToValidUTF8(strings.Join(c.Args, " "), "?")
	}
	if b.Kind != event.ProcessExec {
		return
	}
	s.overlookedEnds(b, extra)
	if t != nil && t.isRoot() && (ownership{s.fs, s.options.Owner}).isLost(t) {
		s.stopped = "the target executed a program with rights that its user has not"
		return
	}
	if extra.NamedPython {
		s.overlooked.begin(b, b.CPUTime)
	} else if t == nil {
		return // most children are not: they are measured, and left alone
	}
	known := t != nil
	if !known {
		t = &target{pid: int(b.PID), root: b.Root, child: true, limited: s.limits.guards != nil}
		var err error
		if t.handle, err = s.fs.Open(t.pid); err != nil {
			return
		}
	}
	// Who is held and has a slot is of the tree, even if the pid has been handed on since the record.
	slot, err := s.ledger.Slot(t.pid)
	if err != nil || s.hasEnded(t) {
		if !known {
			_ = t.close()
		}
		return // it has ended since
	}
	if !known {
		s.targets = append(s.targets, t)
	}
	s.sayUnseen(t)
	t.closeProbes()
	s.natives.forget(t)
	t.identified = false // its slot is a new one
	if t.python != nil {
		t.python.close()
		t.python = nil
	}
	t.slot, t.patience, t.looked = slot, pythonPatience, time.Time{}
}

func (s *Session) target(pid int) *target {
	for _, t := range s.targets {
		if t.pid == pid && !t.gone {
			return t
		}
	}
	return nil
}
