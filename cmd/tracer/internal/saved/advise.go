package saved

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/session"
	"ipytracer/internal/advice"
	"ipytracer/internal/report/formats"
)

// adviseOptions are the flags of `tracer advise`.
type adviseOptions struct {
	session.Options
	Cell int
}

func (o *adviseOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.By, "by", "", "lower the highest moment of `METER`, such as cpu.resident or gpu.0.active, "+
		"instead of the one nearest to its limit")
	flags.IntVar(&o.Cell, "cell", 0, "lower the highest moment of In[`N`] instead of the session's")
	o.FindingFlags(flags, "advice")
	flags.Lookup("no-source").Usage = "keep the notebook's source, and so all code, out of the advice"
	o.WatchFlags(flags, "advice")
	o.StrictFlag(flags, "the highest moment is not exact, or the session is not known in full")
}

func newAdviseCommand(c console.Console) *cobra.Command {
	var o adviseOptions
	cmd := &cobra.Command{
		Use:   "advise {FILE | PID}",
		Short: "Say what to change so that a notebook needs less memory, and how much less",
		Long: `Say what to change in a notebook so that it needs less memory, and how much that saves.

It takes a recording of 'tracer attach --record' or 'tracer run --record', or watches a running kernel until Ctrl-C or
for --duration. At most ten changes are listed: those with which memory fits that a GPU refused, then the largest
saving, by how much lower the highest moment would be, computed from the session; each with its line, the change as a
diff, what it may do to results, what is not known, and the command that tries it. Nothing of the notebook is run.`,
		Example: "  tracer advise run.arrows\n  tracer advise run.arrows --cell 7\n" +
			"  tracer advise run.arrows --by gpu.0.active --format json\n  sudo tracer advise 4242 --duration 10m",
		Args: console.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runAdvise(cmd.Context(), o, c, args[0]) },
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func runAdvise(ctx context.Context, o adviseOptions, c console.Console, target string) error {
	if err := o.check(); err != nil {
		return err
	}
	tracker := attribution.New()
	s, err := session.New(&o.Options, c, tracker)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := replayOrWatch(ctx, s, target, "advises"); err != nil {
		return err
	}
	r := tracker.Stream()
	if o.By != "" && !slices.Contains(r.AllMeters(), o.By) {
		return console.Usagef("--by %s: the session has no figures of it; there are: %s",
			o.By, strings.Join(r.AllMeters(), ", "))
	}
	a := advice.Make(r, advice.Options{Meter: o.By, Input: o.Cell})
	if o.Cell > 0 && a.Cells > 0 && a.At == nil {
		return console.Usagef("--cell %d: the session has no In[%d]", o.Cell, o.Cell)
	}
	err = console.DeliverFinding(s.Document, formats.Advice, a)
	if err != nil {
		return err
	}
	if err := s.Ended(); err != nil {
		return err
	}
	return o.Proven(len(a.Incomplete) == 0 && (a.Exact || a.At == nil), a.Incomplete)
}

// check finds mistakes before any file is read and any process traced.
func (o *adviseOptions) check() error {
	if err := cmp.Or(o.CheckFinding(), console.CheckMeter(o.By), o.CheckDuration()); err != nil {
		return err
	}
	if o.Cell < 0 {
		return console.Usagef("--cell %d: must be the number of a cell, the N of In[N]", o.Cell)
	}
	return nil
}
