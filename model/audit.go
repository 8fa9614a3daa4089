package model

// AuditSchema is the version of the JSON object that [AuditJSON] writes, in its "schema" field.
const AuditSchema = "ipytracer/audit/v1"

// Audit lists memory that stays although it is no longer needed.
type Audit struct {
	Schema    string         `json:"schema"`
	Host      Host           `json:"host"`
	Processes []AuditProcess `json:"processes"`
	// Cells is the number of cells that ran, DurationNS the length of the session.
	Cells      int   `json:"cells"`
	DurationNS int64 `json:"duration_ns"`
	// Least is the size of the smallest verdict, in bytes.
	Least    int64     `json:"least"`
	Verdicts []Verdict `json:"verdicts"` // most bytes first
	// GPUNotes are as in [Report].
	GPUNotes []GPUNote    `json:"gpu_notes,omitempty"`
	Held     []Held       `json:"held"` // most bytes first
	Live     []LiveBlocks `json:"live"` // most bytes first, 1,000 at most
	// Variables are the names of processes and their memory at the end, as in [Report].
	Variables []Variable `json:"variables,omitempty"`
	Names     []Names    `json:"names,omitempty"`
	ToFree    []Freeing  `json:"to_free,omitempty"`
	// Resident divides the resident memory of each process at the end.
	Resident []Resident `json:"resident,omitempty"`
	// Complete: everything was judged.
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
	// Ending says how the process ended; null while it runs, and if its end is not known.
	Ending *Ending `json:"ending,omitempty"`
	// Late: the process was running before the audit began. Memory that it allocated before is not known.
	Late bool `json:"late"`
	// Objects is the number of the process's Python objects that the last look read; 0 without a look.
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
	LostInCycle     = "lost-in-cycle"       // a cycle that the collector does not see
)

// Verdict is memory that should have been freed, or should have been freed earlier.
type Verdict struct {
	Kind  string `json:"kind"`
	Meter string `json:"meter"`
	PID   int    `json:"pid"`
	// Kernel is the name of these cells' kernel, if the session has several.
	Kernel string `json:"kernel,omitempty"`
	Bytes  int64  `json:"bytes"`
	Count  int64  `json:"count"` // blocks; children of [ChildAlive]; events of [Fragmentation]
	// Executions are the runs of cells that allocated the memory, by [Window.Execution]. ExecutionCounts has the N of
	// In[N] for each of these runs; 0 for a run without In[N].
	Executions      []int `json:"executions"`
	ExecutionCounts []int `json:"execution_counts"`
	// Stack has the calls that allocated the memory, the innermost first. It leaves out calls in which the allocations
	// differ. It is empty if the calls are not known.
	Stack []Frame `json:"stack"`
	AgeNS int64   `json:"age_ns"` // of the oldest, at the end
	// Holder is the path to the largest block: "cache['train'][3]"; "" without a look, or without a path.
	Holder string `json:"holder,omitempty"`
	// Probable: Holder may be wrong. The path leads through an object of a type made in C with an unknown layout.
	Probable bool `json:"probable,omitempty"`
	// Command is the command line of a process that never ended.
	Command string `json:"command,omitempty"`
	// Growth is set for [RerunGrowth].
	Growth *Growth `json:"growth,omitempty"`
	// Change is the cell that must be changed; nil if it is not known.
	Change   *Place `json:"change"`
	Evidence string `json:"evidence"`
	Advice   string `json:"advice"`
	// Fix is code for a cell of the kernel that frees the present memory; "" if no code does.
	Fix string `json:"fix,omitempty"`
	// PIDs are the processes of [ChildAlive] and [IdlePool], by the tracer's numbers.
	PIDs []int `json:"pids,omitempty"`
	// View is set for [HeldByView].
	View *View `json:"view,omitempty"`
}

// IsLeak reports whether a verdict is about memory that stays until the user frees it. Garbage is freed by the next
// collection, and the memory of idle workers with their pool.
func (v *Verdict) IsLeak() bool { return v.Kind != IdlePool && v.Kind != Waits }

// View is memory that only views hold.
type View struct {
	// Names are the paths to the views, at most 8. The memory is freed only if all of the views are replaced.
	Names []string `json:"names"`
	// Bytes are the bytes that the views use; Base is the size of the memory.
	Bytes int64 `json:"bytes"`
	Base  int64 `json:"base"`
	// Returns is the fall of the meter if copies replace the views.
	Returns int64 `json:"returns"`
	// Type is the type of the object that the memory belongs to.
	Type string `json:"type"`
}

// Growth is a linear fit over the runs of a cell. Its slope is the number of bytes that each run leaves.
type Growth struct {
	Runs  int   `json:"runs"`
	Slope int64 `json:"slope"`
	// Low and High are the bounds of Slope with 95 % confidence (Student's t over the runs).
	Low  int64 `json:"low"`
	High int64 `json:"high"`
}

// Held is memory that still lives at the end, by its holder. It is no verdict.
type Held struct {
	PID   int    `json:"pid"`
	Meter string `json:"meter"`
	// "variable", "output", "traceback", "thread", "module", "cycle", "none", or "unknown"
	By     string `json:"by"`
	Holder string `json:"holder"` // the name at the beginning of the path
	Bytes  int64  `json:"bytes"`
	Count  int64  `json:"count"`
}

// LiveBlocks are blocks that still live at the end, by the stack that allocated them and by their holder.
type LiveBlocks struct {
	PID    int     `json:"pid"`
	Kernel string  `json:"kernel,omitempty"` // as in [Verdict]
	Meter  string  `json:"meter"`
	Stack  []Frame `json:"stack"`            // innermost call first; empty if not known
	By     string  `json:"by"`               // as in [Held]
	Holder string  `json:"holder,omitempty"` // the path to the largest
	Bytes  int64   `json:"bytes"`
	Count  int64   `json:"count"`
	// Executions are the runs of cells that allocated them, the oldest first; none if no cell ran.
	Executions      []int `json:"executions"`
	ExecutionCounts []int `json:"execution_counts"`
	AgeNS           int64 `json:"age_ns"` // of the oldest, at the end
}

// ByMeter returns the sum of the bytes of all verdicts that are leaks, for each meter.
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

// Reasons why an audit could not judge a part of the memory.
const (
	SteppedDown    = "stepped-down"    // probes were out for a while to keep the overhead budget
	NoBlocks       = "no-blocks"       // no probe reports the meter's blocks here
	ChangesLost    = "changes-lost"    // the ring was full
	RecordsLost    = "records-lost"    // other records were lost, refused or guessed
	TooMany        = "too-many"        // there were more blocks than an audit keeps
	ProcessEnded   = "process-ended"   // its objects could not be read any more
	ObjectsUnread  = "objects-unread"  // some or all of its objects were not looked at
	MadeBefore     = "made-before"     // it was there when the audit began
	NotExplained   = "not-explained"   // resident memory that no meter has
	CellRuns       = "cell-runs"       // a running cell allocated it, or holds it
	TracingProblem = "tracing-problem" // an error while tracing
)

// NotJudged is memory that an audit could not judge. No leak is known in it, and none can be excluded.
type NotJudged struct {
	Reason string `json:"reason"`
	Meter  string `json:"meter"` // "" for all
	PID    int    `json:"pid"`   // 0 for all
	// Bytes is an upper bound of the memory, nil if there is none.
	Bytes  *int64 `json:"bytes"`
	Why    string `json:"why"`
	Advice string `json:"advice"`
}

// CanExceed reports whether the verdicts of a meter could exceed limit, in bytes, if the memory that was not judged
// counted with them.
func (a *Audit) CanExceed(limit int64) bool {
	sums := a.ByMeter()
	least := int64(0)
	for _, sum := range sums {
		least = max(least, sum)
	}
	for _, n := range a.NotJudged {
		sum := least
		if n.Meter != "" {
			sum = sums[n.Meter]
		}
		if n.Bytes == nil || sum+*n.Bytes > limit {
			return true
		}
	}
	return false
}
