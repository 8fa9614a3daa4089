package agent

import (
	"strings"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
	"ipytracer/model"
)

// Bounds of the experiments that are kept until a worker has asked for them.
const (
	maxOfProcess = 1024
	maxOfAll     = 1 << 13
)

// ended are the experiments of a process that have ended, until it has asked for them.
type ended struct {
	kept    []model.Window
	endings int // so far, with those that are not kept
}

// add adds one.
func (e *ended) add(w *model.Window) {
	one := *w
	one.ChildrenUnlisted, one.Children = one.ChildrenUnlisted+len(one.Children), []model.Child{}
	one.Allocations, one.Coverage, one.Refused = nil, nil, nil
	if len(e.kept) >= maxOfProcess {
		e.drop(1)
	}
	e.kept = append(e.kept, one)
	e.endings++
}

// lose takes in that n more have ended, behind those that were added.
func (e *ended) lose(n int) {
	e.kept = nil
	e.endings += n
}

// drop drops the oldest.
func (e *ended) drop(n int) {
	e.kept = append(e.kept[:0], e.kept[n:]...)
}

// after returns experiments behind the first n, as [companion.Windows] has it. Those before them have arrived, and are
// dropped.
func (e *ended) after(n, limit int) (all []model.Window, lost int) {
	n = min(max(n, 0), e.endings)
	first := e.endings - len(e.kept)
	if n > first {
		e.drop(n - first)
		first = n
	}
	return e.kept[:min(limit, len(e.kept)):min(limit, len(e.kept))], first - n
}

// Bounds of what is kept of a process.
const (
	maxBegun     = 1 << 11 // tasks that run, or wait to be handed on
	maxSubmitted = 16      // markers of cells that run
)

// contexts are the trace contexts of a process's tasks, and of the cells that it runs.
type contexts struct {
	now   telemetry.TraceContext // of the tasks that begin now
	begun map[taskBegin]telemetry.TraceContext
	sent  []sent
}

// taskBegin is the begin of a task.
type taskBegin struct {
	name string
	at   event.Nanoseconds
}

// sent is a marker of a notebook that submits tasks.
type sent struct {
	context telemetry.TraceContext
	at      event.Nanoseconds
}

// begin takes in the begin of an experiment.
func (c *contexts) begin(name string, at event.Nanoseconds) {
	if text, is := strings.CutPrefix(name, from); is {
		c.now, _ = parseContext(text)
		return
	}
	if strings.HasPrefix(name, submit) {
		if of, ok := parseSubmit(name); ok && len(c.sent) < maxSubmitted {
			c.sent = append(c.sent, sent{of, at})
		}
		return
	}
	if c.now == (telemetry.TraceContext{}) {
		return
	}
	if _, _, is := parseName(name); !is {
		return
	}
	if c.begun == nil || len(c.begun) >= maxBegun {
		c.begun = map[taskBegin]telemetry.TraceContext{} // the tasks that run have no parents
	}
	c.begun[taskBegin{name, at}] = c.now
}

// take removes the context of a task that has ended.
func (c *contexts) take(name string, began event.Nanoseconds) telemetry.TraceContext {
	of := c.begun[taskBegin{name, began}]
	delete(c.begun, taskBegin{name, began})
	return of
}

// submitted removes what was submitted until the end of a cell, and returns the context that was sent first in it.
func (c *contexts) submitted(began, ended event.Nanoseconds) (of telemetry.TraceContext) {
	rest := c.sent[:0]
	for _, one := range c.sent {
		switch {
		case one.at > ended:
			rest = append(rest, one)
		case one.at >= began && of == (telemetry.TraceContext{}):
			of = one.context
		}
	}
	c.sent = rest
	return of
}
