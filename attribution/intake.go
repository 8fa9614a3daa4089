package attribution

import (
	"ipytracer/event"
)

// intake takes events in, in the order of their Source. Readings and changes wait for their boundary. The boundary ends
// a segment and opens and closes windows, and then everything after it is handed on.
type intake struct {
	*state
	windows    *windows
	activity   *activity
	shellCheck *shellCheck
	requests   *requests
	queue      *blockQueue
	namespaces *namespaces
	invariants *invariants
	ledger     ledger
	chart      chart

	pending  *event.Boundary // its readings may still follow
	drawn    event.Boundary  // a copy of it: the caller of Add may use the event's memory again
	readings []*event.Reading
	waiting  int           // readings that wait for a boundary of their own tree: see [intake.gather]
	behind   int           // changes that came after pending
	about    []event.Event // other events after pending that open and close no window: see isAbout
}
