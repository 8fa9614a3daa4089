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

// A scout finds kernels. A look at a process costs processor time ([inventory.Finder]), so only processes that may be
// kernels get one, until they are found to be. The kernel half notes the Pythons that are executed or forked (births).
// Sweeps over the names in /proc find what it has missed.
type scout struct {
	fs     process.FS
	log    *slog.Logger
	look   func(...inventory.Candidate)            // begins looks; their findings come to [scout.deliver]
	holder func(pid int) (inventory.Holder, error) // who is charged for a look at a process
	found  func(inventory.Python)                  // called for each kernel that is found
	births births                                  // nil: each pass sweeps
	wake   chan struct{}                           // receives if a pass is needed before [scout.due]; may be nil
	missed func()                                  // called for each kernel that has ended before it was found

	suspects  map[int]suspect // by process ID: the processes of the last sweep, and those born since
	lastSweep time.Time
	// birthsHiddenUntil: until then the kernel half may note births without waking the agent, so a pass is due then.
	birthsHiddenUntil time.Time

	mu       sync.Mutex
	retry    map[int]bool // process IDs of kernels that are to be found again: see [scout.retryLater]
	findings []inventory.Finding
}

// births returns the Pythons that were executed or forked: see [ledger.Births].
type births interface {
	Next() (list []ledger.Birth, missed uint64, err error)
}

const (
	// afterCut is how long after a look that took too long the next one is made. It doubles each time.
	afterCut = 2 * time.Second
	// infancy is the age at which a Python gets its first look, unless its arguments are a kernel's. Most programs have
	// ended by then, and few kernels have loaded IPython earlier.
	infancy = time.Second
	// sweepEvery is the interval of sweeps while births are noted. A sweep finds Pythons whose birth was not.
	sweepEvery = 15 * time.Second
	// birthRest is a little more than the time after a birth in which the kernel half does not wake the agent for
	// another one (BIRTH_REST, bpf/processes.h).
	birthRest = 550 * time.Millisecond
	// retryAfter is how long after a refusal a kernel is tried again.
	retryAfter = 10 * time.Second
)

// pass takes in the findings since the last pass, and begins the looks that are due.
func (s *scout) pass(now time.Time) {
	s.takeFindings(now)
	var due []inventory.Candidate
	for _, pid := range s.update(now) {
		p := s.suspects[pid]
		holder, err := s.holder(pid)
		if err != nil { // the process has ended
			p.lookPending, p.nextLook = false, now.Add(soonest)
			s.suspects[pid] = p
			continue
		}
		p.lookPending = true
		s.suspects[pid] = p
		due = append(due, inventory.Candidate{
			Identity: process.Identity{PID: pid, StartTicks: p.started}, Holder: holder,
		})
	}
	if len(due) > 0 {
		s.look(due...)
	}
}

// deliver takes in the finding of a look. Any goroutine may call it.
func (s *scout) deliver(f inventory.Finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.findings = append(s.findings, f) // at most one of each suspect: lookPending
	s.wakeUp()
}

// takeFindings hands on the kernels that were found.
func (s *scout) takeFindings(now time.Time) {
	s.mu.Lock()
	findings := s.findings
	s.findings = nil
	s.mu.Unlock()
	for _, f := range findings {
		if f.Err != nil {
			s.log.Warn("kernels could not be looked for", "error", f.Err)
		}
		p, listed := s.suspects[f.PID]
		if !listed || p.started != f.StartTicks || !p.lookPending {
			continue
		}
		p.lookPending = false
		wanted := f.Python != nil && f.Python.Identity.StartTicks == p.started && isWanted(f.Python)
		switch {
		case wanted && !p.handedOn:
			p.handedOn = true
		case f.Cut:
			p.nextLook = now.Add(backoff(afterCut, p.cuts))
			p.cuts++
		case p.isKernel:
			p.nextLook = now.Add(backoff(briefest, p.looks))
			p.looks++
		default:
			p.looks++
			p.nextLook = now.Add(backoff(soonest, p.looks))
		}
		s.suspects[f.PID] = p
		if wanted {
			s.found(*f.Python)
		}
	}
}

// update brings the suspects up to date, and returns the process IDs of those whose look is due.
func (s *scout) update(now time.Time) (due []int) {
	complete := s.takeBirths(now)
	if !complete || s.lastSweep.IsZero() || !now.Before(s.lastSweep.Add(sweepEvery)) {
		s.lastSweep = now
		s.sweep(now)
	}
	retries := s.takeRetries()
	for pid, p := range s.suspects {
		growsUp := p.newborn && !now.Before(p.nextLook)
		awaited := p.isKernel && !p.handedOn
		if (growsUp || awaited) && p.hasEnded(s.fs, pid) {
			if p.isKernel {
				s.missed()
			}
			delete(s.suspects, pid)
			continue
		}
		if growsUp {
			p.newborn = false
		}
		if retries[pid] {
			p.handedOn, p.nextLook = false, now.Add(retryAfter)
		}
		if p.isYoung() && !now.Before(p.sizeRead.Add(youngEvery)) {
			p = p.readSize(s.fs, pid, now)
		}
		s.suspects[pid] = p
		if p.isPython && !p.handedOn && !p.lookPending && !now.Before(p.nextLook) {
			due = append(due, pid)
		}
	}
	return due
}

// sweep reads the list of all processes into suspects. It keeps kernels that have ended, for update to count.
func (s *scout) sweep(now time.Time) {
	pids, err := s.fs.PIDs()
	if err != nil {
		s.log.Warn("the list of processes cannot be read", "error", err)
		return
	}
	before := s.suspects
	s.suspects = make(map[int]suspect, len(pids))
	for _, pid := range pids {
		p := before[pid]
		switch {
		case !p.isPython && !now.Before(p.nextNameRead):
			p = p.readName(s.fs, pid, now)
		case p.isPython && !p.handedOn && !p.newborn:
			p = p.readSize(s.fs, pid, now)
		}
		s.suspects[pid] = p
		delete(before, pid)
	}
	for pid, p := range before { // the processes that have ended
		if p.isKernel && !p.handedOn {
			s.suspects[pid] = p
		}
	}
}

// takeBirths takes in the births since the last pass. complete is false if births are not noted, or some were missed.
func (s *scout) takeBirths(now time.Time) (complete bool) {
	if s.births == nil {
		return false
	}
	list, missed, err := s.births.Next()
	if err != nil {
		s.log.Warn("the births cannot be read", "error", err)
	}
	if s.suspects == nil {
		s.suspects = map[int]suspect{}
	}
	if len(list) > 0 {
		s.birthsHiddenUntil = now.Add(birthRest)
	}
	for _, b := range list {
		before, listed := s.suspects[b.PID]
		reused := listed && before.started != b.Started // the process ID of one that has ended
		if reused && before.isKernel && !before.handedOn {
			s.missed()
		}
		alreadyKnown := listed && before.started == b.Started
		if b.Forked && alreadyKnown { // the listed record is of an exec after this fork
			continue
		}
		p := suspect{started: b.Started, isPython: true, isKernel: !b.Forked && runsKernel(b.Arguments), newborn: true}
		if p.nextLook = now.Add(infancy); p.isKernel {
			p.nextLook = now
		}
		s.suspects[b.PID] = p
	}
	return err == nil && missed == 0
}

// retryLater lets a kernel be found again after retryAfter, because the reason why it is not traced may pass. Any
// goroutine may call it.
func (s *scout) retryLater(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retry == nil {
		s.retry = map[int]bool{}
	}
	s.retry[pid] = true
	s.wakeUp()
}

func (s *scout) takeRetries() map[int]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := s.retry
	s.retry = nil
	return again
}

// due returns when the next pass has something to do. every is the interval of passes while that depends on /proc.
func (s *scout) due(now time.Time, every time.Duration) time.Time {
	if s.births == nil {
		return now.Add(every)
	}
	at := s.lastSweep.Add(sweepEvery)
	if now.Before(s.birthsHiddenUntil) {
		at = earlier(at, s.birthsHiddenUntil)
	}
	for _, p := range s.suspects {
		switch {
		case !p.isPython || p.handedOn:
			continue
		case p.isKernel: // nothing else tells of its end
			at = earlier(at, now.Add(every))
		}
		if p.isYoung() {
			at = earlier(at, p.sizeRead.Add(youngEvery))
		}
		if !p.lookPending {
			at = earlier(at, p.nextLook)
		}
	}
	return at
}

// wakeUp causes a pass soon. Any goroutine may call it.
func (s *scout) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default: // a pass is coming already
	}
}

// betweenPasses is the least time between the beginnings of two passes.
const betweenPasses = 20 * time.Millisecond

// run makes passes until the context ends. every returns the interval for [scout.due].
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
