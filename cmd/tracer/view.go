package main

import (
	"errors"
	"time"

	"ipytracer/attribution"
	"ipytracer/internal/display"
	"ipytracer/internal/report/live"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/report"
)

// errGlanced ends a session that was to print one screen.
var errGlanced = errors.New("one screen has been printed")

// view is the screen of a session, or its single printed screen. All methods but press belong to the session's
// goroutine.
type view struct {
	options  *TopOptions
	console  console
	session  *session
	tracker  *attribution.Tracker
	state    live.State
	terminal *display.Terminal // nil with --once
	display  *display.Display  // nil until it begins
	pressed  chan live.Action

	began  time.Time
	next   time.Time     // time of the next look
	asked  bool          // a look at variables was requested
	glance *model.Glance // the last
	past   live.History
}

// begin shows the screen.
func (v *view) begin() (err error) {
	v.began, v.pressed = time.Now(), make(chan live.Action, 16)
	if v.terminal == nil {
		return nil
	}
	v.display, err = display.Show(v.terminal, display.Options{
		State: v.state, NoColor: v.options.NoColor || noColor(), Act: v.press,
	})
	if err != nil {
		return err
	}
	v.console.hold(v.display.Notice)
	return nil
}

// end restores the terminal and prints the messages since begin.
func (v *view) end() {
	if v.display != nil {
		v.display.Close()
		v.console.hold(nil)
		v.display = nil
	}
}

// press handles the action of a key, on the display's goroutine.
func (v *view) press(a live.Action) {
	if a == live.Quit {
		v.console.ends.ask()
		return
	}
	select {
	case v.pressed <- a:
	default: // no user presses keys so fast
	}
}

// The share of time for glances, as a reciprocal, and the least interval between them.
const (
	glanceShare  = 50
	soonestAgain = 250 * time.Millisecond
)

// update takes a new glance, if it is time, and shows it.
func (v *view) update() error {
	for {
		select {
		case a := <-v.pressed:
			v.do(a)
			v.next = time.Time{}
			continue
		default:
		}
		break
	}
	if v.options.Variables && !v.asked {
		v.asked = true
		v.session.running.Looks.FindVariables()
	}
	began := time.Now()
	if began.Before(v.next) {
		return nil
	}
	g := v.tracker.Glance()
	if !v.options.Once || v.options.Cells > 0 {
		for i := range g.Kernels {
			k := &g.Kernels[i]
			k.Cells, k.CellsUnlisted = v.past.Of(k.PID, v.options.Cells)
		}
	}
	if v.options.NoSource {
		g = report.GlanceWithoutSource(g)
	}
	g.Own = ownMemory(v.session.running)
	g.GPUs, g.Slower = modelGPUs(v.session), slower(v.session.running, words.DearProbes)
	v.glance = g
	v.next = began.Add(max(soonestAgain, glanceShare*time.Since(began)))
	if v.display != nil {
		v.display.Update(g)
		return nil
	}
	if g.ElapsedNS > 0 && !v.session.running.Looks.FindsVariables() && time.Since(v.began) >= v.options.onceAfter {
		return errGlanced
	}
	return nil
}

// do carries out the action of a key.
func (v *view) do(a live.Action) {
	switch a {
	case live.Mark, live.Unmark:
		v.tracker.Mark(a == live.Mark)
	case live.FindVariables:
		if !v.session.running.Looks.FindVariables() {
			v.display.Notice("variables are being looked for already")
		}
	}
}
