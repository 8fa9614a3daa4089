package process

import (
	"cmp"
	"errors"
	"slices"
	"sync"
)

// maxNamedFiles bounds how many files named like an interpreter are opened for one process.
const maxNamedFiles = 16

// Search examines processes one by one, and each file once. It is safe for concurrent use.
type Search struct {
	fs     FS
	detect func(*MappedFile) bool

	mu    sync.Mutex
	found Listing
	known map[FileID]bool // verdicts of detect
	users map[uint32]string
}

// NewSearch returns a search that has examined nothing. detect reports whether a file is a Python interpreter, as a
// [Detect] does.
func (fs FS) NewSearch(detect func(*MappedFile) bool) *Search {
	return &Search{fs: fs, known: make(map[FileID]bool), detect: detect, users: make(map[uint32]string)}
}

// Examine examines a process that was listed. The error matches [ErrNotPython] for another program, and
// [ErrNotPermitted] for a process that may not be looked into; then hidden reports whether it has a name of Python's.
func (s *Search) Examine(st Stat) (p Python, hidden bool, err error) {
	interpreter, err := s.interpreter(st.PID)
	if err == nil {
		p, err = s.describe(st, interpreter)
	}
	return p, errors.Is(err, ErrNotPermitted) && s.fs.NamedLikePython(st), err
}

func (s *Search) result() Listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.found
	found.Pythons = slices.Clone(found.Pythons)
	slices.SortFunc(found.Pythons, func(a, b Python) int { return cmp.Compare(a.PID, b.PID) })
	return found
}

// add examines a process for the listing.
func (s *Search) add(st Stat) {
	p, hidden, err := s.Examine(st)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.found.Pythons = append(s.found.Pythons, p)
	case errors.Is(err, ErrNotPermitted):
		s.found.Hidden++
		if hidden {
			s.found.HiddenPythons++
		}
	}
}

// interpreter returns the mapping that holds the interpreter. Only files named like one are opened, unless the
// command line says that this is a kernel.
func (s *Search) interpreter(pid int) (Mapping, error) {
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

func (s *Search) anyInterpreter(pid int) (Mapping, error) {
	f, err := s.fs.Image(pid).InterpreterFile(s.detect)
	if err != nil {
		return Mapping{}, err
	}
	f.File.Close()
	return f.Mapping, nil
}

// verdict asks detect about a file once, also where two workers ask at a time.
func (s *Search) verdict(pid int, m Mapping) (bool, error) {
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
	verdict = s.detect(f)
	s.mu.Lock()
	s.known[m.File] = verdict
	s.mu.Unlock()
	return verdict, nil
}

func (s *Search) describe(st Stat, interpreter Mapping) (Python, error) {
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
func (s *Search) guess(p *Python) {
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

func (s *Search) userName(uid uint32) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, ok := s.users[uid]
	if !ok {
		name = UserName(uid)
		s.users[uid] = name
	}
	return name
}
