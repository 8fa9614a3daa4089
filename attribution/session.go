package attribution

import "ipytracer/event"

// session is the frame of what is traced: its first and its last word, and how far its boundaries have come.
type session struct {
	start      *event.Start
	finish     *event.Finish
	began      event.Nanoseconds // time of the first boundary
	last       event.Nanoseconds // time of the last
	cut        uint64            // how many boundaries were taken in
	numbered   uint64            // the highest number of a boundary
	boundaries uint64            // how many came: they may pass each other, none may be missing
}
