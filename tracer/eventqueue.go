package tracer

import "ipytracer/event"

// eventQueue is the events that a session has not handed out yet, in their order.
type eventQueue struct {
	naming  *naming // which may hold native stacks back
	events  []event.Event
	next    int            // index of the first one that was not handed out
	changes []event.Change // room for changes, which come by the thousand
}

func (q *eventQueue) add(all ...event.Event) { q.events = append(q.events, all...) }

// change adds a copy of a change.
func (q *eventQueue) change(c *event.Change) {
	if len(q.changes) == cap(q.changes) {
		q.changes = make([]event.Change, 0, 512)
	}
	q.changes = append(q.changes, *c)
	q.add(&q.changes[len(q.changes)-1])
}

// putFirst puts an event in front of all.
func (q *eventQueue) putFirst(e event.Event) { q.events = append([]event.Event{e}, q.events...) }

// waiting returns how many events there are.
func (q *eventQueue) waiting() int { return len(q.events) - q.next }

// rest returns them.
func (q *eventQueue) rest() []event.Event { return q.events[q.next:] }

// take takes the first one out.
func (q *eventQueue) take() event.Event {
	e := q.events[q.next]
	q.events[q.next] = nil
	q.next++
	return e
}

// compact moves the events that wait to the front of the room, where they are less than half of it. One event that is
// held each time must not keep the room of those before it.
func (q *eventQueue) compact() {
	if q.next <= len(q.events)/2 {
		return
	}
	n := copy(q.events, q.rest())
	clear(q.events[n:])
	q.events, q.next = q.events[:n], 0
}

// maxHeld is how many events wait behind a native stack without names at most.
const maxHeld = 1 << 16

// isHeld reports whether the first event waits for its names. Where too many wait behind it, it waits for them itself,
// up to namingPatience.
func (q *eventQueue) isHeld() bool {
	held := q.naming.holds(q.events[q.next])
	if held && q.waiting() > maxHeld {
		q.naming.wait(namingPatience)
		held = false
	}
	return held
}
