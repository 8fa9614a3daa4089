package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ipytracer/attribution"
	"ipytracer/internal/display"
	"ipytracer/internal/report/live"
	"ipytracer/model"
	"ipytracer/report"
	"ipytracer/tracer"
)

// TopOptions are the flags of `tracer top`.
type TopOptions struct {
	SessionOptions
	All       bool
	Once      bool
	ASCII     bool
	NoColor   bool
	Variables bool

	onceAfter time.Duration // --duration, with --once
}

func newTopCommand(c console) *cobra.Command {
	var o TopOptions
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
	f := cmd.Flags()
	f.Lookup("quiet").Usage = "print no report at the end, and no progress"
	f.BoolVar(&o.All, "all", false, "attach to every kernel there is; 'n' goes from one to the next")
	f.DurationVar(&o.Duration, "duration", 0,
		"detach after this `TIME`, such as 30s or 10m; with --once: print after it")
	f.BoolVar(&o.Once, "once", false, "print one screen, and detach without a report")
	f.BoolVar(&o.ASCII, "ascii", false, "use ASCII characters only, as where the locale has no others")
	f.BoolVar(&o.NoColor, "no-color", false, "use no colours, as with NO_COLOR (which sudo takes away)")
	f.BoolVar(&o.Variables, "variables", false, "look for variables at once, from outside ('u' does at any time)")
	return cmd
}

// check finds mistakes before tracing begins.
func (o *TopOptions) check() error {
	switch {
	case o.Duration < 0:
		return usageError{errors.New("--duration cannot be negative")}
	case o.Once && o.Record != "":
		return usageError{
			errors.New("--once and --record exclude each other: 'tracer attach --record' records a session"),
		}
	case o.Once && o.Format == "csv":
		return usageError{errors.New("--once prints text or json, not csv")}
	case o.Once && o.Strict.any():
		return usageError{
			errors.New("--once and --strict exclude each other: nothing is proven before a session is over"),
		}
	}
	return nil
}

func runTop(ctx context.Context, o TopOptions, c console, args []string) error {
	options, err := o.tracerOptions(c)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return err
	}
	pids, err := parsePIDs(args)
	if err != nil {
		return usageError{err}
	}
	v := &view{options: &o, console: c, state: live.State{ASCII: o.ASCII || display.ASCII(), ListCells: o.Cells > 0}}
	if !o.Once {
		if v.terminal, err = display.Open(); err != nil {
			return err
		}
		defer v.terminal.Close()
	}
	who := named(pids)
	if len(pids) == 0 {
		if who, err = chooseKernels(ctx, c, o.All, "top"); err != nil {
			return err
		}
	}
	tracker, findings := attribution.NewAudited()
	s, err := newSession(&o.SessionOptions, c, tracker)
	if err != nil {
		return err
	}
	defer s.close()
	s.view, s.live = v, false
	v.session, v.tracker = s, tracker
	options.Companion = s.listen(tracker, findings, "")
	options.Tolerant = o.All && len(args) == 0
	options.Glances = glanceEvery
	does := "prints the report"
	if o.Once {
		does = ""
		o.onceAfter, s.options.Duration = o.Duration, 0 // it belongs to the view
	}
	if err := s.attached(ctx, who, options, does); !errors.Is(err, errGlanced) {
		if err != nil {
			return err
		}
		if o.Quiet && s.to.path == "" {
			s.to.Writer = io.Discard
		}
		return s.conclude(tracker)
	}
	return s.deliver("screen", func(w io.Writer) error { return v.printOnce(w) })
}

// printOnce prints the screen of --once.
func (v *view) printOnce(w io.Writer) error {
	if v.options.Format == "json" {
		return report.GlanceJSON(w, v.glance)
	}
	_, err := io.WriteString(w, live.Text(v.glance, &v.state, width(w)))
	return err
}

// glanceEvery is the interval of new figures.
const glanceEvery = time.Second

// modelGPUs returns the GPUs known so far.
func modelGPUs(s *session) (out []model.GPU) {
	if s.running == nil {
		return nil
	}
	for _, g := range s.running.GPUs() {
		out = append(out, model.GPU{
			Index: g.Index, UUID: g.UUID, PCIBusID: g.PCIBusID, Name: g.Name, Memory: int64(g.Memory),
		})
	}
	return out
}

// slower names the probes at more expensive places than usual, and their cost so far, in some words.
func slower(running *tracer.Session, says func(*model.Probe) string) (all []string) {
	for _, p := range tracer.DearProbes(running) {
		one := attribution.Probe(p)
		if text := says(&one); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// noTerminal explains why there is no screen; ok is false for other errors.
func noTerminal(err error) (status int, message string, ok bool) {
	if errors.Is(err, display.ErrNoTerminal) || errors.Is(err, display.ErrDumb) ||
		errors.Is(err, display.ErrBackground) {
		return statusUsage, fmt.Sprintf("%v; 'tracer top --once' prints one screen without it", err), true
	}
	return 0, "", false
}

func noColor() bool { return os.Getenv("NO_COLOR") != "" }
