package tracer

import (
	"ipytracer/event"
	"ipytracer/tracer/internal/running"
)

// eventQueue holds the events that a session has not handed out yet, in their order.
type eventQueue struct {
	naming  *running.Naming // which may hold native stacks back
	events  []event.Event
	next    int            // index of the first event that was not handed out
	changes []event.Change // room for changes, which come by the thousand
}

func (q *eventQueue) add(all ...event.Event) { q.events = append(q.events, all...) }

// addChange adds a copy of a change.
func (q *eventQueue) addChange(c *event.Change) {
	if len(q.changes) == cap(q.changes) {
		q.changes = make([]event.Change, 0, 512)
	}
	q.changes = append(q.changes, *c)
	q.add(&q.changes[len(q.changes)-1])
}

// putFirst puts an event in front of all others.
func (q *eventQueue) putFirst(e event.Event) { q.events = append([]event.Event{e}, q.events...) }

func (q *eventQueue) waiting() int { return len(q.events) - q.next }

func (q *eventQueue) rest() []event.Event { return q.events[q.next:] }

// take removes the first event and returns it.
func (q *eventQueue) take() event.Event {
	e := q.events[q.next]
	q.events[q.next] = nil
	q.next++
	return e
}

// compact moves the waiting events to the front of the slice if they fill less than half of it. Otherwise a queue that
// is never empty would grow without end.
func (q *eventQueue) compact() {
	if q.next <= len(q.events)/2 {
		return
	}
	n := copy(q.events, q.rest())
	clear(q.events[n:])
	q.events, q.next = q.events[:n], 0
}

// maxHeld is the largest number of events that wait behind a native stack without names.
const maxHeld = 1 << 16

// isHeld reports whether the first event waits for its names. If too many events wait behind it, isHeld itself waits
// for the names, up to namingPatience.
func (q *eventQueue) isHeld() bool {
	held := q.naming.Holds(q.events[q.next])
	if held && q.waiting() > maxHeld {
		q.naming.Wait(running.NamingPatience)
		held = false
	}
	return held
}
