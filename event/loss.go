package event

// UnknownKind says what was freed, or grew, without having been seen to be made. [UnknownKind.Facts] has what is known of it.
type UnknownKind uint8

// Frees counts what a tree freed that had not been seen to be made, since its session began, by kind.
type Frees struct {
	Unknown [UnknownKinds]uint64
	Slack   [UnknownKinds]Bytes // an upper bound of their bytes
}

// RefusedKind says what boundaries were about that found no room in the kernel.
type RefusedKind uint8

// RefusedKinds is how many there are. A flood of statements or experiments is refused long before cells and processes are.
const RefusedKinds = RefusedReadings + 1

// MissingKind says which meters may be off because something found no room or was guessed.
type MissingKind uint8

// Doubts is what a tree lost or had to guess since its session began, as a boundary tells it.
type Doubts struct {
	Refused     [RefusedKinds]uint64
	Missing     [MissingKinds]Bytes // by how much meters may be off, at most
	Untraced    uint64              // children that were not taken in
	UntracedNow uint64              // of these, those that live or may live
}

// Blind says that something could not be probed or read, so that a meter of a process misses part of its memory.
type Blind struct {
	PID   int32
	Meter Meter       // gpu.0 stands for all GPUs
	Since Nanoseconds // 0: from the beginning
	Until Nanoseconds // 0: to the end
	// OfChild: it is one of PID's children that misses it. What is of PID alone does not.
	OfChild bool
}

// Loss counts what did not reach user space, by reason.
type Loss struct {
	Reason string
	Count  uint64
}

// Reasons of a [Loss] that others ask for.
const (
	LostChanges    = "change ring full"
	LostBoundaries = "boundary store full"
	LostRecords    = "boundary records that a processor had begun and not written in time"
	LostEvents     = "events, at most, that passed every copy of a program of the tracer's while the CPU was within it for another thread"
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
	LostProbes     = "places that could not be probed or read (see the problems)"
	// Fetched is a record that found no room in the ring and was fetched from the store: nothing is lost.
	Fetched = "boundary ring full (fetched from the store)"
)

// IsOfLines says whether only texts and lines are missing: who allocated, and no memory.
func (l Loss) IsOfLines() bool {
	switch l.Reason {
	case LostSource, LostCode, LostStack, LostNative, LostMapping, LostStatements, LostMarkers:
		return true
	}
	return false
}

// IsOfAttribution says whether only who allocated, names and texts are missing: no figure, and no window.
func (l Loss) IsOfAttribution() bool {
	return l.IsOfLines() && l.Reason != LostStatements && l.Reason != LostMarkers
}

// IsLoss says whether anything is missing: not of what came another way.
func (l Loss) IsLoss() bool { return l.Count > 0 && l.Reason != Fetched }

// refusedReasons are the reasons that count the same as [Doubts.Refused].
var refusedReasons = [RefusedKinds]string{LostStatements, LostMarkers, LostBoundaries, LostReadings}

// Refused is the kind of boundaries that a loss counts.
func (l Loss) Refused() (kind RefusedKind, ok bool) {
	for kind, reason := range refusedReasons {
		if l.Reason == reason {
			return RefusedKind(kind), true
		}
	}
	return 0, false
}
