package main

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
	"ipytracer/internal/report/torchviz"
	"ipytracer/model"
)

// leastOfPage is the least size, in bytes, of a leak on a page.
const leastOfPage = 1 << 20

// conclude prints the report and returns an error with its exit status.
func (s *session) conclude(tracker *attribution.Tracker) error {
	s.garbage.print()
	var r *model.Report
	err := s.deliver("report", func(w io.Writer) error {
		r = tracker.Stream()
		if s.findings != nil {
			s.options.audit = s.findings.Audit(leastOfPage)
		}
		if s.options.hasAdvice() {
			r.Advice = advice.Make(r, advice.Options{})
		}
		s.announceSize(r)
		if without := s.options.unranked(r); without != "" {
			fmt.Fprintf(s.console.err, "tracer: %s\n", without)
		}
		return s.printReport(w, r)
	})
	if errors.Is(err, torchviz.ErrNoGPU) && s.source != nil {
		return s.asText(tracker, err)
	}
	if err != nil {
		return err
	}
	if s.trouble != nil {
		return errIncomplete
	}
	if err := s.endedEarly(); err != nil {
		return err
	}
	return judged(s, r)
}

// judged prints the note of --strict, and returns its error.
func judged(s *session, r *model.Report) error {
	note, err := s.options.Strict.judge(r)
	if note != "" {
		fmt.Fprintf(s.console.err, "tracer: %s\n", note)
	}
	return err
}

// elsewhereError says that a report is at another place than requested, and names that place.
type elsewhereError struct {
	why   error
	where string
}

func (e *elsewhereError) Error() string { return e.why.Error() }

func (e *elsewhereError) Unwrap() error { return e.why }

// place is a possible destination of a report.
type place struct {
	name string
	open func() (*destination, error)
}

// deliver prints to the requested place, else where there is room: on standard output, beside the recording, in the
// folder for temporary files. It fails with an [elsewhereError] that names the other place.
func (s *session) deliver(what string, print func(io.Writer) error) error {
	err := s.to.take(print)
	if err == nil {
		sayPartial(s)
		return nil
	}
	why := fmt.Errorf("write the %s: %w", what, err)
	if errors.Is(err, torchviz.ErrNoGPU) {
		return err // another place would fail the same way
	}
	if s.source == nil || s.to.partly && errors.Is(err, syscall.EPIPE) {
		return why // the recording can be read again, and a reader that closed its end needs no more
	}
	for _, p := range s.otherPlaces(what) {
		to, err := p.open()
		if err != nil {
			continue
		}
		s.console.ends.takeAway(to)
		if to.take(print) == nil {
			return &elsewhereError{why, p.name}
		}
		to.Discard()
	}
	return why
}

// otherPlaces returns the alternatives to the requested place, the best first.
func (s *session) otherPlaces(what string) []place {
	var places []place
	if s.to.path != "" && s.options.forTerminal(s.console.out) == nil {
		places = append(places, place{
			"on standard output", func() (*destination, error) { return &destination{Writer: s.console.out}, nil },
		})
	}
	extension := ".txt"
	if f := formatOf(s.options.Format); f != nil {
		extension = f.ending
	}
	file := func(path string) place {
		return place{"in " + path, func() (*destination, error) {
			f, err := s.rights.Create(path, false)
			if err != nil {
				return nil, err
			}
			return &destination{Writer: f, file: f, path: path}, nil
		}}
	}
	if r := s.options.Record; r != "" && descriptor(r) == nil && r != "-" {
		places = append(places, file(r+"."+what+extension))
	}
	return append(places, file(filepath.Join(os.TempDir(), "tracer-"+what+"-"+rand.Text()[:8]+extension)))
}

// take prints a document as a whole.
func (d *destination) take(print func(io.Writer) error) error {
	if err := print(d); err != nil {
		return err
	}
	return d.commit()
}

// Write notes whether a reader has received a part of the document.
func (d *destination) Write(p []byte) (int, error) {
	n, err := d.Writer.Write(p)
	d.partly = d.partly || n > 0
	return n, err
}

// errNoDriver says that the report would be empty.
var errNoDriver = errors.New("--format memory-viz shows memory on GPUs, and this machine has no NVIDIA driver; " +
	"print another format")

// checkGPU checks, before tracing begins, whether there can be no memory on a GPU. It does not look at processes: that
// waits until the program has given up its rights.
func (o *OutputOptions) checkGPU() error {
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

// asText prints a report as text on standard error: in the requested format it would be empty, and the session is over.
func (s *session) asText(tracker *attribution.Tracker, why error) error {
	var to io.Writer = s.console.err
	if m, ok := to.(*messages); ok { // messages would leave out long texts
		m.drain(lastWords)
		to = m.to
	}
	o := s.options.OutputOptions
	o.Format = "text"
	r := tracker.Stream()
	s.announceSize(r)
	if err := o.Print(to, r); err != nil {
		return errors.Join(why, err)
	}
	return &elsewhereError{why, "above, as text on standard error"}
}
