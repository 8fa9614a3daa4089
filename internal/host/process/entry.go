package process

import (
	"context"
	"errors"
	"path"
	"runtime"
	"strings"
	"sync"

	"ipytracer/internal/host/commandline"
)

// NamedLikePython reports whether the name or the command line of a process, which every user may read, is Python's.
func (fs FS) NamedLikePython(st Stat) bool {
	if namedLikePython(st.Comm) || strings.HasPrefix(st.Comm, "ipython") {
		return true
	}
	command, err := fs.Proc(st.PID).Cmdline()
	return err == nil && len(command.Args) > 0 && namedLikePython(path.Base(command.Args[0]))
}

// OfMarimo reports whether a process is marimo's by its command line or its parent's, so that it may run cells of
// marimo: `marimo edit` spawns a kernel for each notebook.
func (fs FS) OfMarimo(pid int) bool {
	st, err := fs.Proc(pid).Stat()
	if err != nil {
		return false
	}
	for _, p := range []int{pid, st.ParentPID} {
		command, err := fs.Proc(p).Cmdline()
		if err == nil && commandline.FrontendOfParent(command.Args) == commandline.Marimo {
			return true
		}
	}
	return false
}

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
	Interpreter   Mapping // the first executable mapping of the file with the interpreter

	Kind           commandline.Kind
	Frontend       string // a guess: "JupyterLab", "VS Code", "terminal", …; "" if nothing shows it
	ConnectionFile string // the kernel's connection file; "" if its command line names none
	GPUs           []int  // see [Proc.GPUs]
	Worker         bool   // its command line runs or starts workers of Dask
}

// Listing has the Python processes of a machine.
type Listing struct {
	Pythons []Python // by ascending pid

	// Hidden is the number of processes that this program may not look into, so that they may run Python or not.
	// HiddenPythons is how many of them are named like Python.
	Hidden        int
	HiddenPythons int
}

// Pythons finds all Python processes that can be attached to. It leaves out processes that end meanwhile, and counts
// those that it may not look into. To be quick it opens only files that are named like an interpreter, and each file
// once. So only [Image.InterpreterFile] finds an interpreter that is a part of a program with another name.
//
// A hostile process can make reads of its mappings or files hang. If the context ends before the search does, Pythons
// returns the processes found so far together with the context's error.
func (fs FS) Pythons(ctx context.Context, detect Detect) (Listing, error) {
	stats, err := fs.Stats()
	if err != nil {
		return Listing{}, err
	}
	s := fs.NewSearch(func(f *MappedFile) bool { return detect(f.File) })
	work := make(chan Stat, len(stats))
	for _, st := range stats {
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

// Python examines one process. The error may match [ErrNoProcess], [ErrZombie], [ErrNotPermitted] or [ErrNotPython].
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
