package event

// Frees counts, by kind, the frees in a tree of blocks whose allocation the tracer has not seen.
type Frees struct {
	Unknown [UnknownKinds]uint64
	Slack   [UnknownKinds]Bytes // an upper bound of their bytes
}

// RefusedKinds is the number of RefusedKind values. When records are too many, the kernel half refuses statements and
// experiments first, and cells and processes last.
const RefusedKinds = RefusedReadings + 1

// Doubts counts a tree's losses and guesses since its session began, as of a boundary.
type Doubts struct {
	Refused     [RefusedKinds]uint64
	Missing     [MissingKinds]Bytes // largest error of the meters, by kind
	Untraced    uint64              // children that are not traced
	UntracedNow uint64              // untraced children that live or may live
}

// Unprobed says that a place could not be probed or read, so that a meter of a process misses part of its memory.
type Unprobed struct {
	PID   int32
	Meter Meter       // gpu.0 stands for all GPUs
	Since Nanoseconds // 0: from the beginning
	Until Nanoseconds // 0: to the end
	// OfChild: a child of PID misses the memory, not PID itself.
	OfChild bool
}

// Loss counts records that did not reach user space, by reason.
type Loss struct {
	Reason string
	Count  uint64
}

// Reasons of a [Loss] that other packages name.
const (
	LostChanges    = "change ring full"
	LostBoundaries = "boundary store full"
	LostRecords    = "boundary records that a processor had begun and not written in time"
	LostEvents     = "events, at most, that passed every copy of a program of the tracer's while the CPU was within " +
		"it for another thread"
	LostStatements = "beginnings and ends of statements refused: too many at a time"
	LostMarkers    = "beginnings and ends of experiments refused: too many at a time"
	LostReadings   = "readings of other processes and of GPUs refused: too many at a time"
	LostNested     = "cells nested too deep"
	LostThreads    = "too many threads run cells"
	LostProcesses  = "too many processes"
	LostUnseen     = "Pythons whose cells cannot be seen"
	LostSource     = "no room for a cell's source"
	LostCode       = "no room for a code object of a stack"
	LostStack      = "no room for a stack"
	LostNative     = "native frames not known in time"
	LostMapping    = "no room for a call that moves memory"
	LostDevice     = "GPU memory whose device is a guess"
	LostPool       = "memory of CUDA's pools that are not known: on any GPU, or in page-locked memory"
	LostProbes     = "places that could not be probed or read (see the problems)"
	// Fetched: the record found no room in the ring, and was fetched from the store. So nothing is lost.
	Fetched = "boundary ring full (fetched from the store)"
)

// IsOfLines reports whether only texts and lines of allocations are missing, and no memory.
func (l Loss) IsOfLines() bool {
	switch l.Reason {
	case LostSource, LostCode, LostStack, LostNative, LostMapping, LostStatements, LostMarkers:
		return true
	}
	return false
}

// IsOfAttribution reports whether only stacks, names and texts are missing, and no figure and no window.
func (l Loss) IsOfAttribution() bool {
	return l.IsOfLines() && l.Reason != LostStatements && l.Reason != LostMarkers
}

// IsLoss reports whether anything is missing. Records that were fetched from the store are not missing.
func (l Loss) IsLoss() bool { return l.Count > 0 && l.Reason != Fetched }

// refusedReasons has the Reason of the [Loss] that counts the same as [Doubts.Refused], by kind.
var refusedReasons = [RefusedKinds]string{LostStatements, LostMarkers, LostBoundaries, LostReadings}

// Refused returns the kind of refused boundaries that a loss counts; ok is false for other losses.
func (l Loss) Refused() (kind RefusedKind, ok bool) {
	for kind, reason := range refusedReasons {
		if l.Reason == reason {
			return RefusedKind(kind), true
		}
	}
	return 0, false
}
