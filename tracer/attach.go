package tracer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/tracee"
)

// Attach starts a session on running processes, and on exactly those that are named: if a pid has been reused, Attach
// refuses it like that of a process that has ended. A start time of 0 stands for any process with the pid. Each must be
// a Python process. The error matches process.ErrNotPython, process.ErrNoProcess, ledger.ErrNotPermitted and so on.
// When Attach returns without error, every probe is in place. Once ctx is done, Attach does not wait for files on a
// file system that does not answer: it fails with ctx's cause, or leaves the files out. Later the session does not
// depend on ctx.
func Attach(ctx context.Context, who []process.Identity, o Options) (*Session, error) {
	return start(o, func(s *Session) error {
		s.fs.Helper.Until(ctx)
		if err := s.attachTo(ctx, who); err != nil {
			return err
		}
		s.fs.Helper.Until(context.Background()) // the end has files and memory to read
		return nil
	})
}

// attachStopped starts a session on one process that is stopped at its exec, before its first instruction. The process
// need not be a Python: it and its descendants are examined as they execute programs.
func attachStopped(pid int, o Options) (*Session, error) {
	return start(o, func(s *Session) error {
		handle, err := s.fs.Open(pid)
		if err != nil {
			return err
		}
		t := &tracee.Target{PID: pid, Handle: handle, Patience: tracee.PythonPatience}
		s.targets.All = append(s.targets.All, t)
		if err := s.prepare(); err != nil {
			return err
		}
		if err := s.limits.limitAll(s.targets.All); err != nil {
			return err
		}
		return s.attach(0, t, false)
	})
}

// start makes a session and calls attach, which attaches it to processes. Where attach fails, start closes the session.
func start(o Options, attach func(*Session) error) (*Session, error) {
	if os.Geteuid() != 0 && !(process.FS{}).Facts().Capabilities.MayLoadBPF() {
		return nil, fmt.Errorf("%w: tracing needs root", ledger.ErrNotPermitted)
	}
	if err := ledger.CheckFiles(); err != nil { // before anything opens files
		return nil, err
	}
	s := newSession(o)
	if err := attach(s); err != nil {
		_ = s.Close()
		return nil, err
	}
	s.begin()
	return s, nil
}

// attachTo attaches to running processes, which are Pythons.
func (s *Session) attachTo(ctx context.Context, who []process.Identity) error {
	// A wrong pid is found before anything is loaded into the kernel. Its process is examined only after this program
	// has dropped its privileges.
	who, err := s.targets.WithoutDescendants(who)
	if err != nil {
		return err
	}
	if who, err = withRoom(who, &s.certificate, s.options.Tolerant); err != nil {
		return err
	}
	if err := s.targets.Hold(who); err != nil {
		return err
	}
	if err := (ownership{s.fs, s.options.Owner}).check(s.targets.All); err != nil {
		return err
	}
	if err := s.prepare(); err != nil {
		return err
	}
	if err := s.recognize(ctx); err != nil {
		return err
	}
	if err := s.limits.limitAll(s.targets.All); err != nil {
		return err
	}
	return s.attachAll()
}

// prepare does everything that needs more privileges than the session itself, and then drops them.
func (s *Session) prepare() error {
	if err := s.load(); err != nil {
		return err
	}
	if err := s.limits.start(s.targets.All); err != nil {
		return err
	}
	if s.options.Counters {
		s.intake.counters.start(s.targets.All, &s.certificate)
	}
	s.probes.Analyses.Open(s.options.Cache, s.targets.All, s.log)
	return s.confine()
}

func (s *Session) load() error {
	if err := s.allowance.begin(s.fs); err != nil {
		return err
	}
	loaded, err := ledger.Load(ledger.Options{Small: s.allowance.small, ChangeRing: s.options.ChangeRing,
		Heap: s.options.Heap, SmallArrays: s.options.SmallArrays, Counters: s.options.Counters,
		BoundaryRing: s.options.boundaryRing(), Births: s.joining.open})
	if err != nil {
		return err
	}
	if s.joining.open {
		s.Births = &loaded.Births
	}
	return s.use(tracee.KernelHalfOf(loaded))
}

// use takes over the kernel half, once it is loaded.
func (s *Session) use(l *tracee.KernelHalf) error {
	s.allowance.loaded(l)
	*s.ledger = *l
	if err := s.budget.Begin(s.options.Budget); err != nil {
		return err
	}
	if err := s.ledger.Capabilities().NoClock; err != nil {
		s.certificate.Problem("cpu_ns leaves out what each thread that runs has used since the scheduler's last "+
			"tick: %s", tracee.Clean(err.Error()))
	}
	if s.options.Heap { // the cost is to be reported
		return s.budget.Prices.Demand()
	}
	return nil
}

// attachAll attaches all targets, which are roots.
func (s *Session) attachAll() error {
	root := uint32(0)
	return s.targets.Each(func(t *tracee.Target) error {
		root++
		return s.attach(root-1, t, true)
	})
}

// attach attaches one target: its descendants, the process itself, its probes.
func (s *Session) attach(root uint32, t *tracee.Target, late bool) error {
	t.Root, t.Late = root, late
	s.devices.Expect(t.PID)
	below := tracee.Tree{
		Scan: func() ([]process.Identity, error) { return s.fs.Descendants(t.PID) }, Kernel: s.ledger.Processes,
		Stat: func(pid int) (process.Stat, error) { return s.fs.Proc(pid).Stat() },
		Refused: func(pid int, err error) {
			s.certificate.Misses(t.PID, 0, nil, "child %d is not traced: %v", pid,
				err)
		},
		Take: cmp.Or(s.options.scansTake, tracee.UsualTime),
	}
	slot, unsettled, err := below.Attach(root, t.Handle.Identity())
	if err != nil {
		return err
	}
	t.Slot = slot
	if unsettled > 0 {
		s.certificate.Misses(t.PID, 0, nil,
			"below pid %d, processes were still being started or executing programs at look %d of the attach: some "+
				"of them may not be traced", t.PID, unsettled)
	}
	if t.Python != nil {
		if err := s.examiner.probe(t); s.targets.Tolerates(err) {
			// The session of this process has begun in the kernel half, and ends there: so the process does not count
			// as left out.
			t.CloseProbes()
		} else if err != nil {
			return err
		}
	} else {
		s.examiner.look(t)
	}
	t.Announced = true
	if s.joining.open {
		s.queue.add(&event.Process{ProcessInfo: t.Info()})
	} else {
		s.starts = append(s.starts, t.Info())
	}
	s.queue.add(s.watches.Begin(t.PID, t.Root))
	s.examiner.adoptPythons(t, below.Slots)
	return nil
}

// recognize opens the interpreters of the targets. Each target must be a Python.
func (s *Session) recognize(ctx context.Context) error {
	return s.targets.Each(func(t *tracee.Target) (err error) {
		if t.Python, err = s.probes.Interpreters.Open(t.PID); err == nil {
			err = t.Lives() // or another process was looked at
		}
		if err != nil && ctx.Err() != nil { // a file that was not found may exist
			return context.Cause(ctx)
		}
		if err == nil {
			s.examiner.readAhead(t)
		}
		return err
	})
}

// ErrTooMany says that more processes are named than a session traces.
var ErrTooMany = errors.New("too many processes are named")

// withRoom shortens a list to as many processes as a session can attach to, each with its children. If tolerant, it
// notes which processes are not traced; else it fails with [ErrTooMany].
func withRoom(who []process.Identity, c *tracee.Certificate, tolerant bool) ([]process.Identity, error) {
	if len(who) <= ledger.MaxRoots {
		return who, nil
	}
	if !tolerant {
		return nil, fmt.Errorf("%w: %d, and a session traces %d at most", ErrTooMany, len(who), ledger.MaxRoots)
	}
	c.Misses(0, 0, nil,
		"%d kernels ran, and a session traces %d at most: the others, from pid %d on, are not traced; start another "+
			"session for them", len(who), ledger.MaxRoots, who[ledger.MaxRoots].PID)
	c.LeftOut = c.Trouble[len(c.Trouble)-1]
	return who[:ledger.MaxRoots], nil
}

// begin puts the Start event in front of all other events.
func (s *Session) begin() {
	s.queue.putFirst(&event.Start{
		Host: thisHost(s.options.Version), Processes: s.starts, Meters: s.meterSources(), Command: s.options.Command,
	})
}
