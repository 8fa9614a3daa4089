package tracer

import (
	"cmp"
	"io"

	"ipytracer/event"
	"ipytracer/internal/host/process"
)

// IsPython reports whether an ELF file defines a supported CPython interpreter.
func IsPython(r io.ReaderAt) bool { return isPython(r) }

// Describer examines running Pythons. It analyses the file of each interpreter once, however many processes run it,
// which takes a tenth of a second of processor time. It must be closed.
type Describer struct{ known interpreters }

// NewDescriber returns a Describer without any analysed files.
func NewDescriber(fs process.FS) *Describer { return &Describer{interpreters{fs: fs}} }

// Close releases the results of all analyses.
func (d *Describer) Close() { d.known.close() }

// Describe examines a running Python process without touching it: versions and front end, as far as they can be
// determined. If the memory shows no front end, Describe takes it from the command line. The error says why a process
// was not examined; then its versions are missing.
func (d *Describer) Describe(of process.Python) (event.ProcessInfo, error) {
	p, err := d.known.open(of.PID)
	if err != nil {
		return event.ProcessInfo{PID: int32(of.PID), Frontend: of.Frontend}, err
	}
	defer p.close()
	t := &target{pid: of.PID, python: p}
	if addr, n, err := p.live.InputList(); err == nil {
		p.inputs, p.count = addr, n
		p.ipython, _ = p.live.IPythonVersion()
		p.front = p.live.Frontend()
		p.notebook = notebookOf(d.known.fs, of.PID, p.live)
	}
	info := t.info()
	info.Frontend = cmp.Or(info.Frontend, of.Frontend)
	return info, nil
}
