package tracer

import (
	"runtime/debug"

	"ipytracer/event"
)

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

// garbage sets how much garbage Go may keep while a session ends, in percent of the memory in use
// ([debug.SetGCPercent]). The setting is of the whole program, which may go on with another session.
type garbage struct {
	changed bool
	before  int // the percentage before
	now     int
}

func (g *garbage) allow(percent int) {
	before := debug.SetGCPercent(percent)
	if !g.changed {
		g.changed, g.before = true, before
	}
	g.now = percent
}

// restore restores the percentage from before, unless other code has set it since.
func (g *garbage) restore() {
	if !g.changed {
		return
	}
	g.changed = false
	if now := debug.SetGCPercent(g.before); now != g.now {
		debug.SetGCPercent(now)
	}
}
