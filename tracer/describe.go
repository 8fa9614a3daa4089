package tracer

import (
	"cmp"
	"io"

	"ipytracer/event"
	"ipytracer/tracer/host/process"
)

// IsPython says whether an ELF file defines a CPython interpreter that is known.
func IsPython(r io.ReaderAt) bool { return isPython(r) }

// Describer looks at running Pythons. It looks through the file of each interpreter once, which takes a tenth of a
// second of processor time, however many run it. It must be closed.
type Describer struct{ known interpreters }

// NewDescriber returns one that has looked at nothing.
func NewDescriber(fs process.FS) *Describer { return &Describer{interpreters{fs: fs}} }

// Close lets go of what is known.
func (d *Describer) Close() { d.known.close() }

// Describe looks at a running Python process without touching it: versions and front end, as far as they can be told;
// where the front end is not known it is what the command line says. The error says why a process was not looked into,
// which has no versions then.
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
