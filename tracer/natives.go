package tracer

import (
	"io"
	"log/slog"
	"sync"

	"ipytracer/event"
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/native"
	"ipytracer/internal/host/process"
)

// natives are the ELF files of all targets, and the Python stacks behind native ones.
type natives struct {
	fs     process.FS
	kernel codeTable
	log    *slog.Logger
	target func(pid int) *target // returns a traced process that has not ended

	modules map[process.FileID]*native.Module // nil where a file cannot be used
	ahead   rulesAhead
	room    elffile.Room
	places  int        // of all targets
	opening sync.Mutex // held for files and closed
	files   []io.Closer
	closed  bool // files are closed, and later ones are closed at once
	stacks  map[uint64]*event.Stack
	frames  int    // of all stacks
	mapped  uint32 // number of code mappings ever seen
	naming  naming
}

// Limits of the caches. The kernel's table of stacks has as many.
const (
	maxModules      = 512
	maxPythonStacks = 1 << 17
	maxPythonFrames = 1 << 20
	maxNativeBytes  = 64 << 20 // of symbols and lines; PyTorch's libraries have some 10 MiB of them
)

// keep stores a Python stack for the native ones that refer to it.
func (n *natives) keep(wanted bool, s *event.Stack) {
	if !wanted || len(n.stacks) >= maxPythonStacks || n.frames+len(s.Frames) > maxPythonFrames {
		return
	}
	if n.stacks == nil {
		n.stacks = map[uint64]*event.Stack{}
	}
	n.stacks[s.Number] = s
	n.frames += len(s.Frames)
}

func (n *natives) close() {
	n.ahead.stop()
	n.naming.wait(endPatience)
	n.opening.Lock()
	defer n.opening.Unlock()
	for _, f := range n.files {
		_ = f.Close()
	}
	n.files, n.modules, n.closed = nil, nil, true
}

// closeLater keeps a file open until the session closes. Any goroutine may call it.
func (n *natives) closeLater(f io.Closer) {
	n.opening.Lock()
	defer n.opening.Unlock()
	if n.closed {
		_ = f.Close()
		return
	}
	n.files = append(n.files, f)
}

// module opens the file behind a mapping, once. It returns nil if the file cannot be opened or is no ELF file, and also
// where pending is true: then the file is still being read.
func (all *natives) module(t *target, m process.Mapping) (found *native.Module, pending bool) {
	if known, ok := all.modules[m.File]; ok || len(all.modules) >= maxModules {
		return known, false
	}
	if all.modules == nil {
		all.modules = map[process.FileID]*native.Module{}
	}
	module, known, pending := all.ahead.take(m.File)
	if pending {
		return nil, true
	}
	if known {
		all.modules[m.File] = module
		return module, false
	}
	all.modules[m.File] = nil
	file, err := all.fs.Image(t.pid).OpenMapping(m)
	if err != nil {
		return nil, false
	}
	module, err = native.Open(file.File, all.debugFiles(t), &all.room)
	if err != nil {
		_ = file.File.Close()
		return nil, false
	}
	all.closeLater(file.File)
	all.modules[m.File] = module
	return module, false
}

// debugFiles returns a function that opens debug files as a target sees them.
func (all *natives) debugFiles(t *target) func(name string) (io.ReaderAt, error) {
	pid := t.pid
	return func(name string) (io.ReaderAt, error) {
		debug, err := all.fs.Image(pid).OpenFile(name)
		if err != nil {
			return nil, err
		}
		all.closeLater(debug.File)
		return debug.File, nil
	}
}
