package attribution

import (
	"ipytracer/attribution/internal/activity"
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/rows"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
)

// sequence takes events in, in the order of their Source. A boundary waits for its readings. Then it ends a segment,
// and opens and closes windows. Changes wait until the windows of their segment are open.
type sequence struct {
	*windows.State
	activity   *activity.Activity
	queue      *blockQueue
	namespaces *rows.Namespaces
	blocks     activity.Blocks
	chart      chart

	pending     *event.Boundary // its readings may still follow
	drawn       event.Boundary  // a copy of it: the caller of Add may use the event's memory again
	readings    []*event.Reading
	moved       course.SegmentEnds // memory for the processes that moved in the segment that ends
	waiting     int                // readings that wait for a boundary of their own tree: see [sequence.gather]
	behind      int                // changes that came after pending
	descriptive []event.Event      // other events after pending that open and close no window: see isDescriptive
}

// chart follows the meters over time.
type chart interface {
	// Tell takes in a change; pending is the boundary that waits for its readings, nil for none.
	Tell(r *windows.Tree, c *event.Change, pending *event.Boundary)
	// Draw takes in a boundary that has been applied, and the readings that waited for it.
	Draw(r *windows.Tree, b *event.Boundary, moved course.SegmentEnds)
	// DrawLearned records a value that a meter has had since its process was first seen, and that became known only
	// now.
	DrawLearned(r *windows.Tree, p *windows.Process, m event.Meter, value event.Bytes)
}

// noChart is a chart that keeps nothing.
type noChart struct{}

func (noChart) Tell(*windows.Tree, *event.Change, *event.Boundary) {}

func (noChart) Draw(*windows.Tree, *event.Boundary, course.SegmentEnds) {}

func (noChart) DrawLearned(*windows.Tree, *windows.Process, event.Meter, event.Bytes) {}
