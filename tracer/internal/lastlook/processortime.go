package lastlook

import (
	"context"
	"errors"
	"runtime"
	"time"

	"ipytracer/internal/python/holders/objects"
	"ipytracer/tracer/internal/tracee"
)

// processorTime is the time that a look at several processes may take, of the thread that began it. Others may have the
// processors meanwhile, so the clock on the wall only ends a look that is held up by the processes themselves.
type processorTime struct {
	context.Context
	until  time.Duration
	cancel context.CancelFunc
}

var errHeldUp = errors.New("it took too long")

// newProcessorTime keeps the goroutine on its thread until done.
func newProcessorTime(ctx context.Context, most time.Duration) processorTime {
	runtime.LockOSThread()
	within, cancel := context.WithTimeoutCause(ctx, tracee.HeldUp*most, errHeldUp)
	return processorTime{within, objects.ProcessorTime() + most, cancel}
}

func (p processorTime) done() {
	p.cancel()
	runtime.UnlockOSThread()
}

// share returns the time for the next process: at most so much, and not less than the time of a first look.
func (p processorTime) share(most time.Duration) time.Duration {
	return max(min(most, p.until-objects.ProcessorTime()), time.Millisecond)
}

// isOver reports whether nothing further is to be looked at.
func (p processorTime) isOver() bool { return p.Err() != nil || objects.ProcessorTime() >= p.until }
