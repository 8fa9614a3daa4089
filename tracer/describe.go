package tracer

import (
	"io"

	"ipytracer/event"
	"ipytracer/tracer/process"
)

// IsPython says whether an ELF file defines a CPython interpreter that is known.
func IsPython(r io.ReaderAt) bool { return isPython(r) }

// Describe looks at a running Python process without touching it: versions and front end, as far as they can be
// told. A process that is no Python, or may not be looked into, has none.
func Describe(fs process.FS, pid int) event.ProcessInfo {
	all := interpreters{fs: fs}
	defer all.close()
	p, err := all.open(pid)
	if err != nil {
		return event.ProcessInfo{PID: int32(pid)}
	}
	defer p.close()
	t := &target{pid: pid, python: p}
	if addr, n, err := p.live.InputList(); err == nil {
		p.inputs, p.count = addr, n
		p.ipython, _ = p.live.IPythonVersion()
		p.front = p.live.Frontend()
	}
	return t.info()
}
