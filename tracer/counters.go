package tracer

import (
	"strings"

	"ipytracer/event"
	"ipytracer/internal/host/processor"
	"ipytracer/tracer/internal/tracee"
)

// counters are the processors' counters (instructions, cycles, cache misses) of the attached processes. The kernel half
// reads Linux's counters.
type counters struct {
	processes map[int32]*processor.Process
	report    *tracee.Certificate
}

// start begins to count, while this program may. Children are not counted: the programs that they execute are not known
// by then.
func (c *counters) start(targets []*tracee.Target, report *tracee.Certificate) {
	c.processes, c.report = map[int32]*processor.Process{}, report
	for _, t := range targets {
		p, missing := processor.Open(t.PID, processor.Processor)
		c.processes[int32(t.PID)] = p
		for _, m := range missing {
			report.Problem("pid %d: not counted: %s: %s", t.PID, strings.Join(m.Events, ", "),
				tracee.Clean(m.Why.Error()))
		}
	}
}

// sample adds the processors' counts to a boundary. It skips boundaries of statements: their records do not wake the
// session, so the counts would be of a later time.
func (c *counters) sample(b *event.Boundary) {
	if b.Counters == (event.Counters{}) || b.Kind == event.StatementOpen || b.Kind == event.StatementClose {
		return
	}
	p, known := c.processes[b.PID]
	if !known && b.Kind == event.CellOpen {
		c.report.Problem("pid %d: not counted: instructions, cycles, cache references, cache misses: it was started "+
			"after the attach", b.PID)
		c.processes[b.PID] = nil
	}
	if p != nil {
		p.Read(b.Counters[event.KernelCounters:])
	}
}

func (c *counters) close() {
	for _, p := range c.processes {
		if p != nil {
			p.Close()
		}
	}
	c.processes = nil
}
