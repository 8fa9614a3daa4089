package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"ipytracer/event"
	"ipytracer/event/recording"
	"ipytracer/internal/report/escape"
)

// Every command that shows figures of a recording reads it here. The events end with a finish that says how far the
// recording goes, and the accuracy of each figure follows from that (package attribution). Formats without room for it
// leave it to the sentence on standard error.

// readRecording passes the events of a recording to take, and returns how far they go.
func readRecording(ctx context.Context, in io.Reader, take func(event.Event)) (recording.Extent, error) {
	source, err := recording.Open(in)
	if err != nil {
		return recording.Extent{}, err
	}
	err = source.Each(ctx, take)
	return source.Extent(), err
}

// partial is a recording that is not whole.
type partial struct {
	path   string
	extent recording.Extent
}

// String says in one sentence how far it goes and what its figures are.
func (p partial) String() string {
	return notWhole(p.path, p.extent.String())
}

// notWhole says of a file how far its recording goes. Both may come from any source.
func notWhole(path, extent string) string {
	return fmt.Sprintf("%s: %s; no figure of it is exact", escape.Bounded(path, 200), escape.Bounded(extent, 300))
}

// readFor passes the events of one of the session's recordings to take.
func readFor(ctx context.Context, s *session, in io.Reader, path string, take func(event.Event)) error {
	extent, err := readRecording(ctx, in, func(e event.Event) {
		take(e)
		s.garbage.pace()
	})
	if err != nil {
		return notRecorded(path, err)
	}
	if !extent.IsWhole() && !slices.ContainsFunc(s.partial, func(p partial) bool { return p.path == path }) {
		s.partial = append(s.partial, partial{path, extent})
	}
	return nil
}

// maxPartial is the number of recordings that are named if they are not whole.
const maxPartial = 5

// sayPartial reports the recordings that are not whole, unless --strict does.
func sayPartial(s *session) {
	if s.options.Strict.any() {
		return
	}
	for i, p := range s.partial {
		if i == maxPartial {
			fmt.Fprintf(s.console.err, "tracer: … and %d more are not whole\n", len(s.partial)-i)
			break
		}
		fmt.Fprintf(s.console.err, "tracer: %v\n", p)
	}
}

// strictFlag defines --strict of a command that prints no report.
func (o *OutputOptions) strictFlag(f *pflag.FlagSet, usage string) {
	f.BoolVar(&o.Strict.figures, "strict", false, "exit with status 4 if "+usage)
}

// proven returns the error of --strict if not everything is exact and known in full, for these reasons.
func (o *OutputOptions) proven(everything bool, why []string) error {
	if everything || !o.Strict.figures {
		return nil
	}
	return boundError("--strict: not every figure is exact: " + reasons(why))
}
