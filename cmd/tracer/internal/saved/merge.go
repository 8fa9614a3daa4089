package saved

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/event"
	"ipytracer/internal/merge"
	"ipytracer/internal/report/export"
	"ipytracer/internal/report/formats"
	"ipytracer/internal/report/sheet"
	"ipytracer/model"
	"ipytracer/report"
)

// mergeOptions are the flags of `tracer merge`.
type mergeOptions struct {
	console.Options
	ClockError time.Duration
}

const (
	// maxMerged is the most recordings of one timeline.
	maxMerged = 1000
	// maxClockError is the largest error of clocks that is accepted.
	maxClockError = 365 * 24 * time.Hour
)

func newMergeCommand(c console.Console) *cobra.Command {
	o := mergeOptions{ClockError: -1}
	cmd := &cobra.Command{
		Use:   "merge FILE FILE...",
		Short: "Put recordings of several machines on one timeline",
		Long: `Put recordings of several machines on one timeline: how much all had at once, and which cells of all
needed most. The figures of each recording are those of 'tracer report'.

Recordings of the same boot of a machine lie on the timeline without error. Others are placed by markers of messages
between the nodes, or else by the wall clocks. The error is stated with each, and what it means for "at once".`,
		Example: "  tracer merge a.arrows b.arrows\n  tracer merge node*.arrows --clock-error 10ms -o nodes.pftrace",
		Args:    console.Args(cobra.RangeArgs(2, maxMerged)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("clock-error") {
				o.ClockError = -1
			} else if o.ClockError < 0 || o.ClockError > maxClockError {
				return console.Usagef("--clock-error must be a time from 0 to a year, such as 10ms")
			}
			return runMerge(cmd.Context(), o, c, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Format, "format", "", "the `FORMAT` of the timeline: text, json or perfetto (default text, "+
		"or what the ending of -o stands for)")
	flags.StringVarP(&o.File, "output", "o", "", "write the timeline to `FILE` instead of standard output")
	flags.DurationVar(&o.ClockError, "clock-error", 0, "the most that the wall clocks of two machines are apart, as a "+
		"`TIME` such as 10ms: it bounds the nodes that no messages bound (default: not known)")
	flags.StringVar(&o.By, "by", "cpu.resident",
		"the `METER` that is added up, and ranks the cells: one of the CPU side")
	flags.IntVar(&o.Cells, "cells", 0, "show `N` cells in the text (0: 15)")
	flags.BoolVar(&o.Full, "full", false, "list every recording and the 1,000 heaviest cells in the text")
	flags.BoolVar(&o.NoSource, "no-source", false, "keep the notebooks' source out of every output")
	flags.BoolVarP(&o.Quiet, "quiet", "q", false, "no progress, only the timeline")
	o.StrictFlag(flags, "the figures of one of them are not complete")
	return cmd
}

func (o *mergeOptions) check() error {
	if o.Format == "" {
		o.Format = console.FormatFor(o.File)
	}
	if err := console.CheckFormat(o.Format, "text", "json", "perfetto"); err != nil {
		return err
	}
	if o.Cells < 0 {
		return console.Usagef("--cells must be a number from 0")
	}
	return console.CheckMeter(o.By)
}

// merging is the state of `tracer merge`. It reads the recordings one after another; json and perfetto read them twice.
type merging struct {
	*console.Document
	o     *mergeOptions
	paths []string
	files []*os.File
	m     *model.Merge // once all recordings were read
}

func runMerge(ctx context.Context, o mergeOptions, c console.Console, paths []string) error {
	if err := o.check(); err != nil {
		return err
	}
	set, err := merge.New(merge.Options{Meter: o.By, WallError: int64(o.ClockError)}, len(paths))
	if err != nil {
		return console.Usagef("--by %s: only meters of the CPU side are added up", o.By)
	}
	document, err := console.NewDocument(&o.Options, c)
	if err != nil {
		return err
	}
	defer document.Close()
	g := merging{Document: document, o: &o, paths: paths}
	g.files, err = openEach(document, paths)
	defer closeEach(g.files)
	if err != nil {
		return err
	}
	if err := g.readable(); err != nil {
		return err
	}
	progress := console.StartProgress(c.Err, o.Quiet, "reading")
	defer progress.Stop()
	for i := range paths {
		if err := g.addRecording(ctx, set, i); err != nil {
			return err
		}
	}
	if g.m = set.Merge(); o.NoSource {
		g.m = report.MergeWithoutSource(g.m)
	}
	if err := document.Deliver("timeline", func(w io.Writer) error { return g.print(ctx, w) }); err != nil {
		return err
	}
	complete := !slices.ContainsFunc(g.m.Nodes, func(n model.MergeNode) bool { return !n.Complete })
	return o.Proven(complete, g.m.Doubts)
}

// readable returns an error if the format reads recordings twice and a file cannot be read twice.
func (g *merging) readable() error {
	if g.o.Format == "text" {
		return nil
	}
	for i, f := range g.files {
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return console.Usagef("%s is no regular file, and --format %s reads recordings twice: "+
				"save it to a file first", g.paths[i], g.o.Format)
		}
	}
	return nil
}

// addRecording adds the i-th recording to the set.
func (g *merging) addRecording(ctx context.Context, set *merge.Set, i int) error {
	in := set.Reader()
	r, err := g.read(ctx, i, in.Add)
	if err != nil {
		return err
	}
	err = set.Add(g.paths[i], in, r)
	var same *merge.SameError
	if errors.As(err, &same) {
		return console.Usage(err)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", g.paths[i], err)
	}
	return nil
}

// read returns the report of the i-th recording, and passes each event to note. It frees the memory of the recording
// before.
func (g *merging) read(ctx context.Context, i int, note func(event.Event)) (*model.Report, error) {
	if i > 0 {
		debug.FreeOSMemory()
	}
	var file io.Reader = g.files[i]
	// A file may grow, but must have the same end each time.
	if info, err := g.files[i].Stat(); err == nil && info.Mode().IsRegular() {
		file = io.NewSectionReader(g.files[i], 0, info.Size())
	}
	tracker := attribution.New()
	err := readFor(ctx, g.Document, file, g.paths[i], func(e event.Event) {
		note(e)
		tracker.Add(e)
	})
	if err != nil {
		return nil, err
	}
	return tracker.Stream(), nil
}

// reports reads all recordings again, and yields their reports.
func (g *merging) reports(ctx context.Context) iter.Seq2[*model.Report, error] {
	return func(yield func(*model.Report, error) bool) {
		for i := range g.files {
			r, err := g.read(ctx, i, func(event.Event) {})
			if err != nil {
				yield(nil, err)
				return
			}
			if g.o.NoSource {
				r = report.WithoutSource(r)
			}
			if !yield(formats.Accounted(r), nil) {
				return
			}
		}
	}
}

// parts yields the reports with their nodes and their places on the timeline.
func (g *merging) parts(ctx context.Context) iter.Seq2[export.Recording, error] {
	return func(yield func(export.Recording, error) bool) {
		i := 0
		for r, err := range g.reports(ctx) {
			part := export.Recording{Report: r}
			if err == nil {
				part.Node, part.FromNS = g.m.Nodes[i].Name, g.m.Nodes[i].StartNS
			}
			if !yield(part, err) {
				return
			}
			i++
		}
	}
}

func (g *merging) print(ctx context.Context, w io.Writer) error {
	switch g.o.Format {
	case "json":
		return report.MergeJSON(w, g.m, g.reports(ctx))
	case "perfetto":
		return export.PerfettoOf(w, g.parts(ctx))
	}
	return sheet.Merge(g.m, sheet.Options{Cells: g.o.Cells, Full: g.o.Full}).Text(w, console.Screen(w))
}
