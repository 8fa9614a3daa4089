package tracer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/tracer/cpython"
	"ipytracer/tracer/cuda"
	"ipytracer/tracer/event"
	"ipytracer/tracer/ledger"
	"ipytracer/tracer/process"
)

// target is an attached process, or a Python child of one.
type target struct {
	pid    int
	root   uint32
	child  bool
	slot   uint32
	handle *process.Handle
	python *python
	gone   bool
	late   bool // it ran before the session
	// before are the addresses of arrays from before the session that lived as NumPy's meter was paused first; nil: not known.
	before map[uint64]bool
	// announced: its ProcessInfo has been handed out.
	announced bool
	limited   bool // by this session
	libraries []*library
	crowded   [cuda.Runtime + 1]bool // by kind: said that some libraries have no room
	memory    []*memoryLibrary
	manyLibcs bool // said that some have no room
	arrays    arrays
	heap      heapProbes
	// identified: the ledger knows which GPUs it uses.
	identified bool
	natives    nativeSpace
	// unlisted: it has loaded or unloaded a library since its mappings were looked through.
	unlisted bool
	listed   event.Nanoseconds // when its mappings were gone through last
	// patience is how many more times a process that may yet become a Python is looked at.
	patience int
	looked   time.Time // when it was last
}

// pythonPatience times the time between two looks is 3 s: by then an interpreter has mapped its library.
const (
	pythonPatience = 150
	betweenLooks   = 20 * time.Millisecond
)

func (t *target) isRoot() bool { return !t.child }

// python is the interpreter of a target.
type python struct {
	file   *process.MappedFile
	memory *process.Memory
	binary *cpython.Binary
	live   *cpython.Interpreter
	sites  cpython.Sites
	groups map[ledger.Group]io.Closer
	inputs uint64 // address of In, 0 until found
	count  int64  // its length when last read
	stored int64  // its length as of the newest cell that was heard of, 0 if not known
	ready  bool   // the main interpreter's address is known
	// modules is its sys.path as of when libraries were expected there.
	modules  []string
	expected bool
	tries    int
	shown    cpython.Exception // the exception shown last
	stale    bool              // a later cell had begun when that was read: it may be that one's
	ipython  string
	front    string
	terminal bool // its shell is a terminal's
}

// complete says whether everything that can be learned has been, or was tried long enough.
func (p *python) complete() bool { return p.ready && p.inputs != 0 || p.tries > 600 }

func isPython(r io.ReaderAt) bool {
	_, err := cpython.Open(r)
	return err == nil
}

// hold takes hold of running processes, without looking into them.
func (s *Session) hold(who []process.Identity) error {
	var gone error
	for _, id := range who {
		t := &target{pid: id.PID}
		var err error
		if id.StartTicks == 0 {
			t.handle, err = s.fs.Open(id.PID)
		} else {
			t.handle, err = s.fs.OpenIdentity(id)
		}
		if s.tolerates(err) {
			gone = err
		} else if err != nil {
			return err
		} else {
			s.targets = append(s.targets, t)
		}
	}
	if len(s.targets) == 0 {
		return gone
	}
	return nil
}

// recognize opens the interpreters of the targets, each of which must be a Python.
func (s *Session) recognize(ctx context.Context) error {
	var gone error
	for _, t := range slices.Clone(s.targets) {
		var err error
		if t.python, err = s.open(t.pid); err == nil {
			err = t.lives() // or it was another one that was looked at
		}
		switch {
		case err != nil && ctx.Err() != nil: // what it did not find may be there
			return context.Cause(ctx)
		case s.tolerates(err):
			s.drop(t)
			gone = err
		case err != nil:
			return err
		default:
			s.beginAhead(t)
		}
	}
	if len(s.targets) == 0 {
		return gone
	}
	return nil
}

// tolerates says whether an error is one that the session goes on after, without the target: it has ended.
func (s *Session) tolerates(err error) bool {
	return s.options.Tolerant && (errors.Is(err, ledger.ErrNoProcess) || errors.Is(err, process.ErrNoProcess) || errors.Is(err, process.ErrZombie) ||
		errors.Is(err, unix.ESRCH))
}

// drop lets go of a target that is not to be traced after all.
func (s *Session) drop(t *target) {
	s.targets = slices.DeleteFunc(s.targets, func(other *target) bool { return other == t })
	_ = t.close()
}

// lives fails with [process.ErrNoProcess] once a target has ended: from then on its pid may be another process's. Whatever was done by
// its pid before this was done to the target.
func (t *target) lives() error {
	ended, err := t.handle.Exited()
	if err == nil && ended {
		err = &process.Error{PID: t.pid, Kind: process.ErrNoProcess}
	}
	return err
}

// probeFile puts probes for a target on a file that it maps, or may map. It fails with [process.ErrNoProcess] if the target has ended.
func (s *Session) probeFile(t *target, file *process.MappedFile, placements []ledger.Placement) (io.Closer, error) {
	for _, p := range placements {
		if err := file.Prepare(p.Offsets); err != nil {
			return nil, err
		}
	}
	c, err := s.ledger.Probe(file.File, t.pid, placements)
	if err != nil {
		return nil, err
	}
	if err := t.lives(); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// open opens the interpreter of a process.
func (s *Session) open(pid int) (_ *python, err error) {
	p := &python{groups: map[ledger.Group]io.Closer{}}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.file, err = s.fs.InterpreterFile(pid, isPython); err != nil {
		return nil, err
	}
	if p.binary, p.sites, err = s.lookThrough(p.file); err != nil {
		return nil, fmt.Errorf("pid %d: %w", pid, err)
	}
	if p.memory, err = s.fs.OpenMemory(pid); err != nil {
		return nil, memoryClosed(pid, err)
	}
	bias, ok := p.binary.Bias(p.file.Mapping.Start, p.file.Mapping.Offset)
	if !ok {
		return nil, fmt.Errorf("pid %d: %w: its interpreter is mapped in an unknown way", pid, process.ErrNotPython)
	}
	if p.live, err = cpython.NewInterpreter(p.binary, bias, p.memory); err != nil {
		return nil, fmt.Errorf("pid %d: %w", pid, err)
	}
	return p, nil
}

// interpreter is an interpreter's file that was looked through: that takes some hundredths of a second, in which a child may be over.
type interpreter struct {
	file   process.File
	binary *cpython.Binary
	sites  cpython.Sites
}

// maxInterpreters is how many a session remembers.
const maxInterpreters = 16

// lookThrough finds out what is to be known of an interpreter's file, once for each file as it is.
func (s *Session) lookThrough(file *process.MappedFile) (*cpython.Binary, cpython.Sites, error) {
	key := identify(file)
	if known, ok := s.interpreters[key]; ok {
		return known.binary, known.sites, nil
	}
	if len(s.interpreters) >= maxInterpreters {
		return lookThrough(file.File)
	}
	own, err := file.Again() // the binary goes on reading it
	if err != nil {
		return nil, cpython.Sites{}, err
	}
	binary, sites, err := lookThrough(own)
	if err != nil {
		own.Close()
		return nil, sites, err
	}
	if s.interpreters == nil {
		s.interpreters = map[readFile]interpreter{}
	}
	s.interpreters[key] = interpreter{own, binary, sites}
	return binary, sites, nil
}

func lookThrough(file process.File) (binary *cpython.Binary, sites cpython.Sites, err error) {
	if binary, err = cpython.Open(file); err == nil {
		sites, err = binary.Sites()
	}
	return binary, sites, err
}

// forgetInterpreters closes their files.
func (s *Session) forgetInterpreters() {
	for _, one := range s.interpreters {
		one.file.Close()
	}
	s.interpreters = nil
}

func (p *python) close() {
	if p.file != nil {
		p.file.File.Close()
	}
	if p.memory != nil {
		p.memory.Close()
	}
}

// look finds out whether a process has become a Python, and if so probes it.
func (s *Session) look(t *target) {
	t.patience--
	t.looked = time.Now()
	p, err := s.open(t.pid)
	if err != nil {
		if t.patience == 0 && t.child && !s.hasEnded(t) { // it is named like one
			s.unseen++
			s.overlooked.found(t.pid)
			s.misses(t.pid, 0, []event.Meter{event.NumPy, event.Torch}, "pid %d is named like a Python and could not be looked into: %v: its cells are not seen", t.pid, err)
		}
		return
	}
	t.python = p
	t.patience = 0
	if err := s.probe(t); err != nil {
		if s.hasEnded(t) { // it was over before it could be looked at
			p.close()
			t.python = nil
			return
		}
		s.unseen++
		s.overlooked.found(t.pid)
		s.misses(t.pid, 0, []event.Meter{event.NumPy, event.Torch}, "pid %d runs Python %v but could not be probed: %v", t.pid, p.binary.Version(), err)
		p.close()
		t.python = nil
		return
	}
	if t.announced || t.child { // it ran, unprobed, until it was found out
		s.late = append(s.late, fmt.Sprintf("%s in pid %d", strings.ToValidUTF8(p.file.Mapping.Path, "?"), t.pid))
	}
	t.announced = true
	s.overlooked.found(t.pid)
	s.queue = append(s.queue, &event.Process{ProcessInfo: t.info()})
}

// learn reads what is only there once the interpreter, or IPython in it, has started.
func (s *Session) learn(t *target) bool {
	p := t.python
	p.tries++
	interpreter, err := p.live.Address()
	if err != nil {
		return false
	}
	news := !p.ready
	p.ready = true
	s.expectLibraries(t)
	if addr, n, err := p.live.InputList(); err == nil {
		if p.live.IsEmbedded() {
			addr, n = 0, 0
		}
		if news = news || p.inputs != addr; p.inputs == 0 && p.stored == 0 {
			p.stored = n
			if !t.late { // it began with one empty entry, and nothing that it has now had been there before
				p.stored = 1
			}
		}
		p.inputs, p.count = addr, n
		p.shown, _ = p.live.LastException()
		p.ipython, _ = p.live.IPythonVersion()
		p.front = p.live.Frontend()
		p.terminal = p.live.AtTerminal()
		p.ipython = strings.ToValidUTF8(p.ipython, "?")
	}
	if !news {
		return false
	}
	if err := s.tellPython(t, interpreter); err != nil {
		s.log.Warn("the Python offsets could not be written", "pid", t.pid, "error", err)
		return false
	}
	if t.announced { // the Start event has an older picture of it
		s.queue = append(s.queue, &event.Process{ProcessInfo: t.info()})
	}
	return true
}

// tellPython tells the ledger how to read the target's Python.
func (s *Session) tellPython(t *target, interpreter uint64) error {
	python := t.offsets(interpreter, !s.options.NoStacks)
	switch {
	case s.options.NoStacks:
	case s.options.Native:
		python.Native = ledger.NativeAll
	default:
		python.Native = ledger.NativeThreads
	}
	return s.ledger.SetPython(t.slot, python)
}

// offsets translates what package cpython knows into what the BPF programs read.
func (t *target) offsets(interpreter uint64, stacks bool) ledger.Python {
	p := t.python
	o, _ := p.binary.Offsets() // cannot fail: NewInterpreter has called it
	heap := p.binary.Heap()
	out := ledger.Python{
		Inputs: p.inputs, Interpreter: interpreter, CodeMask: o.CodeMask, CodeFilename: o.CodeFilename,
		CodeName: o.CodeName, CodeFirstLine: o.CodeFirstLine, CodeLineTable: o.CodeLineTable,
		StringLength: o.StrLength, StringState: o.StrState, StringKind: o.StrKind, AsciiData: o.ASCIIData, CompactData: o.CompactData,
		ObjectType: o.ObjectType, TypeName: o.TypeName, VarSize: o.VarSize, BytesData: o.BytesData,
		ThreadNext: o.ThreadNext, ThreadId: o.ThreadID, ThreadFrame: o.ThreadFrame, CframeCurrent: o.CFrameCurrent,
		FrameKind: uint32(o.FrameKind), FrameBack: o.FrameBack, FrameCode: o.FrameCode, FrameOwner: o.FrameOwner,
		OwnerSkip: o.OwnerSkip, OwnerGenerator: o.OwnerGen, FrameGenerator: o.FrameGen,
		StateExecuting: o.StateExecuting, StateFinished: o.StateFinished, ThreadsHead: o.InterpThreadsHead,
		PushedEval:   uint32(p.sites.EvalCode.Pushed),
		CodeFullName: o.CodeQualName, CodeBytes: o.CodeBytes, CodeVersion: o.CodeVersion, FrameInstruction: o.FrameInstr,
		CodeCopies: o.CodeCopies, FrameCopy: o.FrameCopy,
		FrameLocals: heap.FrameLocals, InstanceKind: uint32(p.binary.Version().Instances()), CachedKeys: heap.CachedKeys,
		InterpCollecting: heap.InterpGC + heap.Collecting,
		TypeBasicSize:    o.BehindHeader(cpython.TypeBasicSize), TypeDictOffset: o.BehindHeader(cpython.TypeDictOffset), DictKeys: o.DictKeys, DictValues: o.DictValues,
	}
	if o.FreeThreaded {
		out.FreeThreaded, out.InterpCollecting = 1, 0 // who frees while the collector runs need not be the collector
	}
	if out.CodeFullName == 0 {
		out.CodeFullName = o.CodeName
	}
	if stacks {
		out.FrameSize = frameSize(o)
	}
	out.Text, out.TextSize = p.file.Mapping.Start, p.file.Mapping.End-p.file.Mapping.Start
	switch {
	case o.GenState != 0:
		out.StateKind, out.GeneratorFrame, out.GeneratorState = 2, o.GenFrame, o.GenState
	case o.FrameState != 0:
		out.StateKind, out.GeneratorFrame, out.FrameState = 1, o.GenFramePtr, o.FrameState
	default:
		out.StateKind, out.GeneratorFrame, out.FrameState = 0, o.GenFramePtr, o.FrameExecuting
		out.FrameStackTop = o.FrameStackTop
	}
	if p.terminal {
		out.Terminal = 1
	}
	if p.groups[ledger.GroupCode] != nil {
		out.CodeFrees = 1
	}
	if threads, err := p.live.Threads(); err == nil && len(threads) > 0 {
		out.MainThread = threads[len(threads)-1].Address // the list has the newest thread first
	}
	return out
}

// frameSize is how much of a frame is read to walk a stack; 0 for a build whose objects are larger than what is read of them.
func frameSize(o cpython.Offsets) uint32 {
	if max(o.CodeFilename, o.CodeName, o.CodeQualName, o.CodeFirstLine, o.CodeLineTable)+8 > ledger.CodeBytes {
		return 0
	}
	size := max(o.FrameBack, o.FrameCode, o.FrameInstr, o.FrameOwner, o.FrameCopy) + 8
	if size = (size + 7) &^ 7; size > ledger.FrameBytes {
		return 0
	}
	return size
}

// info describes the target for the record.
func (t *target) info() event.ProcessInfo {
	out := event.ProcessInfo{Root: t.root, PID: int32(t.pid), Late: t.late, Inputs: -1}
	if c, err := (process.FS{}).Cmdline(t.pid); err == nil {
		out.Command = strings.ToValidUTF8(strings.Join(c.Args, " "), "?")
	}
	out.Limit, out.LimitBy = t.limitOf()
	if p := t.python; p != nil {
		out.Python, out.IPython, out.Frontend = p.version(), p.ipython, p.front
		if p.inputs != 0 {
			out.Inputs = p.count
		}
	}
	return out
}

func (p *python) version() string {
	v := p.binary.Version()
	if v.Micro < 0 {
		if full, err := p.live.PythonVersion(); err == nil && strings.HasPrefix(full, v.String()) {
			return strings.ToValidUTF8(full, "?")
		}
	}
	return v.String()
}

// closeProbes takes its probes out, and waits until they are.
func (t *target) closeProbes() {
	var closing sync.WaitGroup
	t.letGo(&closing)
	closing.Wait()
}

func (t *target) close() error {
	var errs []error
	if t.python != nil {
		t.python.close()
	}
	if t.handle != nil {
		errs = append(errs, t.handle.Close())
	}
	return errors.Join(errs...)
}

// impatient says whether a process is to be looked at again soon.
func (s *Session) impatient() bool {
	for _, t := range s.targets {
		if !t.gone && (t.python == nil && t.patience > 0 || t.python != nil && (len(t.arrays.expected) > 0 || !t.python.complete() || s.options.Heap && !t.heap.done)) {
			return true
		}
	}
	return false
}

func cpus() int { return runtime.NumCPU() }

// used is the CPU time of the target, 0 if it cannot be told.
func (t *target) used() event.Nanoseconds {
	if t.handle == nil {
		return 0
	}
	d, err := t.handle.CPUTime()
	if err != nil {
		return 0
	}
	return event.Nanoseconds(d / time.Nanosecond)
}

// memoryClosed says why a process's memory cannot be read.
func memoryClosed(pid int, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &process.Error{PID: pid, Kind: process.ErrNotPermitted, Cause: err}
	}
	return fmt.Errorf("pid %d: open its memory: %w", pid, err)
}
