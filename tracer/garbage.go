package tracer

import "runtime/debug"

// garbage is how much garbage may stand while a session ends, in percent of the memory in use ([debug.SetGCPercent]).
// It holds for the whole program, which may go on with another session.
type garbage struct {
	changed bool
	before  int // the percentage before
	now     int
}

// allow sets the percentage.
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
