package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"ipytracer/internal/host/filecache"
	"ipytracer/internal/host/look"
)

// Finder looks at processes that may be kernels. Each look happens in a process without rights that can be killed
// ([look.Worker]). The time of a look counts to the holder of the process, so that nobody's processes keep others up. A
// process whose look takes too long ends its worker and nothing else. The file at which the worker was busy is not
// examined for that holder again until the file changes, or a while is over. A file system that does not answer ends
// the worker, too. It is not asked for that holder again while the worker's helper waits for it.
type Finder struct {
	what    string
	ctx     context.Context
	deliver func(Finding)
	start   func(ctx context.Context, what string) (worker, error)

	mu      sync.Mutex
	turns   *turns
	workers int // that run
	slow    int // of these, that have been busy with one process for a while
	timer   *time.Timer
	idle    chan struct{} // the last worker has ended
	refused filecache.Refusals[Holder]
	waiters waiters
	most    look.Limits // of the look at one process
}

// worker is a [look.Worker].
type worker interface {
	Ask(question, found any, most look.Limits) (look.Cost, error)
	Close()
}

// Finding is what is known of a candidate.
type Finding struct {
	Candidate
	Python *Python // nil: no Python, or not of the wanted kind
	Hidden bool    // it has a name of Python's and may not be looked into
	Cut    bool    // it took too long, or there was no time for it: it may be a kernel
	Err    error   // why nothing could be looked at
	Took   time.Duration
}

const (
	maxWorkers = 6
	// slowAfter is how long a worker may be busy with one process before another worker goes on with other processes.
	slowAfter = 200 * time.Millisecond
	// retryStart is the time from a worker that could not be started to the next try.
	retryStart = time.Second
	// maxRefused is the largest number of a holder's files that are not examined again, and refusedFor is for how long.
	maxRefused, refusedFor = 32, 10 * time.Minute
)

// mostProcessor bounds the look at one process: an interpreter takes a tenth of a second of processor time.
const mostProcessor = time.Second

// NewFinder returns a finder for kernels or, with workers, also for workers of Dask. It calls deliver once for each
// candidate, from several goroutines and within Look, until ctx is done.
func NewFinder(ctx context.Context, withWorkers bool, deliver func(Finding)) *Finder {
	what := kernels
	if withWorkers {
		what = workers
	}
	return newFinder(ctx, what, lasting, deliver)
}

func newFinder(ctx context.Context, what string, most bounds, deliver func(Finding)) *Finder {
	return &Finder{
		what: what, ctx: ctx, deliver: deliver, turns: newTurns(most), idle: make(chan struct{}, 1),
		most:    look.Limits{Processor: mostProcessor, Wait: most.wait},
		refused: filecache.Refusals[Holder]{MostOf: maxRefused, Lasts: refusedFor},
		start:   func(ctx context.Context, what string) (worker, error) { return look.Start(ctx, what) },
	}
}

// Look queues processes to be looked at.
func (f *Finder) Look(all ...Candidate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range all {
		if left, is := f.turns.add(c); is {
			f.deliver(Finding{Candidate: left, Cut: true})
		}
	}
	f.employ()
}

// employ starts a worker if all others are slow and there is something to do. The caller holds mu.
func (f *Finder) employ() {
	if f.workers > f.slow || f.workers >= maxWorkers || f.ctx.Err() != nil {
		return
	}
	now := time.Now()
	c, ok, at := f.turns.next(now, f.workers >= maxWorkers/2)
	if !ok {
		if !at.IsZero() {
			f.later(at.Sub(now))
		}
		return
	}
	f.workers++
	go f.work(c) // maxWorkers
}

// later starts a worker after a while. The caller holds mu.
func (f *Finder) later(after time.Duration) {
	if f.timer != nil {
		f.timer.Stop()
	}
	f.timer = time.AfterFunc(after, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.employ()
	})
}

// work looks at the process c, and then at the next ones, until no process waits for its turn.
func (f *Finder) work(c Candidate) {
	var w worker
	defer func() {
		if w != nil {
			w.Close()
		}
	}()
	for ok := true; ok; {
		over := f.watch()
		began := time.Now()
		found, cut := f.examine(&w, c)
		f.deliver(found)
		over()
		c, ok = f.after(found, time.Since(began), cut)
	}
}

// watch starts another worker if this one is still busy after a while. The caller calls over at the end of a look.
func (f *Finder) watch() (over func()) {
	isSlow, isOver := false, false
	timer := time.AfterFunc(slowAfter, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !isOver {
			isSlow = true
			f.slow++
			f.employ()
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

// after counts the time that a look took. It returns the next process for the worker; ok is false if the worker is to
// end.
func (f *Finder) after(found Finding, took time.Duration, cut bool) (next Candidate, ok bool) {
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
		f.later(at.Sub(now))
	}
	if f.employ(); f.workers == 0 {
		select {
		case f.idle <- struct{}{}:
		default:
		}
	}
	return next, false
}

// examine looks at a process. slow reports whether it took too long, or ended the worker.
func (f *Finder) examine(w *worker, c Candidate) (found Finding, slow bool) {
	found.Candidate = c
	q := question{PID: c.PID, Started: c.StartTicks}
	q.Refused = f.refused.Files(c.Holder, time.Now())
	q.Silent, q.Near = f.waiters.of(c.Holder, isThere)
	if *w == nil {
		one, err := f.start(f.ctx, f.what)
		if err != nil {
			found.Err, found.Cut = err, true
			time.Sleep(retryStart)
			return found, false
		}
		*w = one
	}
	var a findings
	cost, err := (*w).Ask(q, &a, f.most)
	found.Took, found.Hidden, found.Cut = cost.Processor, a.Hidden, a.Cut
	var busy noted
	if cost.Note != nil {
		_ = json.Unmarshal(cost.Note, &busy)
	}
	if errors.Is(err, look.ErrSlow) || errors.Is(err, look.ErrEnded) {
		*w = nil
		found.Cut = true
		switch spent := errors.Is(err, look.ErrEnded) || cost.Processor >= mostProcessor; {
		case f.ctx.Err() == nil && busy.File != nil && spent:
			f.refused.Add(c.Holder, *busy.File, err, time.Now())
		case !spent:
			f.waiters.add(c.Holder, busy.Helper, 0)
		}
		return found, true
	}
	if len(a.Silent) > 0 {
		f.waiters.add(c.Holder, busy.Helper, a.Silent...)
		(*w).Close()
		*w = nil
	}
	if a.Row != nil {
		found.Python = a.Row.python()
	}
	return found, len(a.Silent) > 0
}
