package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ipytracer/attribution"
	"ipytracer/internal/advice"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

// AdviseOptions are the flags of `tracer advise`.
type AdviseOptions struct {
	SessionOptions
	By   string
	Cell int
}

func (o *AdviseOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.By, "by", "", "lower the highest moment of `METER`, such as cpu.resident or gpu.0.active, "+
		"instead of the one nearest to its limit")
	f.IntVar(&o.Cell, "cell", 0, "lower the highest moment of In[`N`] instead of the session's")
	f.StringVar(&o.Format, "format", "text",
		"the `FORMAT` of the advice: text, json, markdown or html (a page without scripts)")
	f.StringVarP(&o.File, "output", "o", "", "write the advice to `FILE` instead of standard output")
	f.BoolVar(&o.NoSource, "no-source", false, "keep the notebook's source, and so all code, out of the advice")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "no live lines and no progress, only the advice")
	o.strictFlag(f, "the highest moment is not exact, or the session is not known in full")
	f.DurationVar(&o.Duration, "duration", 0, "of a running kernel: stop after this `TIME`, such as 30s or 10m")
	f.StringVar(&o.Budget, "budget", "3%",
		"of a running kernel: what probes may cost, as a `SHARE` of the session's time, or 'off'")
	f.IntVar(&o.Ring, "ring", 4096, "of a running kernel: size of the ring of changes in `KiB`, a power of two")
	f.StringVar(&o.Record, "record", "", "of a running kernel: write everything to `FILE` as well")
	f.BoolVar(&o.Force, "force", false, "let --record overwrite a file")
	f.StringVar(&o.ReadyFile, "ready-file", "", "of a running kernel: create `FILE` once every probe is in place")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "log to standard error")
}

func newAdviseCommand(c console) *cobra.Command {
	var o AdviseOptions
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
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runAdvise(cmd.Context(), o, c, args[0]) },
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func runAdvise(ctx context.Context, o AdviseOptions, c console, target string) error {
	if err := o.check(); err != nil {
		return err
	}
	tracker := attribution.New()
	s, err := newSession(&o.SessionOptions, c, tracker)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.replayOrWatch(ctx, target, "advises"); err != nil {
		return err
	}
	r := tracker.Stream()
	if o.By != "" && !slices.Contains(r.AllMeters(), o.By) {
		return usageError{fmt.Errorf("--by %s: the session has no figures of it; there are: %s",
			o.By, strings.Join(r.AllMeters(), ", "))}
	}
	a := advice.Make(r, advice.Options{Meter: o.By, Input: o.Cell})
	if o.Cell > 0 && a.Cells > 0 && a.At == nil {
		return usageError{fmt.Errorf("--cell %d: the session has no In[%d]", o.Cell, o.Cell)}
	}
	if err := s.deliver("advice", func(w io.Writer) error { return o.print(w, a) }); err != nil {
		return err
	}
	if s.trouble != nil {
		return errIncomplete
	}
	if err := s.endedEarly(); err != nil {
		return err
	}
	return o.proven(len(a.Incomplete) == 0 && (a.Exact || a.At == nil), a.Incomplete)
}

// check finds mistakes before any file is read and any process traced.
func (o *AdviseOptions) check() error {
	if err := checkFormat(o.Format, "text", "json", "markdown", "html"); err != nil {
		return err
	}
	if err := checkMeter(o.By); err != nil {
		return err
	}
	switch {
	case o.Cell < 0:
		return usageError{fmt.Errorf("--cell %d: it is the number of a cell, N of In[N]", o.Cell)}
	case o.Duration < 0:
		return usageError{errors.New("--duration cannot be negative")}
	}
	return nil
}

func (o *AdviseOptions) print(w io.Writer, a *model.Advice) error {
	if o.NoSource {
		a = report.AdviceWithoutSource(a)
	}
	switch o.Format {
	case "json":
		return report.AdviceJSON(w, a)
	case "markdown":
		return sheet.AdviceMarkdown(w, a)
	case "html":
		return sheet.AdviceHTML(w, a)
	}
	return text.Advice(w, a, text.Options{Color: colored(w), Width: width(w)})
}
