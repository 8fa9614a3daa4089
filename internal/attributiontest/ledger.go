package attributiontest

import "ipytracer/event"

// Ledger is the state that the kernel half keeps of one process that is alone in its tree. It numbers events, moves
// meters, and passes events to Emit. For processes that fork, and events that are lost or late, there is [Session].
type Ledger struct {
	Emit func(event.Event)
	PID  int32
	Now  event.Nanoseconds
	// Time that passes with each.
	Boundaries, Changes event.Nanoseconds
	Stream              uint64 // changes so far
	number, segment     uint64
	value, high         event.Readings
}

// Boundary ends a segment.
func (l *Ledger) Boundary(b event.Boundary) {
	l.number++
	l.Now += l.Boundaries
	b.Number, b.Time, b.PID, b.TID, b.Segment, b.Stream = l.number, l.Now, l.PID, l.PID, l.segment, l.Stream
	b.Value, b.High, b.Tree, b.TreeHigh = l.value, l.high, l.value, l.high
	l.Emit(&b)
	l.segment++
	l.high = l.value
}

// Change moves its meter by its size.
func (l *Ledger) Change(c event.Change) {
	l.Stream++
	l.Now += l.Changes
	l.value[c.Meter] += c.Size
	l.high[c.Meter] = max(l.high[c.Meter], l.value[c.Meter])
	c.Stream, c.Segment, c.Time, c.PID, c.TID, c.Value = l.Stream, l.segment, l.Now, l.PID, l.PID, l.value[c.Meter]
	l.Emit(&c)
}
