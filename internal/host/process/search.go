package process

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"ipytracer/internal/host/commandline"
)

// maxNamedFiles is how many files named like an interpreter are opened for one process.
const maxNamedFiles = 16

// Search finds out which processes run Python. It examines each file once. It is safe for concurrent use.
type Search struct {
	fs     FS
	detect func(*MappedFile) bool

	mu    sync.Mutex
	found Listing
	known map[FileID]bool // the results of detect
	users map[uint32]string
}

// NewSearch returns a search. detect reports whether a file is a Python interpreter, see [Detect].
func (fs FS) NewSearch(detect func(*MappedFile) bool) *Search {
	return &Search{fs: fs, known: make(map[FileID]bool), detect: detect, users: make(map[uint32]string)}
}

// Examine examines a process. The error matches [ErrNotPython] for another program, and [ErrNotPermitted] for a process
// that this program may not look into. In the latter case, hidden reports whether the process is named like Python.
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

// add examines a process, and adds it to the listing.
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

// interpreter returns the mapping of the interpreter. It opens only files that are named like an interpreter, unless
// the command line is that of a kernel.
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
		if kind, _ := commandline.Parse(command.Args).Kind(); kind == commandline.Kernel {
			return s.anyInterpreter(pid)
		}
	}
	return Mapping{}, ErrNotPython
}

// anyInterpreter returns the mapping of the interpreter, whatever its file's name.
func (s *Search) anyInterpreter(pid int) (Mapping, error) {
	f, err := s.fs.Image(pid).InterpreterFile(s.detect)
	if err != nil {
		return Mapping{}, err
	}
	f.File.Close()
	return f.Mapping, nil
}

// verdict returns the result of detect for a file, and remembers it. Two workers may call detect at the same time.
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

// describe returns the facts about a Python process. It fails with [ErrNoProcess] if another process has the pid.
func (s *Search) describe(st Stat, interpreter Mapping) (Python, error) {
	id, err := s.fs.Identity(st.PID)
	if err != nil {
		return Python{}, err
	}
	if id.StartTicks != st.StartTicks { // another process has the pid
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
	p.Cwd, _ = s.fs.Proc(st.PID).Cwd()   // not essential
	p.GPUs, _ = s.fs.Proc(st.PID).GPUs() // not essential
	s.guess(&p)
	return p, nil
}

// guess fills in what the command lines of the process and of its parent show.
func (s *Search) guess(p *Python) {
	e := commandline.Parse(p.Command.Args)
	p.Kind, p.Frontend = e.Kind()
	p.Worker = commandline.IsWorker(p.Command.Args)
	if args := p.Command.Args; len(args) > 0 && args[len(args)-1] == commandline.Spawned && s.fs.OfMarimo(p.PID) {
		p.Kind, p.Frontend = commandline.Kernel, commandline.Marimo
	}
	if p.Kind != commandline.Kernel {
		return
	}
	p.ConnectionFile = commandline.ConnectionFile(e.Args)
	if p.Frontend == "" {
		p.Frontend = commandline.FrontendOfFile(p.ConnectionFile)
	}
	if p.Frontend == "" && p.ParentPID > 0 {
		if parent, err := s.fs.Proc(p.ParentPID).Cmdline(); err == nil {
			p.Frontend = commandline.FrontendOfParent(parent.Args)
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
