package recording

import (
	"fmt"
	"time"

	"ipytracer/event"
)

// Extent says how far a recording can be read. Printers of figures need it, because the tracer writes at the end of a
// recording what was lost.
type Extent struct {
	State     State
	Version   string // of the tracer that made the recording; hostile, like the rest of it
	Events    uint64
	Lasts     time.Duration     // from the first event to the last
	Last      event.Nanoseconds // time of the last event
	DamagedAt int64             // offset of the first byte that is not readable, if State is Damaged
	Why       string            // why that byte is not readable
}

// State says how a recording ends.
type State int

// The states.
const (
	Whole      State = iota
	Unfinished       // the tracer closed the file without the end of its session
	Cut              // the file ends before the tracer closed it
	Damaged          // the file goes on, but is not readable
)

// IsWhole reports whether the recording has its end.
func (x Extent) IsWhole() bool { return x.State == Whole }

// String describes the extent in one sentence, for people.
func (x Extent) String() string {
	switch x.State {
	case Unfinished:
		return "the tracer closed the recording without finishing: " + x.holds()
	case Cut:
		return "the recording was cut off: " + x.holds()
	case Damaged:
		return fmt.Sprintf("the recording is not readable behind byte %d (%.300s): %s", x.DamagedAt, x.Why, x.holds())
	}
	return "the recording is whole: " + x.holds()
}

func (x Extent) holds() string {
	if x.Events == 0 {
		return "it holds no events"
	}
	return fmt.Sprintf("it holds %d events; the last is %v after the first, at %d ns", x.Events, x.Lasts, x.Last)
}
