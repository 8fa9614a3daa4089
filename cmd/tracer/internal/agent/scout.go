package agent

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// A scout finds kernels. To look at a process costs processor time ([inventory.Finder]), so it is done only where a
// process may be a kernel and is not known to be one. The kernel half notes the Pythons that are executed or forked;
// what it has missed is found by a sweep over the names in /proc.
type scout struct {
	fs     process.FS
	log    *slog.Logger
	look   func(...inventory.Candidate)            // its findings come to [scout.deliver]
	holder func(pid int) (inventory.Holder, error) // to whom a look at a process counts
	found  func(inventory.Python)
	births births        // nil: each pass sweeps
	wake   chan struct{} // there is something to do before the next time that is due; nil: nobody says so
	missed func()        // called for each kernel that has ended before it was found

	seen   map[int]suspect // the processes of the last sweep, and those born since
	swept  time.Time       // when that was
	listen time.Time       // births may come until then of which nobody tells

	mu       sync.Mutex
	again    map[int]bool // kernels that are to be found again: see [scout.forget]
	findings []inventory.Finding
}

// births are the Pythons that are executed, see [ledger.Births].
type births interface {
	Next() (list []ledger.Birth, missed uint64, err error)
}

const (
	// afterCut is how long after a look that took too long the next one is made; each time it is twice as long.
	afterCut = 2 * time.Second
	// infancy is how long after its birth a Python is first looked into, unless its arguments are a kernel's: most
	// programs have ended by then, and few kernels have loaded IPython earlier.
	infancy = time.Second
	// sweepEvery is the interval of sweeps where births are noted. A sweep finds what was not.
	sweepEvery = 15 * time.Second
	// birthRest is a little more than the time after a birth in which the kernel half tells of no other
	// (BIRTH_REST, bpf/processes.h).
	birthRest = 550 * time.Millisecond
	// retryAfter is how long after a refusal for want of room a kernel is tried again.
	retryAfter = 10 * time.Second
)

// pass takes in what was found, and has looked at what is due.
func (s *scout) pass(now time.Time) {
	s.takeFindings(now)
	var due []inventory.Candidate
	for _, pid := range s.compare(now) {
		one := s.seen[pid]
		holder, err := s.holder(pid)
		if one.asked = err == nil; !one.asked {
			one.next = now.Add(soonest) // it has ended
		}
		if s.seen[pid] = one; !one.asked {
			continue
		}
		due = append(due, inventory.Candidate{
			Identity: process.Identity{PID: pid, StartTicks: one.started}, Holder: holder,
		})
	}
	if len(due) > 0 {
		s.look(due...)
	}
}

// deliver takes in a finding. It may be called from any goroutine.
func (s *scout) deliver(f inventory.Finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.findings = append(s.findings, f) // one of each suspect at most
	s.poke()
}

// takeFindings hands on the kernels that were found.
func (s *scout) takeFindings(now time.Time) {
	s.mu.Lock()
	all := s.findings
	s.findings = nil
	s.mu.Unlock()
	for _, f := range all {
		if f.Err != nil {
			s.log.Warn("kernels could not be looked for", "error", f.Err)
		}
		one, listed := s.seen[f.PID]
		if !listed || one.started != f.StartTicks || !one.asked {
			continue
		}
		one.asked = false
		wanted := f.Python != nil && f.Python.Identity.StartTicks == one.started && isWanted(f.Python)
		switch {
		case wanted && !one.known:
			one.known = true
		case f.Cut:
			one.next = now.Add(backoff(afterCut, one.cuts))
			one.cuts++
		case one.kernel:
			one.next = now.Add(backoff(briefest, one.looks))
			one.looks++
		default:
			one.looks++
			one.next = now.Add(backoff(soonest, one.looks))
		}
		s.seen[f.PID] = one
		if wanted {
			s.found(*f.Python)
		}
	}
}

// compare updates the list of processes, and returns those that are to be looked at.
func (s *scout) compare(now time.Time) (due []int) {
	whole := s.welcome(now)
	if !whole || s.swept.IsZero() || !now.Before(s.swept.Add(sweepEvery)) {
		s.swept = now
		s.sweep(now)
	}
	again := s.takeAgain()
	for pid, one := range s.seen {
		infant := one.born && !now.Before(one.next)
		if (one.kernel && !one.known || infant) && one.hasEnded(s.fs, pid) {
			if one.kernel {
				s.missed()
			}
			delete(s.seen, pid)
			continue
		}
		if infant {
			one.born = false
		}
		if again[pid] {
			one.known, one.next = false, now.Add(retryAfter)
		}
		if one.isYoung() && !now.Before(one.weighed.Add(youngEvery)) {
			one = one.weigh(s.fs, pid, now)
		}
		s.seen[pid] = one
		if one.is && !one.known && !one.asked && !now.Before(one.next) {
			due = append(due, pid)
		}
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
			one = one.meet(s.fs, pid, now)
		case one.is && !one.known && !one.born:
			one = one.weigh(s.fs, pid, now)
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
	if len(list) > 0 {
		s.listen = now.Add(birthRest)
	}
	for _, b := range list {
		before, listed := s.seen[b.PID]
		if listed && before.started != b.Started && before.kernel && !before.known { // its pid is used again
			s.missed()
		}
		if b.Forked && listed && before.started == b.Started { // it has executed a Python since
			continue
		}
		one := suspect{started: b.Started, is: true, kernel: !b.Forked && runsKernel(b.Arguments), born: true}
		if one.next = now.Add(infancy); one.kernel {
			one.next = now
		}
		s.seen[b.PID] = one
	}
	return err == nil && missed == 0
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
	if now.Before(s.listen) {
		at = earlier(at, s.listen)
	}
	for _, one := range s.seen {
		switch {
		case !one.is || one.known:
			continue
		case one.kernel: // its end is to be seen
			at = earlier(at, now.Add(every))
		}
		if one.isYoung() {
			at = earlier(at, one.weighed.Add(youngEvery))
		}
		if !one.asked {
			at = earlier(at, one.next)
		}
	}
	return at
}

// poke has a pass made soon. It may be called from any goroutine.
func (s *scout) poke() {
	select {
	case s.wake <- struct{}{}:
	default: // it is to wake up already
	}
}

// betweenPasses is the least time from one pass to the next.
const betweenPasses = 20 * time.Millisecond

// run looks until the context ends, at the interval that every returns at most.
func (s *scout) run(ctx context.Context, every func() time.Duration) {
	for {
		now := time.Now()
		s.pass(now)
		select {
		case <-ctx.Done():
			return
		case <-time.After(betweenPasses):
		}
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-time.After(time.Until(s.due(now, every()))):
		}
	}
}
