package tracer

import (
	"context"
	"log/slog"
	"time"

	"ipytracer/tracer/host/limit"
	"ipytracer/tracer/internal/lines"
)

// Options are what a session can be told. The zero value traces with the default budget.
type Options struct {
	Log     *slog.Logger // nil for silence
	Version string       // of the tracer, for the record
	// Budget is the share of the time that the probes of each root may cost, 0.03 for 3 %; negative for no limit,
	// 0 for the default.
	Budget float64
	// ChangeRing is the size of the change ring in bytes, a power of two; 0 for the default.
	ChangeRing int
	Command    []string // of `tracer run`
	NoStacks   bool     // do not walk up the stack of who allocates
	Holders    bool     // find out at the end who holds the memory that is left
	// Settle has an [event.Settled] handed out in front of the look at what the targets have in the end, unless there
	// is none.
	Settle bool
	// Looking ends that look when it is done: what is not found out by then is left out, and the session's end says so.
	// nil: it ends by itself.
	Looking context.Context
	Native  bool // walk up its native frames, too; without it only those of threads that have no Python frames
	// SmallArrays counts NumPy's blocks of less than 1,024 bytes as well.
	SmallArrays bool
	// Counters has page faults, switches and what the processor counts read with the CPU time.
	Counters bool
	// Limit is how much each process of each target's tree may map.
	Limit limit.Size
	// MayLimit fails for a process that runs as owner and is not to be limited; nil: all may be.
	MayLimit func(pid int, owner uint32) error
	Heap     bool // see every malloc and free, for cpu.heap; see [Session.HeapCost]
	// Owner is the user of the targets: one that is another's, or has rights that this user has not, is refused, and
	// where one gains rights the session ends. nil: whoever they are.
	Owner *uint32
	// Tolerant leaves out targets that have ended before they are traced, as long as one is left.
	Tolerant bool
	// Confine takes from this program, in front of all that looks into a target, what the session does not need
	// ([Remains]). Nothing can be started afterwards, nor can another session. Where the machine cannot, the log says
	// so. nil: nothing is taken, and NVML is not asked.
	Confine *Remains
	// Glances is how often a boundary is drawn at which nothing happens, so that what is open has figures up to then; 0
	// for never.
	Glances time.Duration
	// Companion is told of lines that notebooks make to the tracer; nil: nobody listens.
	Companion Companion
	// Cache is the folder in which what is found out about the code in files is kept for later sessions; empty: it is
	// not kept.
	Cache string

	scansTake time.Duration // of an [adoption.Tree], for tests; 0 for the default
}

// DefaultBudget is the share of the time that probes may cost.
const DefaultBudget = 0.03

// nativeRing is how large the boundary ring is where every thread's native stack is walked: an import of PyTorch has
// thousands of stacks of which the kernel half knows nothing yet, and a machine may be busy.
const nativeRing = 16 << 20

// boundaryRing is the size of the boundary ring in bytes, 0 for the default.
func (o *Options) boundaryRing() int {
	if o.Native {
		return nativeRing
	}
	return 0
}

// Companion is who talks with notebooks.
type Companion = lines.Companion
