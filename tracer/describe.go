package tracer

import (
	"cmp"
	"io"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/tracee"
)

// IsPython reports whether an ELF file defines a supported CPython interpreter.
func IsPython(r io.ReaderAt) bool { return instruments.IsPython(r) }

// Describer examines running Pythons. It analyses the file of each interpreter once, however many processes run it,
// which takes a tenth of a second of processor time. It must be closed.
type Describer struct{ known instruments.Interpreters }

// NewDescriber returns a Describer without any analysed files.
func NewDescriber(fs process.FS) *Describer { return &Describer{instruments.Interpreters{FS: fs}} }

// Close releases the results of all analyses.
func (d *Describer) Close() { d.known.Close() }

// Describe examines a running Python process without touching it: versions and front end, as far as they can be
// determined. If the memory shows no front end, Describe takes it from the command line. The error says why a process
// was not examined; then its versions are missing.
func (d *Describer) Describe(of process.Python) (event.ProcessInfo, error) {
	p, err := d.known.Open(of.PID)
	if err != nil {
		return event.ProcessInfo{PID: int32(of.PID), Frontend: of.Frontend}, err
	}
	defer p.Close()
	t := &tracee.Target{PID: of.PID, Python: p}
	if addr, n, err := p.Live.InputList(); err == nil {
		p.Inputs, p.Count = addr, n
		p.IPython, _ = p.Live.IPythonVersion()
		p.Front = p.Live.Frontend()
		p.Notebook = tracee.NotebookOf(d.known.FS, of.PID, p.Live)
	}
	info := t.Info()
	info.Frontend = cmp.Or(info.Frontend, of.Frontend)
	return info, nil
}
