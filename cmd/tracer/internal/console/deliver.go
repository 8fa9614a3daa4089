package console

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"ipytracer/attribution"
	"ipytracer/internal/advice"
	"ipytracer/internal/gpu"
	"ipytracer/internal/report/export"
	"ipytracer/internal/report/formats"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/report"
)

// Report makes the report of a session and prints it by calling print. findings are the session's audit, nil unless the
// report needs it.
func (d *Document) Report(
	tracker *attribution.Tracker, findings *attribution.Findings,
	print func(io.Writer, *model.Report, *model.Audit) error,
) (r *model.Report, err error) {
	d.Garbage.print()
	err = d.Deliver("report", func(w io.Writer) error {
		var audit *model.Audit
		r = tracker.Stream()
		if findings != nil {
			audit = findings.Audit(formats.LeastLeak)
		}
		if d.Options.hasAdvice() {
			r.Advice = advice.Make(r, advice.Options{})
		}
		d.AnnounceSize(r)
		if note := d.Options.missingMeterNote(r); note != "" {
			d.Console.Say("%s", note)
		}
		return print(w, r, audit)
	})
	return r, err
}

// Judge prints the note of --strict, and returns its error.
func (d *Document) Judge(r *model.Report) error {
	note, err := d.Options.Strict.Judge(r)
	if note != "" {
		d.Console.Say("%s", note)
	}
	return err
}

// alternative is a place for a document whose own place has no room.
type alternative struct {
	name string
	open func() (*Destination, error)
}

// Deliver prints a document to the requested place. If that fails and the document cannot be printed again later,
// Deliver tries standard output, the folder of the recording, and the folder for temporary files. Its error names that
// place.
func (d *Document) Deliver(what string, print func(io.Writer) error) error {
	err := d.To.deliver(print)
	if err == nil {
		d.SayPartial()
		return nil
	}
	why := fmt.Errorf("write the %s: %w", what, err)
	if errors.Is(err, export.ErrNoGPU) {
		return err // another place would fail the same way
	}
	readerHasEnough := d.To.partlyWritten && errors.Is(err, syscall.EPIPE)
	if !d.Once || readerHasEnough {
		return why
	}
	for _, p := range d.otherPlaces(what) {
		to, err := p.open()
		if err != nil {
			continue
		}
		d.Console.Signals.RemoveOnExit(to)
		if to.deliver(print) == nil {
			return Elsewhere(why, p.name)
		}
		to.Discard()
	}
	return why
}

// otherPlaces returns the alternatives, the best first.
func (d *Document) otherPlaces(what string) []alternative {
	var places []alternative
	if d.To.Path != "" && d.Options.forTerminal(d.Console.Out) == nil {
		places = append(places, alternative{
			"on standard output", func() (*Destination, error) { return &Destination{Writer: d.Console.Out}, nil },
		})
	}
	extension := ".txt"
	if f := formats.Of(d.Options.Format); f != nil {
		extension = f.Ending
	}
	file := func(path string) alternative {
		return alternative{"in " + path, func() (*Destination, error) {
			f, err := d.Rights.Create(path, false)
			if err != nil {
				return nil, err
			}
			return &Destination{Writer: f, File: f, Path: path}, nil
		}}
	}
	if d.Beside != "" && Descriptor(d.Beside) == nil && d.Beside != "-" {
		places = append(places, file(d.Beside+"."+what+extension))
	}
	return append(places, file(filepath.Join(os.TempDir(), "tracer-"+what+"-"+rand.Text()[:8]+extension)))
}

// errNoDriver says that a format would be empty on this machine.
var errNoDriver = Errorf(CannotTrace,
	"--format memory-viz shows memory on GPUs, and this machine has no NVIDIA driver; print another format")

// CheckGPU returns an error, before tracing begins, if the format shows only GPU memory and this machine cannot have
// any.
func (o *Options) CheckGPU() error {
	if o.Format != "memory-viz" {
		return nil
	}
	if gpu.Loadable() || gpu.FindLibrary(gpu.CUDALibrary) != "" || gpu.LoadedDriver("/proc") != "" {
		return nil
	}
	for _, dir := range filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) {
		if _, err := os.Stat(filepath.Join(dir, gpu.CUDALibrary)); err == nil {
			return nil
		}
	}
	return errNoDriver
}

// muchToWrite is the size in bytes from which on a report's size is announced.
const muchToWrite = 20 << 20

// AnnounceSize announces the size of a large report, and how to make it smaller.
func (d *Document) AnnounceSize(r *model.Report) {
	f := formats.Of(d.Options.Format)
	if f == nil || f.Smaller == "" || d.Options.Quiet {
		return
	}
	size, err := report.Size(d.Options.reduced(r), f.Print)
	if err != nil || size < muchToWrite { // the report itself will have the error
		return
	}
	d.Console.Say("as %s this report will have about %s: %s",
		f.Name, words.Bytes(size), f.Smaller)
}
