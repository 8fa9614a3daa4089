package agent

import (
	"strings"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
	"ipytracer/event"
	"ipytracer/model"
)

// Bounds on the number of experiments that are kept until a worker has asked for them.
const (
	maxOfProcess = 1024
	maxOfAll     = 1 << 13
)

// ended are the experiments of a process that have ended, until it has asked for them.
type ended struct {
	kept    []model.Window
	endings int // how many experiments have ended so far, kept or not
}

// addEnded keeps an experiment, without what may be large.
func (e *ended) addEnded(w *model.Window) {
	small := *w
	small.ChildrenUnlisted, small.Children = small.ChildrenUnlisted+len(small.Children), []model.Child{}
	small.Allocations, small.Coverage, small.Refused = nil, nil, nil
	if len(e.kept) >= maxOfProcess {
		e.dropOldest(1)
	}
	e.kept = append(e.kept, small)
	e.endings++
}

// addLost counts n more experiments whose windows were lost. They ended later than all kept ones, which it forgets: no
// experiment may be missing between two that are kept.
func (e *ended) addLost(n int) {
	e.kept = nil
	e.endings += n
}

// dropOldest forgets the n oldest experiments.
func (e *ended) dropOldest(n int) {
	e.kept = append(e.kept[:0], e.kept[n:]...)
}

// after returns the experiments behind the first n, as [companion.Windows.ExperimentsAfter] does. It forgets the first
// n, which have arrived.
func (e *ended) after(n, limit int) (windows []model.Window, lost int) {
	n = min(max(n, 0), e.endings)
	firstKept := e.endings - len(e.kept)
	if n > firstKept {
		e.dropOldest(n - firstKept)
		firstKept = n
	}
	count := min(limit, len(e.kept))
	return e.kept[:count:count], firstKept - n
}

// Bounds of what is kept of a process.
const (
	maxRunning     = 1 << 11 // tasks that run, or wait to be handed on
	maxSubmissions = 16      // of cells that run
)

// contexts are the trace contexts of a process's tasks, and of the cells that it runs.
type contexts struct {
	current     telemetry.TraceContext // of the tasks that begin from now on
	running     map[taskBegin]telemetry.TraceContext
	submissions []submission // in the order of time
}

// taskBegin identifies a task by its name and the time when it began.
type taskBegin struct {
	name string
	at   event.Nanoseconds
}

// submission is the context that a cell has given to the tasks it submits, and the time when it did.
type submission struct {
	context telemetry.TraceContext
	at      event.Nanoseconds
}

// begin takes in that an experiment began, whose name may be a marker with a context.
func (c *contexts) begin(name string, at event.Nanoseconds) {
	if text, isFrom := strings.CutPrefix(name, fromMarker); isFrom {
		c.current, _ = parseContext(text)
		return
	}
	if strings.HasPrefix(name, submitPrefix) {
		if context, ok := parseSubmit(name); ok && len(c.submissions) < maxSubmissions {
			c.submissions = append(c.submissions, submission{context, at})
		}
		return
	}
	if c.current == (telemetry.TraceContext{}) {
		return
	}
	if _, _, isTask := parseName(name); !isTask {
		return
	}
	if c.running == nil || len(c.running) >= maxRunning {
		c.running = map[taskBegin]telemetry.TraceContext{} // the tasks that run get no parents
	}
	c.running[taskBegin{name, at}] = c.current
}

// takeContext returns and removes the context of a task that has ended.
func (c *contexts) takeContext(name string, began event.Nanoseconds) telemetry.TraceContext {
	task := taskBegin{name, began}
	context := c.running[task]
	delete(c.running, task)
	return context
}

// submitted returns the context of the first submission of a cell, zero if there is none. It removes all submissions
// until the cell's end.
func (c *contexts) submitted(began, ended event.Nanoseconds) (first telemetry.TraceContext) {
	later := c.submissions[:0]
	for _, s := range c.submissions {
		switch {
		case s.at > ended:
			later = append(later, s)
		case s.at >= began && first == (telemetry.TraceContext{}):
			first = s.context
		}
	}
	c.submissions = later
	return first
}
