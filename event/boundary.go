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

// InputsElsewhere is the [Boundary.Inputs] of a cell that ran in another shell than the one whose In the tracer reads,
// as with IPython.embed().
const InputsElsewhere = -2

// Boundary is one instant at which a window opened or closed, or the set of processes changed.
type Boundary struct {
	Number uint64 // counts the boundaries of all roots from 1, without gaps
	Time   Nanoseconds
	Kind   BoundaryKind
	Root   uint32 // the attached process, the root of the tree, numbered from 0
	PID    int32  // the process that acted, as the tracer's pid namespace numbers it
	TID    int32
	Parent int32 // ProcessStart: the pid that forked

	Cell    uint64 // the kernel's number of the cell window; 0 for no cell
	Outer   uint64 // CellOpen: the cell in which this one is nested, or 0
	Segment uint64 // the segment of Root that ends here
	Stream  uint64 // how many changes of Root came before, delivered or lost
	// Inputs is len(In) at CellOpen; -1 if it is not known, or [InputsElsewhere]. With Late it is one more than the
	// cell's number, or -1.
	Inputs   int64
	Late     bool  // CellOpen, ProcessStart: the cell, or the process, was there already when the tracer attached
	Group    Group // MeterShed, MeterBack: the probes that were taken out, or put back
	Line     int32 // StatementOpen: line in the cell, from 1; 0 if not known
	Outcome  Outcome
	CPUTime  Nanoseconds         // of all threads of the process up to now; 0 if not known
	Counters Counters            // counts of PID up to now, if the session asks for counters
	Frees                        // frees in Root's tree, so far, of blocks that the tracer has not seen allocated
	Unsure   [UnknownKinds]Bytes // error bounds of the tree's meters, from the pauses of their probes
	Doubts                       // losses and guesses in Root's tree, so far
	Value    Readings            // of PID, at this instant
	High     Readings            // of PID, maximum since the previous boundary
	Tree     Readings            // of Root's tree, at this instant; memory that a fork shares counts once
	TreeHigh Readings            // of Root's tree, maximum since the previous boundary

	Container Container // of PID
	Swapped   Bytes     // of PID, in swap at this instant; not at ProcessExit

	// Each of these texts belongs to some kinds of boundary. They are hostile, like everything from a target.
	File       string // CellOpen: the cell's file name
	Exception  string // CellResult, and CellClose with OutcomeError: the exception's type, "" if it is not known
	Experiment string // ExperimentBegin, ExperimentEnd: the experiment's name
	Command    string // ProcessStart, ProcessExec: the command line
	Descriptor string // Line: the number of the companion's descriptor, and its text about that descriptor
	// Probes names the group of probes if Group is [OtherProbes]: the recording's tracer knows the group, this one does
	// not.
	Probes string
}

// Text returns the field with the text of the boundary's kind. It returns nil for kinds without a text, and for kinds
// with a [Group].
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

// Reading has the meters of a process other than the one that drew the boundary, if they changed in the segment. The
// process is of the same tree.
type Reading struct {
	Number uint64 // of the boundary, which comes before the Reading; other events may come in between
	Root   uint32
	PID    int32
	// Since is the first segment that High covers. It is earlier than the boundary's segment if the process drew a
	// boundary of its own in between. 0 means not known (recordings until 2026); Root is then the boundary's.
	Since uint64
	Value Readings
	High  Readings
}

func (*Boundary) isEvent() {}
func (*Reading) isEvent()  {}

// Container has the memory of a process's container at an instant: all that Linux charges to a memory cgroup, that is
// memory of its processes, pages of files that they read, tmpfs, and Linux's own memory for them. Of the process's
// cgroup and those around it, it is the one with the least limit; without a limit, the process's own.
type Container struct {
	Number  uint64 // of the cgroup's folder; 0: nothing is known
	Usage   Bytes
	Highest Bytes // the highest Usage since the cgroup was made
	Limit   Bytes // 0: none
	Seen    Bytes // the highest Usage at which the process gave memory back, since its last boundary; 0: none
	// Local is the highest use since somebody last wrote to memory.peak; 0: not known.
	Local Bytes
	// Resets says how often somebody wrote to it, plus 1; 0: Local is not known, or somebody writes to it now.
	Resets uint32
	Parts  ContainerParts
}

// ContainerParts divides the memory of a container, a moment after the boundary.
type ContainerParts struct {
	Known  bool
	Anon   Bytes // anonymous memory: Linux cannot drop it
	File   Bytes // pages of files, without Shmem: Linux can drop those that are written back
	Shmem  Bytes // tmpfs and shared memory
	Kernel Bytes // of Linux itself
}

// ContainerBatch is the number of pages that Linux charges to a cgroup in advance, for each CPU (MEMCG_CHARGE_BATCH).
const ContainerBatch = 64
