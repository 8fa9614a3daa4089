package process

import (
	"cmp"
	"context"
	"errors"
	"path"
	"runtime"
	"slices"
	"strings"
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
	s := &search{fs: fs, known: make(map[FileID]bool), detect: detect, users: make(map[uint32]string)}
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
				s.examine(st)
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
	s := &search{fs: fs, known: make(map[FileID]bool), detect: detect, users: make(map[uint32]string)}
	interpreter, err := s.interpreter(pid)
	if errors.Is(err, ErrNotPython) {
		interpreter, err = s.anyInterpreter(pid)
	}
	if err != nil {
		return Python{}, err
	}
	return s.describe(st, interpreter)
}

// maxNamedFiles bounds how many files named like an interpreter are opened for one process.
const maxNamedFiles = 16

// search is one run of Pythons.
type search struct {
	fs     FS
	detect Detect

	mu    sync.Mutex
	found Listing
	known map[FileID]bool // verdicts of detect
	users map[uint32]string
}

func (s *search) result() Listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.found
	found.Pythons = slices.Clone(found.Pythons)
	slices.SortFunc(found.Pythons, func(a, b Python) int { return cmp.Compare(a.PID, b.PID) })
	return found
}

func (s *search) examine(st Stat) {
	interpreter, err := s.interpreter(st.PID)
	var p Python
	if err == nil {
		p, err = s.describe(st, interpreter)
	}
	hiddenPython := errors.Is(err, ErrNotPermitted) && s.looksLikePython(st)

	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.found.Pythons = append(s.found.Pythons, p)
	case errors.Is(err, ErrNotPermitted):
		s.found.Hidden++
		if hiddenPython {
			s.found.HiddenPythons++
		}
	}
}

// looksLikePython judges a process by the facts that anybody may see.
func (s *search) looksLikePython(st Stat) bool {
	if namedLikePython(st.Comm) || strings.HasPrefix(st.Comm, "ipython") {
		return true
	}
	command, err := s.fs.Proc(st.PID).Cmdline()
	return err == nil && len(command.Args) > 0 && namedLikePython(path.Base(command.Args[0]))
}

// interpreter returns the mapping that holds the interpreter. Only files named like one are opened, unless the
// command line says that this is a kernel.
func (s *search) interpreter(pid int) (Mapping, error) {
	var refused error
	seen := make(map[FileID]bool)
	for m, err := range s.fs.Image(pid).Mappings() {
		if err != nil {
			return Mapping{}, err
		}
		if m.Perm&Exec == 0 || m.File.Inode == 0 || !namedLikePython(m.Path) || seen[m.File] {
			continue
		}
		if len(seen) == maxNamedFiles {
			break
		}
		seen[m.File] = true
		ok, err := s.verdict(pid, m)
		if err != nil {
			refused = err
		} else if ok {
			return m, nil
		}
	}
	if refused != nil {
		return Mapping{}, refused
	}
	if command, err := s.fs.Proc(pid).Cmdline(); err == nil {
		if kind, _ := parseEntry(command.Args).kind(); kind == Kernel {
			return s.anyInterpreter(pid)
		}
	}
	return Mapping{}, ErrNotPython
}

func (s *search) anyInterpreter(pid int) (Mapping, error) {
	f, err := s.fs.Image(pid).InterpreterFile(s.detect)
	if err != nil {
		return Mapping{}, err
	}
	f.File.Close()
	return f.Mapping, nil
}

// verdict asks detect about a file once. Two workers may ask at the same time; they get the same answer.
func (s *search) verdict(pid int, m Mapping) (bool, error) {
	s.mu.Lock()
	verdict, ok := s.known[m.File]
	s.mu.Unlock()
	if ok {
		return verdict, nil
	}
	f, err := s.fs.Image(pid).OpenMapping(m)
	if err != nil {
		return false, err
	}
	defer f.File.Close()
	verdict = s.detect(f.File)
	s.mu.Lock()
	s.known[m.File] = verdict
	s.mu.Unlock()
	return verdict, nil
}

func (s *search) describe(st Stat, interpreter Mapping) (Python, error) {
	id, err := s.fs.Identity(st.PID)
	if err != nil {
		return Python{}, err
	}
	if id.StartTicks != st.StartTicks { // the pid was handed on
		return Python{}, &Error{PID: st.PID, Kind: ErrNoProcess}
	}
	status, err := s.fs.Proc(st.PID).Status()
	if err != nil {
		return Python{}, err
	}
	command, err := s.fs.Proc(st.PID).Cmdline()
	if err != nil {
		return Python{}, err
	}
	p := Python{
		Identity: id, ParentPID: st.ParentPID, NamespacePID: id.PID,
		UID: status.UID, User: s.userName(status.UID), Command: command,
		ResidentBytes: status.ResidentBytes, Threads: status.Threads, Interpreter: interpreter,
	}
	if len(status.NSPIDs) > 0 {
		p.NamespacePID = status.NSPIDs[len(status.NSPIDs)-1]
	}
	p.Cwd, _ = s.fs.Proc(st.PID).Cwd()   // only a nicety
	p.GPUs, _ = s.fs.Proc(st.PID).GPUs() // likewise
	s.guess(&p)
	return p, nil
}

// guess fills in kind and front end from the command lines of the process and of its parent.
func (s *search) guess(p *Python) {
	e := parseEntry(p.Command.Args)
	p.Kind, p.Frontend = e.kind()
	p.Worker = isWorker(p.Command.Args)
	if p.Kind != Kernel {
		return
	}
	p.ConnectionFile = connectionFile(e.args)
	if p.Frontend == "" {
		p.Frontend = frontendOfFile(p.ConnectionFile)
	}
	if p.Frontend == "" && p.ParentPID > 0 {
		if parent, err := s.fs.Proc(p.ParentPID).Cmdline(); err == nil {
			p.Frontend = frontendOfParent(parent.Args)
		}
	}
}

func (s *search) userName(uid uint32) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, ok := s.users[uid]
	if !ok {
		name = UserName(uid)
		s.users[uid] = name
	}
	return name
}
