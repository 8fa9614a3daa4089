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
	// Meters are the process's own figures over its traced life: End is the present value. Tree has the figures with
	// the process's children, for meters where these differ.
	Meters map[string]Figure `json:"meters"`
	Tree   map[string]Figure `json:"tree,omitempty"`
	// Cell is the outermost cell that runs, or that ran last. Its figures reach up to now, or to the cell's end. It is
	// null if no cell has run.
	Cell    *Window `json:"cell"`
	Running bool    `json:"running"` // Cell runs now
	// Cells are finished cells: the newest first, then the heaviest of the older ones. CellsUnlisted is the number of
	// other finished cells. Cells is nil if not requested.
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
	// Unlisted is the number of stacks for which Allocations has no room. UnlistedNet is the growth of these stacks.
	Unlisted    int   `json:"unlisted"`
	UnlistedNet int64 `json:"unlisted_net"`
	// Children are the living children, 50 at most. Those with the highest resident memory come first.
	Children         []Child `json:"children"`
	ChildrenUnlisted int     `json:"children_unlisted"`
	// Variables are the largest names at the last look. The look was VariablesNS after the session began. Both are left
	// out if there was no look.
	Variables   []Variable `json:"variables,omitempty"`
	VariablesNS int64      `json:"variables_ns,omitempty"`
	Names       *Names     `json:"names,omitempty"`
}

// Figures returns the figures of all meters of a process. Where the figures with its children differ, it returns those.
func (k *Kernel) Figures() map[string]Figure {
	return (&Window{Meters: k.Meters, Tree: k.Tree}).Figures()
}

// OwnMemory is the memory of the tracer itself, in bytes.
type OwnMemory struct {
	Resident int64 `json:"resident"` // of the program: VmRSS
	Kernel   int64 `json:"kernel"`   // of the maps that Linux keeps for the tracer
	// ^Limit is the limit of this memory under which the least is left. LimitBy is the limit's origin (hostile where it
	// names a control group). Left is how many bytes are left to all that share the limit. 0 and "" stand for none.
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
