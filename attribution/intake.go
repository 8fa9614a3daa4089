package attribution

import "ipytracer/event"

// intake takes events in, in the order of their Source. Readings and changes wait for their boundary; it ends a
// segment, opens and closes windows, and all that follows is handed on.
type intake struct {
	session    *session
	limits     *limits
	gpus       *gpus
	processes  *processes
	stacks     *stackTable
	table      *windowTable
	closed     *closedWindows
	windows    *windows
	activity   *activity
	shellCheck *shellCheck
	stepDowns  *stepDowns
	requests   *requests
	queue      *blockQueue
	namespaces *namespaces
	invariants *invariants
	ledger     ledger
	chart      chart

	pending  *event.Boundary // its readings may still follow
	drawn    event.Boundary  // the same, in memory of its own: whoever adds an event may use its own again
	readings []*event.Reading
	waiting  int           // readings that wait for a boundary of their own tree: see gather
	behind   int           // changes that came after it
	about    []event.Event // what came after it and tells something of what is there
}
