package session

import (
	"context"

	"github.com/spf13/cobra"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/host/process"
	"ipytracer/tracer"
)

// attachOptions are the flags of `tracer attach`.
type attachOptions struct {
	Options
	All bool // attach to every kernel
	// Started is when the intended process started, in 1/100 s since boot; 0: any process with the process ID.
	Started uint64
	// Owner is the user that must own the processes; -1: any.
	Owner int64
	// LeftAt is the path at which a server will keep the report, which notebooks show; "" for none.
	LeftAt string
}

func newAttachCommand(c console.Console) *cobra.Command {
	var o attachOptions
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

func runAttach(ctx context.Context, o attachOptions, c console.Console, args []string) error {
	options, err := o.TracerOptions(c)
	if err != nil {
		return err
	}
	pids, err := console.ParsePIDs(args)
	if err != nil {
		return err
	}
	who := inventory.Named(pids)
	if o.Started > 0 && len(who) == 1 {
		who[0].StartTicks = o.Started
	}
	if len(pids) == 0 {
		if who, err = inventory.Choose(ctx, c, o.All, "attach"); err != nil {
			return err
		}
	}
	if o.Owner >= 0 {
		owner := uint32(o.Owner)
		options.Owner = &owner
	}
	tracker, findings := attribution.NewAudited()
	s, err := New(&o.Options, c, tracker)
	if err != nil {
		return err
	}
	defer s.Close()
	options.Companion = s.Listen(tracker, findings, o.LeftAt)
	options.Tolerant = o.All && len(args) == 0
	if err := s.Trace(ctx, who, options, "prints the report"); err != nil {
		return err
	}
	if o.LeftAt != "" && tracker.Cells() == 0 {
		return s.Ended()
	}
	return s.Conclude(tracker)
}

// Trace traces processes until they or the context end. does says what happens at the end, such as "prints the report".
func (s *Session) Trace(ctx context.Context, who []process.Identity, options tracer.Options, does string) error {
	live, err := s.Attach(ctx, who, options)
	if err != nil {
		return err
	}
	defer live.Close()
	SayLimits(s.Console, live, s.Options.Quiet)
	sayLeftOut(s.Console, live)
	if !s.Options.Quiet && does != "" {
		WarnHeap(s.Console, live)
		s.Console.Say("attached to %s; Ctrl-C detaches and %s", inventory.Describe(who), does)
	}
	if s.Options.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.Options.Duration, errDuration)
		defer cancel()
	}
	if s.View != nil {
		if err := s.View.Begin(); err != nil {
			return err
		}
		defer s.View.End()
	}
	return s.Follow(ctx, live.Pending)
}

// sayLeftOut reports the kernels that the session does not trace because there are too many.
func sayLeftOut(c console.Console, live *tracer.Session) {
	if why := tracer.LeftOut(live); why != "" {
		c.Say("%s", why)
	}
}
