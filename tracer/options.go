package tracer

import (
	"context"
	"log/slog"
	"time"

	"ipytracer/internal/host/limit"
	"ipytracer/internal/ledger"
)

// Options are the options of a session. The zero value traces with the default budget.
type Options struct {
	Log     *slog.Logger // nil for silence
	Version string       // of the tracer, for the recording
	// Budget is the share of the time that the probes of each root may cost, 0.03 for 3 %; negative for no limit,
	// 0 for the default.
	Budget float64
	// ChangeRing is the size of the change ring in bytes, a power of two; 0 for the default.
	ChangeRing int
	Command    []string // of `tracer run`
	NoStacks   bool     // do not walk the Python stacks of allocations
	Holders    bool     // search at the end for the holders of the remaining memory
	// Settle makes the session emit an [event.Settled] before the look at the targets' objects at the end, if there is
	// one.
	Settle bool
	// Looking is a context for the look at the end. When it is done, the look ends, and the certificate says what is
	// missing. nil: the look ends by itself.
	Looking    context.Context
	PythonOnly bool // walk no native frames, not even those of threads without Python frames
	Native     bool // walk native frames of all threads; if false, only those of threads without Python frames
	// SmallArrays counts NumPy's blocks of less than 1,024 bytes as well.
	SmallArrays bool
	// Counters reads page faults, context switches and the processor's counters with the CPU time.
	Counters bool
	// Copies counts what processes copy of the memory that they share since a fork. It costs each page fault of the
	// machine some 80 ns.
	Copies bool
	// Limit is how much memory each process of each target's tree may map.
	Limit limit.Size
	// MayLimit fails for a process of user owner that must not be limited; nil: all may be.
	MayLimit func(pid int, owner uint32) error
	Heap     bool // record every malloc and free, for cpu.heap; see [Session.HeapCost]
	// HeapProbes has [Launch] see malloc's blocks by probes alone, as [Attach] does. Else the command counts them
	// itself, where it can.
	HeapProbes bool
	// Owner is the user of the targets. A target of another user, or with rights that this user lacks, is refused. If a
	// target gains rights, the session ends. nil: any user.
	Owner *uint32
	// Tolerant leaves out targets that have ended before they are traced, as long as one is left.
	Tolerant bool
	// Confine drops the rights of this program that neither the session nor [Remains] needs, before the session looks
	// into any target. Afterwards the program can start no process and no other session. The log reports what the
	// machine does not support. nil: nothing is dropped, and NVML is not asked.
	Confine *Remains
	// Keep are the capabilities that this program keeps besides those of the session, if the session is one of
	// [Follow]. nil: it keeps all.
	Keep []uint
	// Glances is the interval of boundaries without an event, which keep the figures of open windows current; 0 for
	// none.
	Glances time.Duration
	// Companion is notified of notebooks' connections to the tracer; nil: none is.
	Companion Companion
	// Messenger has messages for companions; nil: there are none.
	Messenger Messenger
	// Cache is the folder in which the analyses of code in files are kept for later sessions; empty: they are not kept.
	Cache string

	heapOffer *heapOffer    // nil unless a command is started that can count malloc's blocks itself
	arrivals  *Arrivals     // nil but for [Follow]
	scansTake time.Duration // duration of the scans of a [tracee.Tree], for tests; 0 for the default
}

// heapPage returns the page in which the command is to count malloc's blocks itself, nil for none.
func (o *Options) heapPage() *ledger.HeapPage {
	if o.heapOffer == nil {
		return nil
	}
	return o.heapOffer.page
}

// defaultBudget is the share of the time that probes may cost.
const defaultBudget = 0.03

// nativeRing is the size of the boundary ring where every thread's native stack is walked: an import of PyTorch has
// thousands of stacks unknown to the kernel half, and a machine may be busy.
const nativeRing = 16 << 20

// boundaryRing returns the size of the boundary ring in bytes, 0 for the default.
func (o *Options) boundaryRing() int {
	if o.Native {
		return nativeRing
	}
	return 0
}
