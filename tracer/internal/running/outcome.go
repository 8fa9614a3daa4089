package running

import (
	"strings"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/tracer/internal/tracee"
)

// Outcome determines how a cell ended. Usually IPython has reported it to the kernel half at the very end of the cell.
// Otherwise outcome reads sys.last_value, the exception that IPython showed last. A read after the next cell has begun
// proves nothing, and neither does a comparison with such a read.
func (all *Cells) Outcome(t *tracee.Target, b *event.Boundary, opened func() uint64, told, ran bool) event.Outcome {
	before, stale, err := lookAtException(t.Python, opened, all)
	out := b.Outcome
	if !told && err == nil {
		out = judge(b.Outcome, ran, before, t.Python.Shown, stale || t.Python.Stale)
	}
	if out != event.OutcomeError {
		b.Exception = ""
	} else if after := t.Python.Shown; b.Exception == "" && err == nil && !stale && !t.Python.Stale &&
		after.Value != 0 && after != before {
		b.Exception = strings.ToValidUTF8(after.Type, "?")
	}
	return out
}

// look reads the exception that was shown last, and returns the one before. The read is stale if a newer cell than
// those known has begun, according to opened.
func lookAtException(p *tracee.Python, opened func() uint64, known *Cells) (before cpython.Exception, stale bool,
	err error) {
	before, stale = p.Shown, p.Stale
	shown, err := p.Live.LastException()
	for range 3 { // it may be changing just now
		if err == nil {
			break
		}
		shown, err = p.Live.LastException()
	}
	if err != nil {
		p.Stale = true
		return before, stale, err
	}
	p.Shown, p.Stale = shown, opened() > known.Newest
	return before, stale, nil
}

// judge returns how a cell ended, from the kernel half's record and the exceptions shown before and after the cell.
// ran: a statement of the cell was seen to run, so that the kernel half knows whether one has failed.
func judge(seen event.Outcome, ran bool, before, after cpython.Exception, late bool) event.Outcome {
	switch {
	case late && seen == event.OutcomeOK:
		return event.OutcomeUnknown
	case late, after.Value == 0, after.Value == before.Value && after.Traceback == before.Traceback:
		return seen
	case after.Type == "KeyboardInterrupt":
		return event.OutcomeInterrupted
	case seen == event.OutcomeAbandoned, seen == event.OutcomeOK && ran &&
		!strings.HasSuffix(after.Type, "SyntaxError"):
		return seen
	}
	return event.OutcomeError
}
