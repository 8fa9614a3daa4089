package tracer

import "ipytracer/event"

// windup is the progress of a session's end.
type windup struct {
	drawn   bool   // the last boundaries are drawn, and everything before them is in the queue
	over    bool   // everything else is queued, too
	stopped string // why the session ends, once it does
	early   string // why the session ended by itself, for lack of memory; "": it did not
	closed  bool   // the session is closed
	garbage garbage
	shells  []event.Shell // as they were at the last boundaries
}
