package tracer

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/host/limit"
	"ipytracer/tracer/host/process"
	"ipytracer/tracer/ledger"
)

// Options are what a session can be told. The zero value traces with the default budget.
type Options struct {
	Log     *slog.Logger // nil for silence
	Version string       // of the tracer, for the record
	// Budget is the share of the time that the probes of each root may cost, 0.03 for 3 %; negative for no limit,
	// 0 for the default.
	Budget float64
	// ChangeRing is the size of the change ring in bytes, a power of two; 0 for the default.
	ChangeRing int
	Command    []string // of `tracer run`
	NoStacks   bool     // do not walk up the stack of who allocates
	Holders    bool     // find out at the end who holds the memory that is left
	// Settle has an [event.Settled] handed out in front of the look at what the targets have in the end, unless there
	// is none.
	Settle bool
	// Looking ends that look when it is done: what is not found out by then is left out, and the session's end says so.
	// nil: it ends by itself.
	Looking context.Context
	Native  bool // walk up its native frames, too; without it only those of threads that have no Python frames
	// SmallArrays counts NumPy's blocks of less than 1,024 bytes as well.
	SmallArrays bool
	// Counters has page faults, switches and what the processor counts read with the CPU time.
	Counters bool
	// Limit is how much each process of each target's tree may map.
	Limit limit.Size
	// MayLimit fails for a process that runs as owner and is not to be limited; nil: all may be.
	MayLimit func(pid int, owner uint32) error
	Heap     bool // see every malloc and free, for cpu.heap; see [Session.HeapCost]
	// Owner is the user of the targets: one that is another's, or has rights that this user has not, is refused, and
	// where one gains rights the session ends. nil: whoever they are.
	Owner *uint32
	// Tolerant leaves out targets that have ended before they are traced, as long as one is left.
	Tolerant bool
	// Confine takes from this program, in front of all that looks into a target, what the session does not need
	// ([Remains]). Nothing can be started afterwards, nor can another session. Where the machine cannot, the log says
	// so. nil: nothing is taken, and NVML is not asked.
	Confine *Remains
	// Glances is how often a boundary is drawn at which nothing happens, so that what is open has figures up to then; 0
	// for never.
	Glances time.Duration
	// Companion is told of lines that notebooks make to the tracer; nil: nobody listens.
	Companion Companion
	// Cache is the folder in which what is found out about the code in files is kept for later sessions; empty: it is
	// not kept.
	Cache string

	scansTake time.Duration // of an [adoption], for tests; 0 for the default
}

// DefaultBudget is the share of the time that probes may cost.
const DefaultBudget = 0.03

// Session is a running trace: it attaches, takes in what the kernel half records, and hands events out in their order.
// Its methods are for one goroutine.
type Session struct {
	certificate
	log     *slog.Logger
	options Options
	fs      process.FS
	ledger  *kernelHalf
	starts  []event.ProcessInfo
	end     windup

	// Looks are for the goroutine of the session's methods.
	Looks Looks

	targets  targets
	queue    eventQueue
	intake   intake
	examiner examiner
	placer   placer

	budget       budget
	counters     counters
	searches     searches
	interpreters interpreters
	ahead        modulesAhead
	analyses     analyses
	cells        cells
	codes        codes
	natives      natives
	devices      devices
	limits       limits
	watches      watches
	overlooked   overlooked
	live         live
	lines        lines
	glances      glances
	garbage      garbage
	allowance    allowance
}

// Attach starts a session on running processes, the very ones that are named: one whose pid is another's by now is
// refused as one that has ended. A start time of 0 is whoever has the pid. Each must be a Python process; the error
// matches process.ErrNotPython, process.ErrNoProcess, ledger.ErrNotPermitted and so on. When it returns without error
// every probe is in place. Once ctx is done, files whose file system does not answer are not waited for, which makes it
// fail with the cause, or leaves them out; the session does not depend on ctx later.
func Attach(ctx context.Context, who []process.Identity, o Options) (_ *Session, err error) {
	s, err := open(o)
	if err != nil {
		return nil, err
	}
	s.fs.Helper.Until(ctx)
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	// A wrong pid is found out without loading anything into the kernel. What has it is not looked into before this
	// program can do no harm.
	who, err = s.targets.withoutDescendants(who)
	if err != nil {
		return nil, err
	}
	if who, err = s.certificate.withRoom(who, o.Tolerant); err != nil {
		return nil, err
	}
	if err := s.targets.hold(who); err != nil {
		return nil, err
	}
	if err := (ownership{s.fs, o.Owner}).check(s.targets.all); err != nil {
		return nil, err
	}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	if err := s.recognize(ctx); err != nil {
		return nil, err
	}
	if err := s.limits.limitAll(s.targets.all); err != nil {
		return nil, err
	}
	if err := s.attachAll(); err != nil {
		return nil, err
	}
	s.begin()
	s.fs.Helper.Until(context.Background()) // the end has files and memory to read
	return s, nil
}

// AttachStopped starts a session on one process that is stopped at its exec, before its first instruction. It
// need not be a Python: whatever it becomes, and whatever it starts, is looked at as it executes programs.
func AttachStopped(pid int, o Options) (_ *Session, err error) {
	s, err := open(o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	handle, err := s.fs.Open(pid)
	if err != nil {
		return nil, err
	}
	t := &target{pid: pid, handle: handle, patience: pythonPatience}
	s.targets.all = append(s.targets.all, t)
	if err := s.prepare(); err != nil {
		return nil, err
	}
	if err := s.limits.limitAll(s.targets.all); err != nil {
		return nil, err
	}
	if err := s.attach(0, t, false); err != nil {
		return nil, err
	}
	s.begin()
	return s, nil
}

func open(o Options) (*Session, error) {
	if os.Geteuid() != 0 && !(process.FS{}).Facts().Capabilities.MayLoadBPF() {
		return nil, fmt.Errorf("%w: tracing needs root", ledger.ErrNotPermitted)
	}
	if err := ledger.CheckFiles(); err != nil { // in front of all that opens some
		return nil, err
	}
	return newSession(o), nil
}

// prepare does all that takes more than the session itself does, and gives up what it took.
func (s *Session) prepare() error {
	if err := s.load(); err != nil {
		return err
	}
	if err := s.limits.start(s.targets.all); err != nil {
		return err
	}
	if s.options.Counters {
		s.counters.start(s.targets.all, &s.certificate)
	}
	s.analyses.open(s.options.Cache, s.targets.all, s.log)
	return s.confine()
}

func (s *Session) load() error {
	if err := s.allowance.begin(s.fs); err != nil {
		return err
	}
	loaded, err := ledger.Load(ledger.Options{Small: s.allowance.small, ChangeRing: s.options.ChangeRing,
		Heap: s.options.Heap, SmallArrays: s.options.SmallArrays, Counters: s.options.Counters,
		BoundaryRing: s.options.boundaryRing()})
	if err != nil {
		return err
	}
	return s.use(kernelHalfOf(loaded))
}

// nativeRing is how large the boundary ring is where every thread's native stack is walked: an import of PyTorch has
// thousands of stacks of which the kernel half knows nothing yet, and a machine may be busy.
const nativeRing = 16 << 20

// boundaryRing is the size of the boundary ring in bytes, 0 for the default.
func (o *Options) boundaryRing() int {
	if o.Native {
		return nativeRing
	}
	return 0
}

// use takes a ledger over.
func (s *Session) use(l *kernelHalf) error {
	s.allowance.loaded(l)
	s.ledger, s.natives.kernel, s.devices.kernel, s.searches.kernel = l, l.codeTable, l.processes, l
	s.placer.ledger, s.examiner.ledger, s.intake.ledger, s.Looks.ledger = l, l, l, l
	s.examiner.counter = &arrayCounting{l, &s.searches, &s.budget, &s.targets}
	s.natives.naming.done = func() { _ = l.Wake() }
	if err := s.budget.prepare(l.accounts, s.options.Budget, s.log); err != nil {
		return err
	}
	if err := s.ledger.Capabilities().NoClock; err != nil {
		s.certificate.problem("cpu_ns leaves out what each thread that runs has used since the scheduler's last tick: %s", clean(err.Error()))
	}
	if s.options.Heap { // what it costs is to be told
		return s.budget.prices.demand()
	}
	return nil
}

// attachAll takes all targets in.
func (s *Session) attachAll() error {
	var gone error
	for i, t := range slices.Clone(s.targets.all) { // their children are added
		err := s.attach(uint32(i), t, true)
		if s.targets.tolerates(err) {
			s.targets.drop(t)
			gone = err
		} else if err != nil {
			return err
		}
	}
	if len(s.targets.all) == 0 {
		return gone
	}
	return nil
}

// attach takes one target in: its descendants, itself, its probes.
func (s *Session) attach(root uint32, t *target, late bool) error {
	t.root, t.late = root, late
	s.devices.expect(t.pid)
	below := adoption{
		scan: func() ([]process.Identity, error) { return s.fs.Descendants(t.pid) }, kernel: s.ledger.processes,
		stat:    func(pid int) (process.Stat, error) { return s.fs.Proc(pid).Stat() },
		refused: func(pid int, err error) { s.misses(t.pid, 0, nil, "child %d is not traced: %v", pid, err) },
		take:    cmp.Or(s.options.scansTake, scansTake),
	}
	slot, unsettled, err := below.attach(root, t.handle.Identity())
	if err != nil {
		return err
	}
	t.slot = slot
	if unsettled > 0 {
		s.misses(t.pid, 0, nil,
			"below pid %d, processes were still being started or executing programs at look %d of the attach: some of them may not be traced", t.pid, unsettled)
	}
	if t.python != nil {
		if err := s.examiner.probe(t); err != nil {
			return err
		}
	} else {
		s.examiner.look(t)
	}
	t.announced = true
	s.starts = append(s.starts, t.info())
	s.queue.add(s.watches.begin(t))
	s.examiner.adoptPythons(t, below.slots)
	return nil
}
