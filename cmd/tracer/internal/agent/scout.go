package agent

import (
	"context"
	"log/slog"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/tracer/host/process"
	"ipytracer/tracer/ledger"
)

// A scout finds kernels. A look at everything costs a process of its own ([inventory.Kernels]), so it is made only
// where there is a process that may be a kernel and is not known to be one. The kernel half notes the Pythons that are
// executed or forked; what it has missed is found by a sweep over the names in /proc.
type scout struct {
	fs     process.FS
	log    *slog.Logger
	find   func(context.Context) ([]inventory.Python, error)
	found  func(inventory.Python)
	births births        // nil: each pass sweeps
	wake   chan struct{} // there is something to do before the next time that is due; nil: nobody says so
	missed func()        // called for each kernel that has ended before it was found

	seen  map[int]suspect // the processes of the last sweep, and those born since
	swept time.Time       // when that was
	rest  time.Time       // no look before that

	mu    sync.Mutex
	again map[int]bool // kernels that are to be found again: see [scout.forget]
}

// births are the Pythons that are executed, see [ledger.Births].
type births interface {
	Next() (list []ledger.Birth, missed uint64, err error)
}

// suspect is a process that may be, or become, a kernel.
type suspect struct {
	started uint64
	is      bool // a Python, by its name
	kernel  bool // a kernel, by the arguments with which it was executed
	born    bool // noted by the kernel half, and not looked into yet
	known   bool // handed on, or of no use
	looks   int
	pages   int64     // that were resident when a look was last due
	met     int       // how often its name was read
	read    time.Time // when it is to be read again: a shell may yet execute a Python
	next    time.Time // when to look into a Python again
}

const (
	// soonest and latest bound how long after a look at a Python without IPython the next one is made: a kernel loads
	// IPython within seconds, a script may embed it at any time.
	soonest, latest = 500 * time.Millisecond, 5 * time.Minute
	lookTime        = 10 * time.Second // for one look
	// infancy is how long after its birth a Python is first looked into: most programs have ended by then, and few
	// kernels have loaded IPython earlier.
	infancy = time.Second
	// leastIPython is less than IPython takes as it is loaded, in bytes of resident memory.
	leastIPython = 8 << 20
	// sweepEvery is the interval of sweeps where births are noted. A sweep finds what was not.
	sweepEvery = 15 * time.Second
	// restShare is how many times as long as a look took the next one waits: somebody may run any number of Pythons.
	restShare   = 20
	longestRest = time.Minute
	// retryAfter is how long after a refusal for want of room a kernel is tried again.
	retryAfter = 10 * time.Second
)

// backoff returns how long to wait after the n-th of several attempts.
func backoff(n int) time.Duration { return min(latest, soonest<<min(n, 10)) }

// pass looks once.
func (s *scout) pass(ctx context.Context, now time.Time) {
	if !s.compare(now) || now.Before(s.rest) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	began := time.Now()
	all, err := s.find(ctx)
	s.rest = now.Add(min(longestRest, restShare*time.Since(began)))
	if err != nil {
		s.log.Warn("kernels could not be looked for", "error", err)
		return
	}
	for _, p := range all {
		one, listed := s.seen[p.PID]
		if !isWanted(&p) || listed && one.known && one.started == p.Identity.StartTicks {
			continue
		}
		s.seen[p.PID] = suspect{started: p.Identity.StartTicks, is: true, known: true}
		s.found(p)
	}
	for pid, one := range s.seen {
		if one.is && !one.known && !now.Before(one.next) {
			one.looks++
			one.next = now.Add(backoff(one.looks))
			s.seen[pid] = one
		}
	}
}

// compare updates the list of processes, and reports whether a look is due.
func (s *scout) compare(now time.Time) (due bool) {
	whole := s.welcome(now)
	if !whole || s.swept.IsZero() || !now.Before(s.swept.Add(sweepEvery)) {
		s.swept = now
		s.sweep(now)
	}
	again := s.takeAgain()
	for pid, one := range s.seen {
		infant := one.born && !now.Before(one.next)
		if (one.kernel && !one.known || infant) && s.hasEnded(pid, one) {
			if one.kernel {
				s.missed()
			}
			delete(s.seen, pid)
			continue
		}
		if infant {
			one.born = false
			s.seen[pid] = one
		}
		if again[pid] {
			one.known, one.next = false, now.Add(retryAfter)
			s.seen[pid] = one
		}
		due = due || one.is && !one.known && !now.Before(one.next)
	}
	return due
}

// sweep goes through all processes.
func (s *scout) sweep(now time.Time) {
	pids, err := s.fs.PIDs()
	if err != nil {
		s.log.Warn("the list of processes cannot be read", "error", err)
		return
	}
	before := s.seen
	s.seen = make(map[int]suspect, len(pids))
	for _, pid := range pids {
		one := before[pid]
		switch {
		case !one.is && !now.Before(one.read):
			one = s.meet(pid, one, now)
		case one.is && !one.known && !one.born:
			one = s.weigh(pid, one, now)
		}
		s.seen[pid] = one
		delete(before, pid)
	}
	for pid, one := range before { // they have ended
		if one.kernel && !one.known {
			s.seen[pid] = one
		}
	}
}

// welcome takes in the births since the last pass. whole is false where they are not noted, or some were missed.
func (s *scout) welcome(now time.Time) (whole bool) {
	if s.births == nil {
		return false
	}
	list, missed, err := s.births.Next()
	if err != nil {
		s.log.Warn("the births cannot be read", "error", err)
	}
	if s.seen == nil {
		s.seen = map[int]suspect{}
	}
	for _, b := range list {
		before, listed := s.seen[b.PID]
		if listed && before.started != b.Started && before.kernel && !before.known { // its pid is used again
			s.missed()
		}
		if b.Forked && listed && before.started == b.Started { // it has executed a Python since
			continue
		}
		s.seen[b.PID] = suspect{
			started: b.Started, is: true, kernel: !b.Forked && runsKernel(b.Arguments), born: true,
			next: now.Add(infancy),
		}
	}
	return err == nil && missed == 0
}

// runsKernel reports whether the arguments of a Python run a Jupyter kernel or IPython.
func runsKernel(arguments []byte) bool {
	for i, one := range strings.Split(string(arguments), "\x00") {
		switch path.Base(one) {
		case "ipykernel", "ipykernel_launcher", "ipykernel_launcher.py", "ipython", "ipython3":
			return i > 0
		}
	}
	return false
}

// hasEnded reports whether a suspect is no longer there.
func (s *scout) hasEnded(pid int, one suspect) bool {
	stat, err := s.fs.Proc(pid).Stat()
	return err != nil || stat.StartTicks != one.started || stat.Ended()
}

// meet reads the name of a process's program.
func (s *scout) meet(pid int, one suspect, now time.Time) suspect {
	stat, err := s.fs.Proc(pid).Stat()
	if err != nil {
		return suspect{}
	}
	if one.started != stat.StartTicks {
		one = suspect{started: stat.StartTicks}
	}
	exe, err := s.fs.Proc(pid).ExeName()
	one.is = err == nil && strings.HasPrefix(path.Base(exe), "python")
	one.met++
	one.read = now.Add(backoff(one.met))
	return one
}

// weigh has a Python without IPython looked into soon if it has grown by as much as IPython takes, and by an eighth: a
// script that grows all the time is not looked into at each sweep.
func (s *scout) weigh(pid int, one suspect, now time.Time) suspect {
	stat, err := s.fs.Proc(pid).Stat()
	if err != nil || stat.StartTicks != one.started {
		return one
	}
	if one.pages == 0 {
		one.pages = stat.ResidentPages
	}
	grown := (stat.ResidentPages - one.pages) * int64(os.Getpagesize())
	if grown >= leastIPython && stat.ResidentPages-one.pages >= one.pages/8 {
		one.pages, one.next = stat.ResidentPages, earlier(one.next, now)
	}
	return one
}

// forget lets a kernel be found again, after a while: it could not be traced for a reason that may pass. It may be
// called from any goroutine.
func (s *scout) forget(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.again == nil {
		s.again = map[int]bool{}
	}
	s.again[pid] = true
	s.poke()
}

func (s *scout) takeAgain() map[int]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := s.again
	s.again = nil
	return again
}

// due returns when the next pass has something to do, if nobody wakes the scout. every is the interval of passes.
func (s *scout) due(now time.Time, every time.Duration) time.Time {
	if s.births == nil {
		return now.Add(every)
	}
	at := s.swept.Add(sweepEvery)
	for _, one := range s.seen {
		switch {
		case !one.is || one.known:
			continue
		case one.kernel: // its end is to be seen
			return now.Add(every)
		case one.born:
			at = earlier(at, one.next)
		default:
			at = earlier(at, later(one.next, s.rest))
		}
	}
	return at
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// poke has a pass made soon. It may be called from any goroutine.
func (s *scout) poke() {
	select {
	case s.wake <- struct{}{}:
	default: // it is to wake up already
	}
}

// run looks until the context ends, at the interval that every returns at most.
func (s *scout) run(ctx context.Context, every func() time.Duration) {
	for {
		now := time.Now()
		s.pass(ctx, now)
		rest := every()
		select {
		case <-ctx.Done():
			return
		case <-time.After(rest):
		}
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-time.After(time.Until(s.due(now, rest))):
		}
	}
}
