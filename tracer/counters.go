package tracer

import (
	"strings"

	"ipytracer/event"
	"ipytracer/tracer/host/counting"
)

// counters are what processors count for the processes that were attached to; the kernel half reads what the kernel
// counts.
type counters struct {
	processes map[int32]*counting.Process
	report    *certificate
}

// start begins to count, while this program may. Children are not counted: what they execute is not known by then.
func (c *counters) start(targets []*target, report *certificate) {
	c.processes, c.report = map[int32]*counting.Process{}, report
	for _, t := range targets {
		p, missing := counting.Open(t.pid, counting.Processor)
		c.processes[int32(t.pid)] = p
		for _, m := range missing {
			report.problem("pid %d: not counted: %s: %s", t.pid, strings.Join(m.Events, ", "), clean(m.Why.Error()))
		}
	}
}

// sample completes what a boundary counted. Statements' records do not wake anybody: by now it would be another time.
func (c *counters) sample(b *event.Boundary) {
	if b.Counters == (event.Counters{}) || b.Kind == event.StatementOpen || b.Kind == event.StatementClose {
		return
	}
	p, known := c.processes[b.PID]
	if !known && b.Kind == event.CellOpen {
		c.report.problem("pid %d: not counted: instructions, cycles, cache references, cache misses: it was started "+
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
