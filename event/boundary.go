package event

var boundaryNames = [...]string{
	"none", "attached", "detached", "cell-open", "cell-close", "statement-open", "statement-close",
	"experiment-begin", "experiment-end", "process-start", "process-exec", "process-exit", "meter-shed", "meter-back",
	"cell-result",
	"meter-settled", "line", "asked",
}

// String returns the name a recording uses for the kind, such as "cell-open".
func (k BoundaryKind) String() string {
	if int(k) < len(boundaryNames) {
		return boundaryNames[k]
	}
	return "unknown"
}

// ParseBoundaryKind inverts [BoundaryKind.String]; ok is false for an unknown name.
func ParseBoundaryKind(name string) (kind BoundaryKind, ok bool) {
	for i, n := range boundaryNames {
		if n == name {
			return BoundaryKind(i), true
		}
	}
	return BoundaryNone, false
}

// InputsElsewhere is the [Boundary.Inputs] of a cell whose shell has an In of its own, while the tracer knows another
// In (IPython.embed()).
const InputsElsewhere = -2

// Boundary is one instant at which a window opened or closed, or the set of processes changed.
type Boundary struct {
	Number uint64 // 1, 2, 3 … over all roots, without gaps
	Time   Nanoseconds
	Kind   BoundaryKind
	Root   uint32 // the attached process, the root of the tree, numbered from 0
	PID    int32  // the process that acted, as the tracer's pid namespace numbers it
	TID    int32
	Parent int32 // ProcessStart: the pid that forked

	Cell    uint64 // the kernel's number of the cell window; 0 for no cell
	Outer   uint64 // CellOpen: the cell in which this one is nested, or 0
	Segment uint64 // the segment of Root that ends here
	Stream  uint64 // number of the changes of Root up to here, delivered or lost
	// CellOpen: len(In), -1 if it is not known, or [InputsElsewhere]. With Late it is one more than the cell's number,
	// or -1.
	Inputs   int64
	Late     bool  // CellOpen, ProcessStart: the cell, or the process, was there already when the tracer attached
	Group    Group // MeterShed, MeterBack: the probes that were stepped down, or attached again
	Line     int32 // StatementOpen: line in the cell, from 1; 0 if not known
	Outcome  Outcome
	CPUTime  Nanoseconds         // of all threads of the process until then; 0 if not known
	Counters Counters            // counts until then, where the session asks for counters
	Frees                        // frees in Root's tree, so far, of blocks that the tracer has not seen allocated
	Unsure   [UnknownKinds]Bytes // error bounds of meters in Root's tree, since they were stepped down
	Doubts                       // losses and guesses in Root's tree, so far
	Value    Readings            // of PID, at this instant
	High     Readings            // of PID, maximum since the boundary before
	Tree     Readings            // of Root's tree, now; memory that a fork shares counts once
	TreeHigh Readings            // of Root's tree, maximum since the boundary before

	// Texts of one kind of boundary each. They are hostile, like everything from a target.
	File       string // CellOpen: the cell's file name
	Exception  string // CellResult, and CellClose with OutcomeError: the exception's type, "" if it is not known
	Experiment string // ExperimentBegin, ExperimentEnd: the experiment's name
	Command    string // ProcessStart, ProcessExec: the command line
	Descriptor string // Line: the number of the companion's descriptor, and its text about that descriptor
	// Probes is the name of a [Group] that a recording has and this tracer does not know: [OtherProbes].
	Probes string
}

// Text returns the field for the text of the boundary's kind; nil if the kind has none, or a [Group] instead.
func (b *Boundary) Text() *string {
	switch b.Kind {
	case CellOpen:
		return &b.File
	case CellResult, CellClose:
		return &b.Exception
	case ExperimentBegin, ExperimentEnd:
		return &b.Experiment
	case Attached, ProcessStart, ProcessExec:
		return &b.Command
	case Line:
		return &b.Descriptor
	}
	return nil
}

// Reading has the meters of another process of the same tree at a boundary, if they moved in the segment.
type Reading struct {
	Number uint64 // of its boundary, which it follows; events of other CPUs may stand between them
	Root   uint32
	PID    int32
	// Since is the first segment that High covers. The process may have drawn a boundary of its own meanwhile. Such a
	// boundary ended the segment before it, though its turn was later. 0: not known (recordings until 2026), and Root
	// is the boundary's.
	Since uint64
	Value Readings
	High  Readings
}

func (*Boundary) isEvent() {}
func (*Reading) isEvent()  {}
