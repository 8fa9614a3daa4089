package session

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/report/live"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/report"
)

func newTopCommand(c console.Console) *cobra.Command {
	var o topOptions
	cmd := &cobra.Command{
		Use:   "top [PID ...]",
		Short: "Watch a kernel live: the cell that runs, who allocates, what is left",
		Long: "Attach to a running IPython or Jupyter kernel as 'tracer attach' does, " +
			"and show on the terminal what happens: the cell that runs and\n" +
			"since when, memory against its limit, the lines that grow, variables, children, the cells so far, " +
			"and what was lost. Keys: '?' lists them, 'q' ends the session,\n" +
			"and the report is printed. The target does not notice.\n\n" +
			"--once prints one screen and detaches: as text, or with --format json for programs. " +
			"With --cells N it has the N newest cells, too.",
		Example: "  sudo tracer top\n  sudo tracer top 4242 --record run.arrows\n" +
			"  sudo tracer top 4242 --once --format json | jq '.kernels[0].cell.meters'",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runTop(cmd.Context(), o, c, args)
		},
	}
	o.AddFlags(cmd.Flags())
	flags := cmd.Flags()
	flags.Lookup("quiet").Usage = "print no report at the end, and no progress"
	flags.BoolVar(&o.All, "all", false, "attach to every kernel there is; 'n' goes from one to the next")
	flags.DurationVar(&o.Duration, "duration", 0,
		"detach after this `TIME`, such as 30s or 10m; with --once: print after it")
	flags.BoolVar(&o.Once, "once", false, "print one screen, and detach without a report")
	flags.BoolVar(&o.ASCII, "ascii", false, "use ASCII characters only, as where the locale has no others")
	flags.BoolVar(&o.NoColor, "no-color", false, "use no colours, as with NO_COLOR (which sudo takes away)")
	flags.BoolVar(&o.Variables, "variables", false, "look for variables at once, from outside ('u' does at any time)")
	return cmd
}

// check finds mistakes before tracing begins.
func (o *topOptions) check() error {
	switch {
	case o.Once && o.Record != "":
		return console.Usagef("--once and --record exclude each other: 'tracer attach --record' records a session")
	case o.Once && o.Format == "csv":
		return console.Usagef("--once prints text or json, not csv")
	case o.Once && o.Strict.Any():
		return console.Usagef("--once and --strict exclude each other: nothing is proven before a session is over")
	}
	return nil
}

func runTop(ctx context.Context, o topOptions, c console.Console, args []string) error {
	options, err := o.TracerOptions(c)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return err
	}
	pids, err := console.ParsePIDs(args)
	if err != nil {
		return err
	}
	v := &view{options: &o, console: c, state: live.State{ASCII: o.ASCII || live.ASCII(), ListCells: o.Cells > 0}}
	if !o.Once {
		if v.tty, err = live.OpenTerminal(); err != nil {
			return withoutTerminal(err)
		}
		defer v.tty.Close()
	}
	who := inventory.Named(pids)
	if len(pids) == 0 {
		if who, err = inventory.Choose(ctx, c, o.All, "top"); err != nil {
			return err
		}
	}
	tracker, findings := attribution.NewAudited()
	s, err := New(&o.Options, c, tracker)
	if err != nil {
		return err
	}
	defer s.Close()
	s.View, s.Live = v, false
	v.session, v.tracker = s, tracker
	options.Companion = s.Listen(tracker, findings, "")
	options.Tolerant = o.All && len(args) == 0
	options.Glances = glanceEvery
	does := "prints the report"
	if o.Once {
		does = ""
		o.onceAfter, s.Options.Duration = o.Duration, 0 // the view ends the session, not the time
	}
	err = s.Trace(ctx, who, options, does)
	switch {
	case errors.Is(err, errGlanced):
		return s.Deliver("screen", func(w io.Writer) error { return v.printOnce(w) })
	case err != nil:
		return err
	}
	if o.Quiet && s.To.Path == "" {
		s.To.Writer = io.Discard
	}
	return s.Conclude(tracker)
}

// printOnce prints the screen of --once.
func (v *view) printOnce(w io.Writer) error {
	if v.options.Format == "json" {
		return report.GlanceJSON(w, v.glance)
	}
	_, err := io.WriteString(w, live.Text(v.glance, &v.state, console.Width(w)))
	return err
}

// glanceEvery is the interval of new figures.
const glanceEvery = time.Second

// errGlanced ends the session of --once: its screen is ready.
var errGlanced = errors.New("one screen has been printed")

// topOptions are the flags of `tracer top`.
type topOptions struct {
	Options
	All       bool
	Once      bool
	ASCII     bool
	NoColor   bool
	Variables bool

	onceAfter time.Duration // --duration, with --once
}

// view is the screen of a session, or the one screen of --once. All methods but press are for the session's goroutine.
type view struct {
	options *topOptions
	console console.Console
	session *Session
	tracker *attribution.Tracker
	state   live.State
	tty     *live.Terminal // nil with --once
	display *live.Display  // nil until it begins
	pressed chan live.Action

	began              time.Time
	nextGlance         time.Time     // when the next glance is taken
	variablesRequested bool          // by --variables
	glance             *model.Glance // the last one
	history            live.History
}

// Begin shows the screen.
func (v *view) Begin() (err error) {
	v.began, v.pressed = time.Now(), make(chan live.Action, 16)
	if v.tty == nil {
		return nil
	}
	v.display, err = live.Show(v.tty, live.DisplayOptions{
		State: v.state, NoColor: v.options.NoColor || noColor(), Act: v.press,
	})
	if err != nil {
		return withoutTerminal(err)
	}
	v.console.Hold(v.display.Notice)
	return nil
}

// End restores the terminal, and prints the messages that were held since Begin.
func (v *view) End() {
	if v.display != nil {
		v.display.Close()
		v.console.Hold(nil)
		v.display = nil
	}
}

// Closed adds windows that have ended to the list of cells.
func (v *view) Closed(windows []model.Window) { v.history.Add(windows) }

// Terminal implements [Screen].
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
	default: // nobody presses keys so fast
	}
}

// Bounds on the time that glances take.
const (
	glanceShare   = 50 // the reciprocal of the share of time
	leastInterval = 250 * time.Millisecond
)

// Update takes a new glance, if it is time, and shows it. With --once it returns errGlanced when the glance is
// complete.
func (v *view) Update() error {
	for len(v.pressed) > 0 {
		v.act(<-v.pressed)
		v.nextGlance = time.Time{}
	}
	if v.options.Variables && !v.variablesRequested {
		v.variablesRequested = true
		v.session.Running.Looks.FindVariables()
	}
	began := time.Now()
	if began.Before(v.nextGlance) {
		return nil
	}
	v.glance = v.takeGlance()
	v.nextGlance = began.Add(max(leastInterval, glanceShare*time.Since(began)))
	if v.display != nil {
		v.display.Update(v.glance)
		return nil
	}
	stillLooking := v.session.Running.Looks.FindsVariables()
	if v.glance.ElapsedNS > 0 && !stillLooking && time.Since(v.began) >= v.options.onceAfter {
		return errGlanced
	}
	return nil
}

// takeGlance returns the present figures of the session.
func (v *view) takeGlance() *model.Glance {
	glance := v.tracker.Glance()
	if !v.options.Once || v.options.Cells > 0 {
		for i := range glance.Kernels {
			k := &glance.Kernels[i]
			k.Cells, k.CellsUnlisted = v.history.Of(k.PID, v.options.Cells)
		}
	}
	if v.options.NoSource {
		glance = report.GlanceWithoutSource(glance)
	}
	glance.Own = OwnMemory(v.session.Running)
	glance.GPUs, glance.Slower = knownGPUs(v.session), Slower(v.session.Running, words.ExpensiveProbes)
	return glance
}

// act carries out the action of a key.
func (v *view) act(action live.Action) {
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

// knownGPUs returns the GPUs known so far.
func knownGPUs(s *Session) (out []model.GPU) {
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

// withoutTerminal adds the hint at --once to an error about a missing terminal. It returns other errors as they are.
func withoutTerminal(err error) error {
	if errors.Is(err, live.ErrNoTerminal) || errors.Is(err, live.ErrDumb) ||
		errors.Is(err, live.ErrBackground) {
		return console.Usagef("%w; 'tracer top --once' prints one screen without it", err)
	}
	return err
}
