package recording

import (
	"fmt"
	"time"

	"ipytracer/event"
)

// Extent is how far a recording goes. Whoever prints a figure of a recording asks it: only of a whole recording is it
// known what was lost, because the tracer writes that at the end.
type Extent struct {
	State   State
	Version string // of the tracer that made the recording; as hostile as the rest
	Events  uint64
	Lasts   time.Duration // from the first event to the last
	Last    event.Nanoseconds
	At      int64  // the first byte that is not readable, of a damaged recording
	Why     string // it is not
}

// State is the way in which a recording ends.
type State int

// The ways.
const (
	Whole      State = iota
	Unfinished       // the tracer closed it, and did not write the end of its session
	Cut              // the file ends earlier
	Damaged          // something else follows
)

// IsWhole reports whether nothing is missing.
func (x Extent) IsWhole() bool { return x.State == Whole }

// String says in one sentence what is there.
func (x Extent) String() string {
	switch x.State {
	case Unfinished:
		return "the tracer closed the recording without finishing: " + x.holds()
	case Cut:
		return "the recording was cut off: " + x.holds()
	case Damaged:
		return fmt.Sprintf("the recording is not readable behind byte %d (%.300s): %s", x.At, x.Why, x.holds())
	}
	return "the recording is whole: " + x.holds()
}

func (x Extent) holds() string {
	if x.Events == 0 {
		return "it holds no events"
	}
	return fmt.Sprintf("it holds %d events; the last is %v after the first, at %d ns", x.Events, x.Lasts, x.Last)
}
