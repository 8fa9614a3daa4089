package tracer

import (
	"cmp"
	"io"

	"ipytracer/event"
	"ipytracer/tracer/process"
)

// IsPython says whether an ELF file defines a CPython interpreter that is known.
func IsPython(r io.ReaderAt) bool { return isPython(r) }

// Describe looks at a running Python process without touching it: versions and front end, as far as they can be
// told; where the front end is not known it is what the command line says. A process that may not be looked into has no versions.
func Describe(fs process.FS, of process.Python) event.ProcessInfo {
	all := interpreters{fs: fs}
	defer all.close()
	p, err := all.open(of.PID)
	if err != nil {
		return event.ProcessInfo{PID: int32(of.PID), Frontend: of.Frontend}
	}
	defer p.close()
	t := &target{pid: of.PID, python: p}
	if addr, n, err := p.live.InputList(); err == nil {
		p.inputs, p.count = addr, n
		p.ipython, _ = p.live.IPythonVersion()
		p.front = p.live.Frontend()
	}
	info := t.info()
	info.Frontend = cmp.Or(info.Frontend, of.Frontend)
	return info
}
