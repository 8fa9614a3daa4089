package live

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/cmd/tracer/internal/session"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/display"
	"ipytracer/internal/report/live"
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
		return status.Usagef("--once and --record exclude each other: 'tracer attach --record' records a session")
	case o.Once && o.Format == "csv":
		return status.Usagef("--once prints text or json, not csv")
	case o.Once && o.Strict.Any():
		return status.Usagef("--once and --strict exclude each other: nothing is proven before a session is over")
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
	pids, err := status.ParsePIDs(args)
	if err != nil {
		return err
	}
	v := &view{options: &o, console: c, state: live.State{ASCII: o.ASCII || display.ASCII(), ListCells: o.Cells > 0}}
	if !o.Once {
		if v.tty, err = display.Open(); err != nil {
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
	s, err := session.New(&o.Options, c, tracker)
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
		o.onceAfter, s.Options.Duration = o.Duration, 0 // it belongs to the view
	}
	if err := s.Trace(ctx, who, options, does); !errors.Is(err, errGlanced) {
		if err != nil {
			return err
		}
		if o.Quiet && s.To.Path == "" {
			s.To.Writer = io.Discard
		}
		return s.Conclude(tracker)
	}
	return s.Deliver("screen", func(w io.Writer) error { return v.printOnce(w) })
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
