package attributiontest

import "ipytracer/event"

// Ledger is the state that the kernel half keeps of one process without children. It numbers events, moves meters, and
// passes events to Emit. [Session] also has processes that fork, and events that are lost or late.
type Ledger struct {
	Emit func(event.Event)
	PID  int32
	Now  event.Nanoseconds
	// Boundaries and Changes are the times that pass with each boundary and with each change.
	Boundaries, Changes event.Nanoseconds
	Stream              uint64 // changes so far
	number, segment     uint64 // of the last boundary, of the present segment
	value, high         event.Readings
}

// Boundary emits a boundary, with its fields about the state of the ledger filled in, and begins another segment.
func (l *Ledger) Boundary(b event.Boundary) {
	l.number++
	l.Now += l.Boundaries
	b.Number, b.Time, b.PID, b.TID, b.Segment, b.Stream = l.number, l.Now, l.PID, l.PID, l.segment, l.Stream
	b.Value, b.High, b.Tree, b.TreeHigh = l.value, l.high, l.value, l.high
	l.Emit(&b)
	l.segment++
	l.high = l.value
}

// Change moves the change's meter by its size, and emits it with its other fields filled in.
func (l *Ledger) Change(c event.Change) {
	l.Stream++
	l.Now += l.Changes
	l.value[c.Meter] += c.Size
	l.high[c.Meter] = max(l.high[c.Meter], l.value[c.Meter])
	c.Stream, c.Segment, c.Time, c.PID, c.TID, c.Value = l.Stream, l.segment, l.Now, l.PID, l.PID, l.value[c.Meter]
	l.Emit(&c)
}
