package process

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// Python is a process that runs a Python interpreter and can be looked into. All strings are the process's own.
type Python struct {
	Identity
	ParentPID     int
	NamespacePID  int // its pid in its own pid namespace, as its users know it inside a container
	UID           uint32
	User          string // name of UID, or the number
	Command       Command
	Cwd           string // "" where it cannot be read
	ResidentBytes int64
	Threads       int
	Interpreter   Mapping // first executable mapping of the file that holds the interpreter

	Kind           Kind
	Frontend       string // guessed: "JupyterLab", "VS Code", "terminal", …; "" without a clue
	ConnectionFile string // the kernel's connection file, "" when its command line names none
	GPUs           []int  // as [Proc.GPUs]
	Worker         bool   // its command line is that of a worker of Dask, or of a program that starts some
}

// Listing is the Python processes of a machine.
type Listing struct {
	Pythons []Python // by ascending pid

	// Hidden counts the processes that may not be looked into for lack of privilege, so that it is not known whether
	// they run Python; HiddenPythons counts those among them with a name of Python's.
	Hidden        int
	HiddenPythons int
}

// Pythons finds all Python processes that can be attached to. Processes that end meanwhile are left out, those that may
// not be looked into are counted. To be quick it opens only files that are named like an interpreter, and each once: an
// interpreter embedded statically in a program of another name is found by [Image.InterpreterFile] only.
//
// A hostile process can make reads of its memory map or files hang. When the context ends first, the processes found by
// then are returned together with the context's error.
func (fs FS) Pythons(ctx context.Context, detect Detect) (Listing, error) {
	all, err := fs.Stats()
	if err != nil {
		return Listing{}, err
	}
	s := fs.NewSearch(func(f *MappedFile) bool { return detect(f.File) })
	work := make(chan Stat, len(all))
	for _, st := range all {
		if !st.Ended() && !st.KernelThread() {
			work <- st
		}
	}
	close(work)

	var workers sync.WaitGroup
	for range max(2, min(8, runtime.GOMAXPROCS(0))) {
		workers.Go(func() {
			for st := range work {
				if ctx.Err() != nil {
					return
				}
				s.add(st)
			}
		})
	}
	finished := make(chan struct{})
	go func() { workers.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-ctx.Done():
	}
	return s.result(), ctx.Err()
}

// Python looks at one process. The error is an [*Error] that matches ErrNoProcess, ErrZombie, ErrNotPermitted or
// ErrNotPython where that is why.
func (fs FS) Python(pid int, detect Detect) (Python, error) {
	st, err := fs.Proc(pid).Stat()
	if err != nil {
		return Python{}, err
	}
	s := fs.NewSearch(func(f *MappedFile) bool { return detect(f.File) })
	interpreter, err := s.interpreter(pid)
	if errors.Is(err, ErrNotPython) {
		interpreter, err = s.anyInterpreter(pid)
	}
	if err != nil {
		return Python{}, err
	}
	return s.describe(st, interpreter)
}
