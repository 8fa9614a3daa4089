package model

// GlanceSchema is the version of the JSON object of a [Glance], in its "schema" field.
const GlanceSchema = "ipytracer/top/v1"

// Glance is a running session at one instant: the activity, state and memory of each process. Sizes are exact bytes,
// times nanoseconds.
type Glance struct {
	Schema    string `json:"schema"`
	Host      Host   `json:"host"`
	ElapsedNS int64  `json:"elapsed_ns"` // since the session began; the figures belong to that instant
	Cells     int    `json:"cells"`      // begun so far
	// Truncated: there are more processes than Kernels lists.
	Truncated bool     `json:"truncated"`
	GPUs      []GPU    `json:"gpus,omitempty"` // known so far
	Kernels   []Kernel `json:"kernels"`
	Lacks     Lacks    `json:"lacks"`
	// Own is the memory of the tracer itself; null if not known.
	Own *OwnMemory `json:"own"`
	// Slower lists avoidable costs to the target, and their time so far.
	Slower []string `json:"slower,omitempty"`
}

// Kernel is an attached process, or a Python below it that has run cells.
type Kernel struct {
	PID      int    `json:"pid"`
	Command  string `json:"command"`
	Python   string `json:"python,omitempty"`
	IPython  string `json:"ipython,omitempty"`
	Frontend string `json:"frontend,omitempty"`
	Ended    bool   `json:"ended"`
	// Limit is the tightest bound on its memory; null if not known.
	Limit *Limit `json:"limit"`
	// Meters are its own over its traced life: End is the present value. Tree is the same with its children, for meters
	// that differ.
	Meters map[string]Figure `json:"meters"`
	Tree   map[string]Figure `json:"tree,omitempty"`
	// Cell is the outermost cell that runs, or that ran last: its figures reach up to now or to its end. Null without
	// cells.
	Cell    *Window `json:"cell"`
	Running bool    `json:"running"` // Cell runs now
	// Cells are finished cells: the newest first, and of the older ones the heaviest. CellsUnlisted is the number of
	// the others. Nil if not requested.
	Cells         []Window `json:"cells,omitempty"`
	CellsUnlisted int      `json:"cells_unlisted,omitempty"`
	// Statement is the statement of the cell that is running.
	Statement *Window `json:"statement,omitempty"`
	// Allocations are the stacks that allocated since Growth began, the largest growth first. Their number is bounded,
	// to keep a glance short.
	Allocations []Allocation        `json:"allocations"`
	Coverage    map[string]Coverage `json:"coverage,omitempty"`
	// While the cell runs they are current, and may be newer than the figures; Coverage's Exact then says that none
	// were lost. Growth is their beginning: "cell" (the one above), "mark" or "none" (nothing ran). Since a mark only
	// net growth is known.
	Growth string `json:"growth"`
	// Unlisted is the number of stacks without room in Allocations, and UnlistedNet their growth.
	Unlisted    int   `json:"unlisted"`
	UnlistedNet int64 `json:"unlisted_net"`
	// Children are the living ones, the highest resident memory first, 50 at most.
	Children         []Child `json:"children"`
	ChildrenUnlisted int     `json:"children_unlisted"`
	// Variables are the largest names at the last look, VariablesNS after the session began; both are left out without
	// a look.
	Variables   []Variable `json:"variables,omitempty"`
	VariablesNS int64      `json:"variables_ns,omitempty"`
	Names       *Names     `json:"names,omitempty"`
}

// Figures returns the figures of all meters of a process, or with its children where those differ.
func (k *Kernel) Figures() map[string]Figure {
	return (&Window{Meters: k.Meters, Tree: k.Tree}).Figures()
}

// OwnMemory is the memory of the tracer itself, in bytes.
type OwnMemory struct {
	Resident int64 `json:"resident"` // of the program: VmRSS
	Kernel   int64 `json:"kernel"`   // of the maps that Linux keeps for it
	// ^Limit is the limit on it with the least left, LimitBy its origin (hostile where it names a control group), and
	// Left the bytes left to all that share it; 0 and "" for none.
	Limit   int64  `json:"limit,omitempty"`
	LimitBy string `json:"limit_by,omitempty"`
	Left    int64  `json:"left,omitempty"`
}

// Lacks lists everything that a running session has lost, refused or stepped down so far.
type Lacks struct {
	// Reasons describe the records that were lost, refused or left out so far; empty if none is known to be missing
	// yet.
	Reasons []string `json:"reasons"`
	// SteppedDown are the meters, and kinds of stacks, that are now stepped down to keep the budget.
	SteppedDown []string `json:"stepped_down"`
	Made        uint64   `json:"made"`      // changes, up to the last boundary
	Delivered   uint64   `json:"delivered"` // of these
	// UnknownFrees counts frees of memory that was allocated before the attach, of all kinds.
	UnknownFrees uint64 `json:"unknown_frees"`
}
