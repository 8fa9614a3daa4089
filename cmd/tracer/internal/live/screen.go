package live

import (
	"errors"
	"os"
	"time"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/session"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/display"
	"ipytracer/internal/report/live"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/report"
)

// errGlanced ends a session that was to print one screen.
var errGlanced = errors.New("one screen has been printed")

// topOptions are the flags of `tracer top`.
type topOptions struct {
	session.Options
	All       bool
	Once      bool
	ASCII     bool
	NoColor   bool
	Variables bool

	onceAfter time.Duration // --duration, with --once
}

// view is the screen of a session, or its single printed screen. All methods but press belong to the session's
// goroutine.
type view struct {
	options *topOptions
	console console.Console
	session *session.Session
	tracker *attribution.Tracker
	state   live.State
	tty     *display.Terminal // nil with --once
	display *display.Display  // nil until it begins
	pressed chan live.Action

	began  time.Time
	next   time.Time     // time of the next look
	asked  bool          // a look at variables was requested
	glance *model.Glance // the last
	past   live.History
}

// Begin shows the screen.
func (v *view) Begin() (err error) {
	v.began, v.pressed = time.Now(), make(chan live.Action, 16)
	if v.tty == nil {
		return nil
	}
	v.display, err = display.Show(v.tty, display.Options{
		State: v.state, NoColor: v.options.NoColor || noColor(), Act: v.press,
	})
	if err != nil {
		return withoutTerminal(err)
	}
	v.console.Hold(v.display.Notice)
	return nil
}

// End restores the terminal and prints the messages since begin.
func (v *view) End() {
	if v.display != nil {
		v.display.Close()
		v.console.Hold(nil)
		v.display = nil
	}
}

// Closed adds windows that are over to the list of cells.
func (v *view) Closed(windows []model.Window) { v.past.Add(windows) }

func (v *view) Terminal() (int, bool) {
	if v.tty == nil {
		return 0, false
	}
	return v.tty.Descriptor(), true
}

// press handles the action of a key, on the display's goroutine.
func (v *view) press(action live.Action) {
	if action == live.Quit {
		v.console.Signals.Take(os.Interrupt)
		return
	}
	select {
	case v.pressed <- action:
	default: // no user presses keys so fast
	}
}

// The share of time for glances, as a reciprocal, and the least interval between them.
const (
	glanceShare  = 50
	soonestAgain = 250 * time.Millisecond
)

// Update takes a new glance, if it is time, and shows it.
func (v *view) Update() error {
	for len(v.pressed) > 0 {
		v.do(<-v.pressed)
		v.next = time.Time{}
	}
	if v.options.Variables && !v.asked {
		v.asked = true
		v.session.Running.Looks.FindVariables()
	}
	began := time.Now()
	if began.Before(v.next) {
		return nil
	}
	glance := v.tracker.Glance()
	if !v.options.Once || v.options.Cells > 0 {
		for i := range glance.Kernels {
			k := &glance.Kernels[i]
			k.Cells, k.CellsUnlisted = v.past.Of(k.PID, v.options.Cells)
		}
	}
	if v.options.NoSource {
		glance = report.GlanceWithoutSource(glance)
	}
	glance.Own = session.OwnMemory(v.session.Running)
	glance.GPUs, glance.Slower = modelGPUs(v.session), session.Slower(v.session.Running, words.ExpensiveProbes)
	v.glance = glance
	v.next = began.Add(max(soonestAgain, glanceShare*time.Since(began)))
	if v.display != nil {
		v.display.Update(glance)
		return nil
	}
	if glance.ElapsedNS > 0 && !v.session.Running.Looks.FindsVariables() && time.Since(v.began) >= v.options.onceAfter {
		return errGlanced
	}
	return nil
}

// do carries out the action of a key.
func (v *view) do(action live.Action) {
	switch action {
	case live.Mark, live.Unmark:
		v.tracker.Mark(action == live.Mark)
	case live.FindVariables:
		if !v.session.Running.Looks.FindVariables() {
			v.display.Notice("variables are being looked for already")
		}
	}
}

func noColor() bool { return os.Getenv("NO_COLOR") != "" }

// modelGPUs returns the GPUs known so far.
func modelGPUs(s *session.Session) (out []model.GPU) {
	if s.Running == nil {
		return nil
	}
	for _, g := range s.Running.GPUs() {
		out = append(out, model.GPU{
			Index: g.Index, UUID: g.UUID, PCIBusID: g.PCIBusID, Name: g.Name, Memory: int64(g.Memory),
		})
	}
	return out
}

// withoutTerminal says how to do without a terminal where there is no screen, or takes another error as it is.
func withoutTerminal(err error) error {
	if errors.Is(err, display.ErrNoTerminal) || errors.Is(err, display.ErrDumb) ||
		errors.Is(err, display.ErrBackground) {
		return status.Usagef("%w; 'tracer top --once' prints one screen without it", err)
	}
	return err
}
