package attribution

import (
	"ipytracer/attribution/internal/windows"
)

// GiveUp drops the attribution of the whole session for good, because memory is scarce. Texts of cells that come from
// now on are kept up to 1 KiB. Figures, windows and their proof go on as before. why is a sentence for the reader of
// [Tracker.Glance]; the session's end must report it again.
func GiveUp(t *Tracker, why string) {
	if t.allocations.GivenUp != "" {
		return
	}
	t.Stacks.Close()
	t.queue.close()
	t.allocations.GiveUp(why)
	t.glancer.Mark(false)
	t.Namespaces.Forget()
	t.Files.Forget()
	t.Symbolizer.Forget()
	t.Table.GiveUp()
	t.Limits.Brief = true
	forgetTallies(t.Table.Closed.All())
	forgetTallies(t.Table.Staying)
	for _, p := range t.Processes.Order {
		forgetTallies(p.Windows)
		forgetTallies(p.Open)
		forgetTallies([]*windows.Window{p.Session, p.Lifetime, p.LastBetween})
	}
}

// forgetTallies removes the tallies of windows.
func forgetTallies(list []*windows.Window) {
	for _, window := range list {
		if window == nil {
			continue
		}
		if window.Detail != nil {
			window.Tallies = nil
		}
		if s := window.AtResult; s != nil && s.Detail != nil {
			s.Tallies = nil
		}
	}
}
