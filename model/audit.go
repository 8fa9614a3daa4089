package model

// AuditSchema is the version of the JSON object that [AuditJSON] writes, in its "schema" field.
const AuditSchema = "ipytracer/audit/v1"

// Audit is what an audit found to stay behind.
type Audit struct {
	Schema    string         `json:"schema"`
	Host      Host           `json:"host"`
	Processes []AuditProcess `json:"processes"`
	// Cells that ran, and how long the session was.
	Cells      int   `json:"cells"`
	DurationNS int64 `json:"duration_ns"`
	// Least is how many bytes a verdict has at least.
	Least    int64     `json:"least"`
	Verdicts []Verdict `json:"verdicts"` // most bytes first
	// GPUNotes are as in [Report].
	GPUNotes []GPUNote    `json:"gpu_notes,omitempty"`
	Held     []Held       `json:"held"` // most bytes first
	Live     []LiveBlocks `json:"live"` // most bytes first, 1,000 at most
	// Variables are what processes have by name at the end, as in [Report].
	Variables []Variable `json:"variables,omitempty"`
	Names     []Names    `json:"names,omitempty"`
	ToFree    []Freeing  `json:"to_free,omitempty"`
	// Resident is where the resident memory of each process is at the end.
	Resident []Resident `json:"resident,omitempty"`
	// Complete: nothing was left unjudged.
	Complete  bool        `json:"complete"`
	NotJudged []NotJudged `json:"not_judged"`
}

// AuditProcess is one audited process.
type AuditProcess struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	Python  string `json:"python,omitempty"`
	IPython string `json:"ipython,omitempty"`
	// Notebook and Kernel are as in [Process].
	Notebook string `json:"notebook,omitempty"`
	Kernel   string `json:"kernel,omitempty"`
	Ended    bool   `json:"ended"`
	// Ending is how it ended; null while it runs, and where nobody said.
	Ending *Ending `json:"ending,omitempty"`
	// Late: it ran before the audit began; what it had made by then is not known.
	Late bool `json:"late"`
	// Objects is how many of its Python objects were looked at in the end; 0 if none were.
	Objects int64 `json:"objects"`
}

// Kinds of verdict.
const (
	RerunGrowth     = "rerun-growth"
	HeldAfterWindow = "held-after-window"
	HeldByTraceback = "held-by-traceback"
	HeldByOutput    = "held-by-output"
	Fragmentation   = "fragmentation"
	ChildAlive      = "child-alive"
	FreedLate       = "freed-late"
	NeverFreed      = "never-freed"
	IdlePool        = "idle-pool" // workers that wait for the next task: meant to stay for a while
	HeldByView      = "held-by-view"
	Waits           = "waits-for-collector" // garbage: no leak
)

// Verdict is memory that should not be there, or should have gone earlier.
type Verdict struct {
	Kind  string `json:"kind"`
	Meter string `json:"meter"`
	PID   int    `json:"pid"`
	// Kernel is the name of the kernel whose cells these are, where the session has several.
	Kernel string `json:"kernel,omitempty"`
	Bytes  int64  `json:"bytes"`
	Count  int64  `json:"count"` // blocks; children of [ChildAlive]; times of [Fragmentation]
	// Executions are the runs of cells that it comes from, as [Window.Execution]; ExecutionCounts are their In[N], 0 where there is none.
	Executions      []int `json:"executions"`
	ExecutionCounts []int `json:"execution_counts"`
	// Stack is who made it, innermost call first; calls that differ are left out. Empty where it is not known.
	Stack []Frame `json:"stack"`
	AgeNS int64   `json:"age_ns"` // of the oldest, at the end
	// Holder is the way to the largest block: "cache['train'][3]". "" where nobody was asked or there is none.
	Holder string `json:"holder,omitempty"`
	// Probable: Holder may be wrong. An object on the way is of a type made in C whose layout is not known.
	Probable bool `json:"probable,omitempty"`
	// Command is the command line of a process that never ended.
	Command string `json:"command,omitempty"`
	// Growth is set for [RerunGrowth].
	Growth *Growth `json:"growth,omitempty"`
	// Change is the cell that must change, nil where that is not known.
	Change   *Place `json:"change"`
	Evidence string `json:"evidence"`
	Advice   string `json:"advice"`
	// Fix is what to type into a cell of the kernel to free what is there now; "" where no code does.
	Fix string `json:"fix,omitempty"`
	// PIDs are the processes of [ChildAlive] and [IdlePool], as the tracer numbers them.
	PIDs []int `json:"pids,omitempty"`
	// View is set for [HeldByView].
	View *View `json:"view,omitempty"`
}

// IsLeak reports whether a verdict is about memory that stays unless somebody does something: garbage goes when the collector comes, and idle workers
// when their pool ends.
func (v *Verdict) IsLeak() bool { return v.Kind != IdlePool && v.Kind != Waits }

// View is memory that only views of it hold.
type View struct {
	// Names are how the views are reached, all of which must go; 8 at most.
	Names []string `json:"names"`
	// Bytes are the bytes that they use of Base, which is what the memory has.
	Bytes int64 `json:"bytes"`
	Base  int64 `json:"base"`
	// Returns is by how much the meter falls if the views are replaced by copies.
	Returns int64 `json:"returns"`
	// Type is the type of the object that the memory belongs to.
	Type string `json:"type"`
}

// Place is a line of a run of a cell.
type Place struct {
	Execution int `json:"execution"`
	// ExecutionCount is In[N], 0 where there is none.
	ExecutionCount int `json:"execution_count"`
	Line           int `json:"line"` // 0 if it is not known
}

// Growth is a fit over the runs of a cell: what each left behind, in bytes.
type Growth struct {
	Runs  int   `json:"runs"`
	Slope int64 `json:"slope"`
	// Low and High are the bounds of Slope with 95 % confidence (Student's t over the runs).
	Low  int64 `json:"low"`
	High int64 `json:"high"`
}

// Held is memory that is still there, by what holds it: no verdict, an account.
type Held struct {
	PID    int    `json:"pid"`
	Meter  string `json:"meter"`
	By     string `json:"by"`     // "variable", "output", "traceback", "thread", "module", "cycle", "none", or "unknown"
	Holder string `json:"holder"` // the name at the beginning of the way
	Bytes  int64  `json:"bytes"`
	Count  int64  `json:"count"`
}

// LiveBlocks are blocks that are still there, by who made them and what holds them.
type LiveBlocks struct {
	PID    int     `json:"pid"`
	Kernel string  `json:"kernel,omitempty"` // as in [Verdict]
	Meter  string  `json:"meter"`
	Stack  []Frame `json:"stack"`            // innermost first; empty where it is not known
	By     string  `json:"by"`               // as in [Held]
	Holder string  `json:"holder,omitempty"` // the way to the largest
	Bytes  int64   `json:"bytes"`
	Count  int64   `json:"count"`
	// Executions are the runs of cells that made them, the first says since when; none where no cell ran.
	Executions      []int `json:"executions"`
	ExecutionCounts []int `json:"execution_counts"`
	AgeNS           int64 `json:"age_ns"` // of the oldest, at the end
}

// ByMeter is how many bytes the verdicts of each meter add up to, as far as they are leaks.
func (a *Audit) ByMeter() map[string]int64 {
	sums := map[string]int64{}
	for _, v := range a.Verdicts {
		if !v.IsLeak() {
			continue
		}
		sums[v.Meter] += v.Bytes
	}
	return sums
}
