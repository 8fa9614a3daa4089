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

// Attach starts a session on running Python processes. If the start time of an identity differs from the process's own,
// the pid was reused, and Attach fails as for a process that has ended; a start time of 0 matches any process. The
// error matches process.ErrNotPython, process.ErrNoProcess, ledger.ErrNotPermitted and so on. When Attach returns
// without error, every probe is in place. Once ctx is done, Attach does not wait for file systems that do not answer:
// it fails with ctx's cause, or leaves their files out. The session itself does not depend on ctx.
func Attach(ctx context.Context, ids []process.Identity, o Options) (*Session, error) {
	return start(o, func(s *Session) error {
		s.fs.Helper.Until(ctx)
		if err := s.attachTo(ctx, ids); err != nil {
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
		if err := s.attach(0, t, false); err != nil || s.options.heapOffer == nil {
			return err
		}
		if err := s.options.heapOffer.accept(s, t); err != nil {
			s.log.Warn("the command does not count malloc's blocks itself", "error", err)
		}
		return nil
	})
}

// MayTrace reports whether this program may trace: as root, or by its capabilities.
func MayTrace() bool {
	return os.Geteuid() == 0 || (process.FS{}).Facts().Capabilities.MayLoadBPF()
}

// start makes a session and calls attach, which attaches the session to processes. If attach fails, start closes the
// session.
func start(o Options, attach func(*Session) error) (*Session, error) {
	if !MayTrace() {
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
func (s *Session) attachTo(ctx context.Context, ids []process.Identity) error {
	// A wrong pid is reported before anything is loaded into the kernel. Processes are examined only after this program
	// has dropped its privileges.
	ids, err := s.targets.WithoutDescendants(ids)
	if err != nil {
		return err
	}
	if ids, err = withRoom(ids, &s.certificate, s.options.Tolerant); err != nil {
		return err
	}
	if err := s.targets.Hold(ids); err != nil {
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
	s.intake.containers.Hold(s.targets.All)
	s.probes.Analyses.Open(s.options.Cache, s.targets.All, s.log)
	return s.confine()
}

func (s *Session) load() error {
	if err := s.allowance.begin(s.fs); err != nil {
		return err
	}
	loaded, err := ledger.Load(ledger.Options{Small: s.allowance.small, ChangeRing: s.options.ChangeRing,
		Heap: s.options.Heap, HeapPage: s.options.heapPage(), SmallArrays: s.options.SmallArrays,
		Counters: s.options.Counters, SharedPages: s.options.Copies,
		BoundaryRing: s.options.boundaryRing(), Births: s.joining.open})
	if err != nil {
		return err
	}
	if s.joining.open {
		s.Births = &loaded.Births
	}
	return s.useKernelHalf(tracee.KernelHalfOf(loaded))
}

// useKernelHalf makes the session use the loaded kernel half.
func (s *Session) useKernelHalf(l *tracee.KernelHalf) error {
	s.allowance.loaded(l)
	*s.ledger = *l
	if err := s.budget.Begin(s.options.Budget); err != nil {
		return err
	}
	if err := s.ledger.Capabilities().NoClock; err != nil {
		s.certificate.Problem("cpu_ns does not contain the time that running threads have used since the scheduler's "+
			"last tick: %s", tracee.Clean(err.Error()))
	}
	if s.options.Heap { // its cost is reported to the user, so it must be measured now
		return s.budget.Prices.Demand()
	}
	return nil
}

// attachAll attaches all targets, which are roots.
func (s *Session) attachAll() error {
	next := uint32(0)
	return s.targets.Each(func(t *tracee.Target) error {
		root := next
		next++
		return s.attach(root, t, true)
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
			s.certificate.Misses(t.PID, 0, nil, "child %d is not traced: %v", pid, err)
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
			// The process has ended, but its session has begun in the kernel half and ends there. So the process stays
			// a target.
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
			err = t.Lives() // if not, the pid may already be another process's
		}
		if err != nil && ctx.Err() != nil { // the file may exist, but was not waited for
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

// withRoom shortens a list to the largest number of processes that a session can attach to. If tolerant, it reports
// that the others are not traced; otherwise it fails with [ErrTooMany].
func withRoom(ids []process.Identity, c *tracee.Certificate, tolerant bool) ([]process.Identity, error) {
	if len(ids) <= ledger.MaxRoots {
		return ids, nil
	}
	if !tolerant {
		return nil, fmt.Errorf("%w: %d, and a session traces %d at most", ErrTooMany, len(ids), ledger.MaxRoots)
	}
	c.Misses(0, 0, nil,
		"%d kernels ran, and a session traces %d at most: the others, from pid %d on, are not traced; start another "+
			"session for them", len(ids), ledger.MaxRoots, ids[ledger.MaxRoots].PID)
	c.LeftOut = c.Trouble[len(c.Trouble)-1]
	return ids[:ledger.MaxRoots], nil
}

// begin puts the Start event in front of all other events.
func (s *Session) begin() {
	s.queue.putFirst(&event.Start{
		Host: thisHost(s.options.Version), Processes: s.starts, Meters: s.meterSources(), Command: s.options.Command,
	})
}
