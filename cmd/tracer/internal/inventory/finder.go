package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"ipytracer/internal/host/filecache"
)

// Finder looks at processes that may be kernels. Each look happens in a worker ([Looker]), which is a process
// without rights that can be killed. The process's holder is charged for the time, so that nobody's processes hold up
// others.
//
// A look that takes too long ends only its worker. The finder does not examine the file at which the worker was busy
// again for that holder, until the file changes or refusedFor is over. A file system that does not answer ends the
// worker, too. The finder does not ask that file system again for that holder while the worker's helper still waits for
// it.
type Finder struct {
	kind    string // of looks, as in [Looks]
	ctx     context.Context
	deliver func(Finding)
	start   func(ctx context.Context, what string) (worker, error)

	mu      sync.Mutex
	turns   *turns
	workers int // workers that run
	slow    int // workers that have been busy with one process for slowAfter
	timer   *time.Timer
	idle    chan struct{} // receives when the last worker has ended
	refused filecache.Refusals[Holder]
	waiters waiters
	limits  LookLimits // of the look at one process
}

// worker is a [Looker].
type worker interface {
	Ask(question, found any, most LookLimits) (LookCost, error)
	Close()
}

// Finding is the result of a look at a candidate.
type Finding struct {
	Candidate
	Python *Python       // nil: no Python, or not of the wanted kind
	Hidden bool          // this user may not look into it, and its name is a Python's
	Cut    bool          // the look took too long, or there was no time for it: the candidate may be a kernel
	Err    error         // why looks are not possible
	Took   time.Duration // processor time
}

const (
	maxWorkers = 6
	// slowAfter is how long a worker may be busy with one process before another worker goes on with other processes.
	slowAfter = 200 * time.Millisecond
	// retryStart is the time from a worker that could not be started to the next try.
	retryStart = time.Second
	// maxRefused is the most files of a holder that are not examined again.
	maxRefused = 32
	// refusedFor is how long such a file is not examined.
	refusedFor = 10 * time.Minute
)

// maxLookProcessor is the most processor time of a look. An interpreter takes a tenth of a second.
const maxLookProcessor = time.Second

// NewFinder returns a finder for kernels, and for workers of Dask if withWorkers is true. Until ctx is done, it calls
// deliver once for each candidate, from several goroutines and within Look.
func NewFinder(ctx context.Context, withWorkers bool, deliver func(Finding)) *Finder {
	kind := lookKernels
	if withWorkers {
		kind = lookWorkers
	}
	return newFinder(ctx, kind, forAgent, deliver)
}

func newFinder(ctx context.Context, kind string, most bounds, deliver func(Finding)) *Finder {
	return &Finder{
		kind: kind, ctx: ctx, deliver: deliver, turns: newTurns(most), idle: make(chan struct{}, 1),
		limits:  LookLimits{Processor: maxLookProcessor, Wait: most.wait},
		refused: filecache.Refusals[Holder]{MostOf: maxRefused, Lasts: refusedFor},
		start:   func(ctx context.Context, kind string) (worker, error) { return StartLooker(ctx, kind) },
	}
}

// Look queues processes to be looked at.
func (f *Finder) Look(candidates ...Candidate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range candidates {
		if dropped, ok := f.turns.add(c); ok {
			f.deliver(Finding{Candidate: dropped, Cut: true})
		}
	}
	f.startWorker()
}

// startWorker starts a worker if all others are slow and a process has its turn. The caller holds mu.
func (f *Finder) startWorker() {
	if f.workers > f.slow || f.workers >= maxWorkers || f.ctx.Err() != nil {
		return
	}
	now := time.Now()
	c, ok, at := f.turns.next(now, f.workers >= maxWorkers/2)
	if !ok {
		if !at.IsZero() {
			f.startWorkerLater(at.Sub(now))
		}
		return
	}
	f.workers++
	go f.runWorker(c) // maxWorkers
}

// startWorkerLater calls startWorker after a while. The caller holds mu.
func (f *Finder) startWorkerLater(after time.Duration) {
	if f.timer != nil {
		f.timer.Stop()
	}
	f.timer = time.AfterFunc(after, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.startWorker()
	})
}

// runWorker looks at the process c, and then at others, until no process has its turn.
func (f *Finder) runWorker(c Candidate) {
	var w worker
	defer func() {
		if w != nil {
			w.Close()
		}
	}()
	for ok := true; ok; {
		over := f.watchSlowness()
		began := time.Now()
		found, cut := f.examine(&w, c)
		f.deliver(found)
		over()
		c, ok = f.finishLook(found, time.Since(began), cut)
	}
}

// watchSlowness counts this worker as slow, and starts another one, if its look lasts longer than slowAfter. The caller
// calls over at the end of the look.
func (f *Finder) watchSlowness() (over func()) {
	isSlow, isOver := false, false
	timer := time.AfterFunc(slowAfter, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !isOver {
			isSlow = true
			f.slow++
			f.startWorker()
		}
	})
	return func() {
		timer.Stop()
		f.mu.Lock()
		defer f.mu.Unlock()
		if isOver = true; isSlow {
			f.slow--
		}
	}
}

// finishLook charges the holder for a look. It returns the next process for the worker; ok is false if the worker must
// end.
func (f *Finder) finishLook(found Finding, took time.Duration, cut bool) (next Candidate, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, at := time.Now(), time.Time{}
	f.turns.done(found.Holder, found.Took+took/waitShare, cut, now)
	if f.ctx.Err() == nil && f.workers-f.slow <= 1 {
		if next, ok, at = f.turns.next(now, f.workers > maxWorkers/2); ok {
			return next, true
		}
	}
	f.workers--
	if !at.IsZero() {
		f.startWorkerLater(at.Sub(now))
	}
	if f.startWorker(); f.workers == 0 {
		select {
		case f.idle <- struct{}{}:
		default:
		}
	}
	return next, false
}

// examine looks at a process with the worker *w, which it starts if that is nil. slow reports whether the look took too
// long; then *w is nil again.
func (f *Finder) examine(w *worker, c Candidate) (found Finding, slow bool) {
	found.Candidate = c
	q := question{PID: c.PID, Started: c.StartTicks}
	q.Refused = f.refused.Files(c.Holder, time.Now())
	q.Silent, q.Near = f.waiters.silentFor(c.Holder, isRunning)
	if *w == nil {
		started, err := f.start(f.ctx, f.kind)
		if err != nil {
			found.Err, found.Cut = err, true
			time.Sleep(retryStart)
			return found, false
		}
		*w = started
	}
	var answer findings
	cost, err := (*w).Ask(q, &answer, f.limits)
	found.Took, found.Hidden, found.Cut = cost.Processor, answer.Hidden, answer.Cut
	var busy activity
	if cost.Note != nil {
		_ = json.Unmarshal(cost.Note, &busy)
	}
	if errors.Is(err, ErrLookSlow) || errors.Is(err, ErrLookEnded) {
		*w = nil
		found.Cut = true
		f.blame(c.Holder, busy, errors.Is(err, ErrLookEnded) || cost.Processor >= maxLookProcessor, err)
		return found, true
	}
	if len(answer.Silent) > 0 {
		f.waiters.add(c.Holder, busy.Helper, answer.Silent...)
		(*w).Close()
		*w = nil
	}
	if answer.Row != nil {
		found.Python = answer.Row.python()
	}
	return found, len(answer.Silent) > 0
}

// blame notes what to leave out of later looks for a holder, after a look that took too long: the file at which the
// worker was busy, if the look used up its processor time, or else a file system that does not answer.
func (f *Finder) blame(holder Holder, busy activity, usedUp bool, err error) {
	switch {
	case f.ctx.Err() == nil && busy.File != nil && usedUp:
		f.refused.Add(holder, *busy.File, err, time.Now())
	case !usedUp:
		f.waiters.add(holder, busy.Helper, 0)
	}
}
