package tracer

import "runtime/debug"

// garbage is how much garbage may stand while a session ends, in percent of what is in use ([debug.SetGCPercent]): the
// whole program's, which may go on with another session.
type garbage struct {
	changed bool
	before  int // what it was
	now     int
}

// allow sets it.
func (g *garbage) allow(percent int) {
	before := debug.SetGCPercent(percent)
	if !g.changed {
		g.changed, g.before = true, before
	}
	g.now = percent
}

// restore sets what was before, unless somebody has set something else since.
func (g *garbage) restore() {
	if !g.changed {
		return
	}
	g.changed = false
	if now := debug.SetGCPercent(g.before); now != g.now {
		debug.SetGCPercent(now)
	}
}
