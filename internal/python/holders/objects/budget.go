package objects

import (
	"context"
	"errors"
	"runtime"
	"time"

	"ipytracer/event"

	"golang.org/x/sys/unix"
)

// Budget bounds a walk: the bytes that it reads, its objects and its time.
type Budget struct {
	Ctx    context.Context
	Mem    *Memory
	Limits Limits
	// Until is the [ProcessorTime] at which the walk stops. Deadline is much later: it only ends a walk that waits,
	// such as for memory that is being swapped in.
	Until    time.Duration
	Deadline time.Time
	steps    int
	Stopped  error // why the walk ended early
}

// Patience is how many times as long as its processor time a walk may take.
const Patience = 40

// NewBudget returns a budget that begins now.
func NewBudget(ctx context.Context, mem *Memory, limits Limits) Budget {
	return Budget{
		Ctx: ctx, Mem: mem, Limits: limits,
		Until: ProcessorTime() + limits.Time, Deadline: time.Now().Add(Patience * limits.Time),
	}
}

// Renewed returns an unspent copy of the budget, for another walk.
func (b *Budget) Renewed() Budget {
	other := *b
	other.steps, other.Stopped = 0, nil
	return other
}

// Spent reports whether a limit was reached, or the context has ended. It is asked at every reference.
func (b *Budget) Spent() bool {
	if b.steps++; b.steps%StepsToLook == 0 || b.Mem.Err != nil {
		b.look()
	}
	return b.Stopped != nil
}

// StepsToLook is the number of steps between two looks at the time.
const StepsToLook = 4096

// look sets Stopped where the walk must stop.
func (b *Budget) look() {
	switch {
	case b.Stopped != nil:
	case b.steps%StepsToLook == 0 && b.Ctx.Err() != nil:
		b.Stopped = b.Ctx.Err()
	case b.steps%StepsToLook == 0 && (ProcessorTime() > b.Until || time.Now().After(b.Deadline)):
		b.Stopped = errTime
	default:
		b.Stopped = b.Mem.Err
	}
}

// OnThread locks a goroutine to its thread until done is called, so that [ProcessorTime] is the goroutine's own.
func OnThread() (done func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// ProcessorTime returns the processor time of this thread. The caller must be locked to it, see [OnThread].
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
	// Elements is the processor time for the contents of arrays, and again for the columns of frames; 1 s each.
	Elements time.Duration
	Unseen   bool          // look for arrays that are none of the blocks, too
	Names    bool          // of [List]: do not look for objects that only modules have
	Watch    []event.Piece // of [List]: objects that may still be there
	// Contents: [List] reads the elements of large arrays as well.
	Contents bool
	// Running are the PyThreadStates of threads that run cells: the result marks objects that their frames hold as
	// [event.Holder.Running].
	Running []uint64
}

// Defaults sets the fields that are 0 to their defaults.
func (l *Limits) Defaults() {
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
	ErrObjects = errors.New("the limit of objects was reached")
	errTime    = errors.New("the limit of time was reached")
)
