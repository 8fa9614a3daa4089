package running

import (
	"io"
	"log/slog"
	"sync"

	"ipytracer/event"
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/native"
	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/tracee"
)

// Natives are the ELF files of all targets, and the Python stacks behind native ones.
type Natives struct {
	FS     process.FS
	Kernel tracee.CodeTable
	Log    *slog.Logger
	Target func(pid int) *tracee.Target // returns a traced process that has not ended

	Modules map[process.FileID]*native.Module // nil where a file cannot be used
	Ahead   RulesAhead
	Room    elffile.Room
	places  int        // of all targets
	opening sync.Mutex // held for files and closed
	files   []io.Closer
	closed  bool // files are closed, and later ones are closed at once
	stacks  map[uint64]*event.Stack
	frames  int    // of all stacks
	mapped  uint32 // number of code mappings ever seen
	Naming  Naming
}

// Limits of the caches. The kernel's table of stacks has as many.
const (
	MaxModules      = 512
	maxPythonStacks = 1 << 17
	maxPythonFrames = 1 << 20
	MaxNativeBytes  = 64 << 20 // of symbols and lines; PyTorch's libraries have some 10 MiB of them
)

// Keep stores a Python stack for the native ones that refer to it.
func (n *Natives) Keep(wanted bool, s *event.Stack) {
	if !wanted || len(n.stacks) >= maxPythonStacks || n.frames+len(s.Frames) > maxPythonFrames {
		return
	}
	if n.stacks == nil {
		n.stacks = map[uint64]*event.Stack{}
	}
	n.stacks[s.Number] = s
	n.frames += len(s.Frames)
}

func (n *Natives) Close() {
	n.Ahead.stop()
	n.Naming.Wait(EndPatience)
	n.opening.Lock()
	defer n.opening.Unlock()
	for _, f := range n.files {
		_ = f.Close()
	}
	n.files, n.Modules, n.closed = nil, nil, true
}

// CloseLater keeps a file open until the session closes. Any goroutine may call it.
func (n *Natives) CloseLater(f io.Closer) {
	n.opening.Lock()
	defer n.opening.Unlock()
	if n.closed {
		_ = f.Close()
		return
	}
	n.files = append(n.files, f)
}

// Module opens the file behind a mapping, once. It returns nil if the file cannot be opened or is no ELF file, and also
// where pending is true: then the file is still being read.
func (all *Natives) Module(t *tracee.Target, m process.Mapping) (found *native.Module, pending bool) {
	if known, ok := all.Modules[m.File]; ok || len(all.Modules) >= MaxModules {
		return known, false
	}
	if all.Modules == nil {
		all.Modules = map[process.FileID]*native.Module{}
	}
	module, known, pending := all.Ahead.Take(m.File)
	if pending {
		return nil, true
	}
	if known {
		all.Modules[m.File] = module
		return module, false
	}
	all.Modules[m.File] = nil
	file, err := all.FS.Image(t.PID).OpenMapping(m)
	if err != nil {
		return nil, false
	}
	module, err = native.Open(file.File, all.DebugFiles(t), &all.Room)
	if err != nil {
		_ = file.File.Close()
		return nil, false
	}
	all.CloseLater(file.File)
	all.Modules[m.File] = module
	return module, false
}

// DebugFiles returns a function that opens debug files as a target sees them.
func (all *Natives) DebugFiles(t *tracee.Target) func(name string) (io.ReaderAt, error) {
	pid := t.PID
	return func(name string) (io.ReaderAt, error) {
		debug, err := all.FS.Image(pid).OpenFile(name)
		if err != nil {
			return nil, err
		}
		all.CloseLater(debug.File)
		return debug.File, nil
	}
}
