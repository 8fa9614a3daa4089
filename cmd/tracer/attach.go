package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ipytracer/attribution"
	"ipytracer/internal/host/process"
	"ipytracer/tracer"
)

// AttachOptions are the flags of `tracer attach`.
type AttachOptions struct {
	SessionOptions
	All bool
	// Started is the start time of the intended process, in 1/100 s since boot; 0: any process with the pid.
	Started uint64
	// Owner is the user that must own the processes, -1 for any.
	Owner int64
	// LeftAt is the path at which a server keeps the report, which notebooks show; "" for none.
	LeftAt string
}

func newAttachCommand(c console) *cobra.Command {
	var o AttachOptions
	cmd := &cobra.Command{
		Use:   "attach [PID ...]",
		Short: "Attach to a running IPython or Jupyter kernel",
		Long: "Attach to a running IPython or Jupyter kernel and print what every cell needs, " +
			"live on standard error and as\n" +
			"a whole at the end. Without a PID: the only kernel there is, or a list to choose from.\n\n" +
			"It ends on Ctrl-C, when the target ends, or after --duration. The target does not notice.",
		Example: "  sudo tracer attach\n  sudo tracer attach 4242 --record run.arrows\n" +
			"  sudo tracer attach --all --duration 10m --format json -o report.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAttach(cmd.Context(), o, c, args)
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.All, "all", false, "attach to every kernel there is")
	cmd.Flags().Uint64Var(&o.Started, "started", 0, "attach only to a process that started then")
	cmd.Flags().Int64Var(&o.Owner, "owner", -1, "attach only to processes of this user, which have no further rights")
	cmd.Flags().StringVar(&o.LeftAt, "left-at", "",
		"tell notebooks that the report will be at `PATH`; print none where no cell has run")
	for _, name := range []string{"started", "owner", "left-at"} {
		_ = cmd.Flags().MarkHidden(name)
	}
	cmd.Flags().DurationVar(&o.Duration, "duration", 0, "detach after this `TIME`, such as 30s or 10m")
	return cmd
}

func runAttach(ctx context.Context, o AttachOptions, c console, args []string) error {
	options, err := o.tracerOptions(c)
	if err != nil {
		return err
	}
	if o.Duration < 0 {
		return usageError{errors.New("--duration cannot be negative")}
	}
	pids, err := parsePIDs(args)
	if err != nil {
		return usageError{err}
	}
	who := named(pids)
	if o.Started > 0 && len(who) == 1 {
		who[0].StartTicks = o.Started
	}
	if len(pids) == 0 {
		if who, err = chooseKernels(ctx, c, o.All, "attach"); err != nil {
			return err
		}
	}
	if o.Owner >= 0 {
		owner := uint32(o.Owner)
		options.Owner = &owner
	}
	tracker, findings := attribution.NewAudited()
	s, err := newSession(&o.SessionOptions, c, tracker)
	if err != nil {
		return err
	}
	defer s.close()
	options.Companion = s.listen(tracker, findings, o.LeftAt)
	options.Tolerant = o.All && len(args) == 0
	if err := s.attached(ctx, who, options, "prints the report"); err != nil {
		return err
	}
	if o.LeftAt != "" && tracker.Cells() == 0 {
		return s.endedEarly()
	}
	return s.conclude(tracker)
}

// attached traces processes until the context ends or they do.
func (s *session) attached(ctx context.Context, who []process.Identity, options tracer.Options, does string) error {
	live, err := begin(ctx, s, who, options)
	if err != nil {
		return err
	}
	defer live.Close()
	sayLimits(s.console, live, s.options.Quiet)
	sayLeftOut(s.console, live)
	if !s.options.Quiet && does != "" {
		warnHeap(s.console, live)
		fmt.Fprintf(s.console.err, "tracer: attached to %s; Ctrl-C detaches and %s\n", describePIDs(who), does)
	}
	if s.options.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.options.Duration, errDuration)
		defer cancel()
	}
	if s.view != nil {
		if err := s.view.begin(); err != nil {
			return err
		}
		defer s.view.end()
	}
	return s.follow(ctx, live.Pending)
}

// begin attaches to processes, and signals that every probe is in place.
func begin(ctx context.Context, s *session, who []process.Identity, options tracer.Options) (*tracer.Session, error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	s.console.ends.goOn()
	progress := startProgress(s.console.err, s.options.Quiet, "attaching")
	options.Confine = s.remains()
	options.Settle, options.Looking = true, s.last.within
	live, err := tracer.Attach(ctx, who, options)
	progress.stop()
	if err != nil {
		return nil, err
	}
	s.source, s.running = live, live
	if err := s.ready(); err != nil {
		_ = live.Close()
		return nil, err
	}
	return live, nil
}

// sayLeftOut reports that there were more kernels than a session traces.
func sayLeftOut(c console, live *tracer.Session) {
	if why := tracer.LeftOut(live); why != "" {
		fmt.Fprintf(c.err, "tracer: %s\n", why)
	}
}

// warnHeap prints the cost of --heap to the target.
func warnHeap(c console, live *tracer.Session) {
	if cost := live.HeapCost(); cost > 0 {
		fmt.Fprintf(c.err, "tracer: --heap: each malloc and free together cost the target about %.1f µs more here, "+
			"and their lines 0.4 µs a call on the stack\n",
			float64(cost.Nanoseconds())/1000)
	}
}

var errDuration = errors.New("the duration was over")

func parsePIDs(args []string) (pids []int, err error) {
	for _, a := range args {
		pid, err := strconv.Atoi(a)
		if err != nil || pid <= 0 {
			return nil, fmt.Errorf("%q is not a process id; 'tracer kernels' lists them", a)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// named returns the processes with pids that the user typed, of any owner.
func named(pids []int) (who []process.Identity) {
	for _, pid := range pids {
		who = append(who, process.Identity{PID: pid})
	}
	return who
}

func describePIDs(who []process.Identity) string {
	if len(who) == 1 {
		return fmt.Sprintf("process %d", who[0].PID)
	}
	var parts []string
	for _, id := range who {
		parts = append(parts, strconv.Itoa(id.PID))
	}
	return "processes " + strings.Join(parts, ", ")
}

// parseBudget reads "3%", "0.03" or "off".
func parseBudget(text string) (float64, error) {
	if text == "off" {
		return -1, nil
	}
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share > 0 && share <= 1) {
		return 0, fmt.Errorf("--budget %q: it is a share of the time such as 3%%, or 'off'", text)
	}
	return share, nil
}

func logger(w io.Writer, verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}
