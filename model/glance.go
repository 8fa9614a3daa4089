package model

// GlanceSchema is the version of the JSON object that a [Glance] is, in its "schema" field.
const GlanceSchema = "ipytracer/top/v1"

// Glance is a session at one instant while it runs: what each process does, has and takes. Sizes are exact bytes, times nanoseconds.
type Glance struct {
	Schema    string `json:"schema"`
	Host      Host   `json:"host"`
	ElapsedNS int64  `json:"elapsed_ns"` // since the session began; figures are of that instant
	Cells     int    `json:"cells"`      // that have begun
	// Truncated: there are more processes to look at than Kernels lists.
	Truncated bool     `json:"truncated"`
	GPUs      []GPU    `json:"gpus,omitempty"` // that are known so far
	Kernels   []Kernel `json:"kernels"`
	Lacks     Lacks    `json:"lacks"`
	// Own is the memory of the tracer itself; null where it is not known.
	Own *OwnMemory `json:"own"`
	// Slower says what slows the target down more than it might, and what that took so far.
	Slower []string `json:"slower,omitempty"`
}

// Kernel is a process that was attached to, or a Python below it that has run cells.
type Kernel struct {
	PID      int    `json:"pid"`
	Command  string `json:"command"`
	Python   string `json:"python,omitempty"`
	IPython  string `json:"ipython,omitempty"`
	Frontend string `json:"frontend,omitempty"`
	Ended    bool   `json:"ended"`
	// Limit is what bounds its memory first; null where that is not known.
	Limit *Limit `json:"limit"`
	// Meters are its own over its traced life: end is what it has now. Tree is the same with its children, of meters that differ.
	Meters map[string]Figure `json:"meters"`
	Tree   map[string]Figure `json:"tree,omitempty"`
	// Cell is the outermost cell that runs, or that ran last: its figures reach up to now or to its end. Null where there was none.
	Cell    *Window `json:"cell"`
	Running bool    `json:"running"` // Cell does
	// Cells are those that are over: the newest first, and of those before these the heaviest; CellsUnlisted is how many more there were. Nil
	// where nobody asked.
	Cells         []Window `json:"cells,omitempty"`
	CellsUnlisted int      `json:"cells_unlisted,omitempty"`
	// Statement is the one of the cell that runs now.
	Statement *Window `json:"statement,omitempty"`
	// Allocations are who allocated since Growth began, what grew most in front, so many at most that a glance is short.
	Allocations []Allocation        `json:"allocations"`
	Coverage    map[string]Coverage `json:"coverage,omitempty"`
	// While the cell runs they are of this very moment, and may be ahead of figures; Coverage's exact then says that nothing of them was lost.
	// Growth is since when: "cell" (the one above), "mark" or "none" (nothing ran). Of a mark only what is net is told.
	Growth string `json:"growth"`
	// Unlisted is how many have no room in Allocations, and UnlistedNet what they grew by.
	Unlisted    int   `json:"unlisted"`
	UnlistedNet int64 `json:"unlisted_net"`
	// Children are those that live, of the highest resident memory first, 50 at most.
	Children         []Child `json:"children"`
	ChildrenUnlisted int     `json:"children_unlisted"`
	// Variables are the largest by name when they were last looked for, VariablesNS after the session began; both are left out where nobody did.
	Variables   []Variable `json:"variables,omitempty"`
	VariablesNS int64      `json:"variables_ns,omitempty"`
	Names       *Names     `json:"names,omitempty"`
}

// Figures are the figures of all meters of a process, or with its children where that is another.
func (k *Kernel) Figures() map[string]Figure {
	return (&Window{Meters: k.Meters, Tree: k.Tree}).Figures()
}

// OwnMemory is what the tracer itself takes, in bytes.
type OwnMemory struct {
	Resident int64 `json:"resident"` // of the program: VmRSS
	Kernel   int64 `json:"kernel"`   // of the maps that Linux keeps for it
	// Limit is the limit on it of which least is left, LimitBy which one that is (hostile where it names a control group), and Left how much of it is left to
	// all that share it; 0 and "" where there is none.
	Limit   int64  `json:"limit,omitempty"`
	LimitBy string `json:"limit_by,omitempty"`
	Left    int64  `json:"left,omitempty"`
}

// Lacks is what a session that runs has lost, refused or stepped down so far.
type Lacks struct {
	// Reasons say in words what was lost, refused or left out so far; empty where nothing is known to be missing yet.
	Reasons []string `json:"reasons"`
	// SteppedDown are the meters, and what of stacks, that are stepped down just now to keep the budget.
	SteppedDown []string `json:"stepped_down"`
	Made        uint64   `json:"made"`      // changes, up to the last boundary
	Delivered   uint64   `json:"delivered"` // of these
	// UnknownFrees counts frees of memory that was made before the attach, of all kinds.
	UnknownFrees uint64 `json:"unknown_frees"`
}
