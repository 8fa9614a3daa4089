package holders

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// budget is how much a walk may take.
type budget struct {
	ctx    context.Context
	mem    *memory
	limits Limits
	// A walk may take as much processor time. Time passes also while others have the processors, so the clock on the
	// wall only ends a walk that is held up, such as by memory of a process that is not to be had.
	until    time.Duration
	deadline time.Time
	steps    int
	stopped  error // why it ended early
}

// patience is how many times as long as its processor time a walk may take.
const patience = 40

func newBudget(ctx context.Context, mem *memory, limits Limits) budget {
	return budget{
		ctx: ctx, mem: mem, limits: limits,
		until: ProcessorTime() + limits.Time, deadline: time.Now().Add(patience * limits.Time),
	}
}

// again returns the same budget, unspent, for a walk beside this one.
func (b *budget) again() budget {
	other := *b
	other.steps, other.stopped = 0, nil
	return other
}

// spent reports whether a limit was reached, or the context has ended. It is asked at every reference.
func (b *budget) spent() bool {
	if b.steps++; b.steps%stepsToLook == 0 || b.mem.err != nil {
		b.look()
	}
	return b.stopped != nil
}

// stepsToLook is the number of steps between two looks at the time.
const stepsToLook = 4096

// look finds out whether the walk must stop.
func (b *budget) look() {
	switch {
	case b.stopped != nil:
	case b.steps%stepsToLook == 0 && b.ctx.Err() != nil:
		b.stopped = b.ctx.Err()
	case b.steps%stepsToLook == 0 && (ProcessorTime() > b.until || time.Now().After(b.deadline)):
		b.stopped = errTime
	default:
		b.stopped = b.mem.err
	}
}

// onThread keeps a goroutine on its thread until the returned function is called: its processor time is the thread's.
func onThread() (done func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// ProcessorTime returns the time that this thread has used; its goroutine is to be locked to it. A walk beside it has a
// time of its own.
func ProcessorTime() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}
