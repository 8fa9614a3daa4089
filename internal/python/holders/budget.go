package holders

import (
	"context"
	"errors"
	"ipytracer/event"
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

// Limits bound a walk. A field that is 0 has its default.
type Limits struct {
	Objects int           // containers looked into, 4 million
	Bytes   int64         // read from the process, 2 GiB
	Time    time.Duration // of the processor, of the thread that walks; 5 s
	// Elements is the time of the processor for what is in arrays, and for the columns of frames; 1 s each.
	Elements time.Duration
	Unseen   bool          // look for arrays that are none of the blocks, too
	Names    bool          // of [List]: objects that only modules have are not looked for
	Watch    []event.Piece // of [List]: objects that may be there still
	// Contents: [List] reads the elements of large arrays as well.
	Contents bool
	// Running are the PyThreadStates of threads that run cells: the result marks objects that their frames hold as
	// [event.Holder.Running].
	Running []uint64
}

func (l *Limits) defaults() {
	if l.Objects <= 0 {
		l.Objects = 4_000_000
	}
	if l.Bytes <= 0 {
		l.Bytes = 2 << 30
	}
	if l.Time <= 0 {
		l.Time = 5 * time.Second
	}
	if l.Elements <= 0 {
		l.Elements = time.Second
	}
}

var (
	errObjects = errors.New("the limit of objects was reached")
	errTime    = errors.New("the limit of time was reached")
)
