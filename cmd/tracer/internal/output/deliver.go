package output

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/advice"
	"ipytracer/internal/gpu"
	"ipytracer/internal/report/export"
	"ipytracer/internal/words"
	"ipytracer/model"
	"ipytracer/report"
)

// LeastLeak is the least size, in bytes, of a leak that an HTML page lists.
const LeastLeak = 1 << 20

// Report prints the report of a session by a function. findings are of the session's audit, nil unless the report has
// leaks.
func (d *Document) Report(
	tracker *attribution.Tracker, findings *attribution.Findings,
	print func(io.Writer, *model.Report, *model.Audit) error,
) (r *model.Report, err error) {
	d.Garbage.print()
	err = d.Deliver("report", func(w io.Writer) error {
		var audit *model.Audit
		r = tracker.Stream()
		if findings != nil {
			audit = findings.Audit(LeastLeak)
		}
		if d.Options.hasAdvice() {
			r.Advice = advice.Make(r, advice.Options{})
		}
		d.AnnounceSize(r)
		if without := d.Options.unranked(r); without != "" {
			d.Console.Say("%s", without)
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

// place is a possible destination of a report.
type place struct {
	name string
	open func() (*Destination, error)
}

// Deliver prints to the requested place, else where there is room: on standard output, beside the recording, in the
// folder for temporary files. It fails with an [elsewhereError] that names the other place.
func (d *Document) Deliver(what string, print func(io.Writer) error) error {
	err := d.To.take(print)
	if err == nil {
		d.SayPartial()
		return nil
	}
	why := fmt.Errorf("write the %s: %w", what, err)
	if errors.Is(err, export.ErrNoGPU) {
		return err // another place would fail the same way
	}
	if !d.Once || d.To.partly && errors.Is(err, syscall.EPIPE) {
		return why // the recording can be read again, and a reader that closed its end needs no more
	}
	for _, p := range d.otherPlaces(what) {
		to, err := p.open()
		if err != nil {
			continue
		}
		d.Console.Signals.RemoveOnExit(to)
		if to.take(print) == nil {
			return status.Elsewhere(why, p.name)
		}
		to.Discard()
	}
	return why
}

// otherPlaces returns the alternatives to the requested place, the best first.
func (d *Document) otherPlaces(what string) []place {
	var places []place
	if d.To.Path != "" && d.Options.forTerminal(d.Console.Out) == nil {
		places = append(places, place{
			"on standard output", func() (*Destination, error) { return &Destination{Writer: d.Console.Out}, nil },
		})
	}
	extension := ".txt"
	if f := formatOf(d.Options.Format); f != nil {
		extension = f.ending
	}
	file := func(path string) place {
		return place{"in " + path, func() (*Destination, error) {
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

// errNoDriver refuses a format that would have nothing to show on this machine.
var errNoDriver = status.Errorf(status.CannotTrace,
	"--format memory-viz shows memory on GPUs, and this machine has no NVIDIA driver; print another format")

// CheckGPU checks, before tracing begins, whether there can be no memory on a GPU. It does not look at processes: that
// waits until the program has given up its rights.
func (o *Options) CheckGPU() error {
	if o.Format != "memory-viz" || gpu.Loadable() || gpu.FindLibrary(gpu.CUDALibrary) != "" ||
		gpu.LoadedDriver("/proc") != "" {
		return nil
	}
	for _, dir := range filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) {
		if _, err := os.Stat(filepath.Join(dir, gpu.CUDALibrary)); err == nil {
			return nil
		}
	}
	return errNoDriver
}

// muchToWrite is the size, in bytes, from which on a report's size is announced.
const muchToWrite = 20 << 20

// AnnounceSize announces the size of a large report, and how to make it smaller.
func (d *Document) AnnounceSize(r *model.Report) {
	f := formatOf(d.Options.Format)
	if f == nil || f.smaller == "" || d.Options.Quiet {
		return
	}
	size, err := report.Size(d.Options.wanted(r), f.print)
	if err != nil || size < muchToWrite { // the report itself will have the error
		return
	}
	d.Console.Say("as %s this report will have about %s: %s",
		f.name, words.Bytes(size), f.smaller)
}
