package tracer

import "ipytracer/event"

// windup is how far the end of a session has come.
type windup struct {
	drawn   bool          // the last boundaries are drawn, and what came up to them is in the queue
	over    bool          // so is everything else
	stopped string        // why the session ends, once it does
	early   string        // why the session ended by itself, for want of memory; "": it did not
	shells  []event.Shell // as they were at the last boundaries
}
