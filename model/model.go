// Package model is the result of a session, in the form for all printers: windows, figures, verdicts, the certificate.
// Its JSON is public. It has types, and methods that derive simple facts from them. Package attribution computes them,
// and package report shows them.
package model

import (
	"iter"
	"maps"
	"slices"
)

// Schema is the version of the JSON object, in its "schema" field.
const Schema = "ipytracer/report/v1"

// Report is the whole result of a session. Sizes are exact bytes, times nanoseconds.
type Report struct {
	Schema string `json:"schema"`
	Host   Host   `json:"host"`
	GPUs   []GPU  `json:"gpus,omitempty"`
	// GPUNotes are facts to know before reading the figures of GPUs, the largest block first.
	GPUNotes  []GPUNote `json:"gpu_notes,omitempty"`
	Processes []Process `json:"processes"`
	Meters    []Meter   `json:"meters"`
	// Windows are in the order they began, unless Stream has them; see [Report.All].
	Windows []Window `json:"windows"`
	// Stream yields the windows one at a time, anew at each call, for a printer that keeps only one; nil if Windows has
	// them.
	Stream iter.Seq[*Window] `json:"-"`
	// Passing yields those of the same windows that a Pick selects, for a printer that is done with one when it asks
	// for the next: their maps are used again. It makes no other window. Passing is nil if Stream is nil.
	Passing func(Pick) iter.Seq[*Window] `json:"-"`
	// MeterIDs are all meters in the figures of Stream.
	MeterIDs []string `json:"-"`
	// Counted: a window of Stream has counters.
	Counted bool `json:"-"`
	// Detail adds the allocations to a window from Stream; nil if Windows has those, too.
	Detail func(*Window) `json:"-"`
	// Find makes one window of Stream again, without allocations.
	Find func(id int) (Window, bool) `json:"-"`
	// Since makes the windows of Stream again, from a given id on; nil if Find is nil.
	Since func(id int) iter.Seq[*Window] `json:"-"`
	// Between are in the order they began, unless StreamBetween has them; see [Report.AllBetween].
	Between       []Between          `json:"between"`
	StreamBetween iter.Seq[*Between] `json:"-"`
	// PassingBetween is to StreamBetween as Passing is to Stream.
	PassingBetween iter.Seq[*Between] `json:"-"`
	// Timeline has the course of the meters over time, unless StreamTimeline makes it; see [Report.AllTimeline].
	Timeline       []Track          `json:"timeline"`
	StreamTimeline iter.Seq[*Track] `json:"-"`
	// Levels are upper limits of meters in the timeline.
	Levels []Level `json:"levels,omitempty"`
	// Lines have, for each line of code that allocated in the session, its own memory and that of the calls below it.
	// The largest at the session's peak comes first, 3,000 at most.
	Lines []Line `json:"lines,omitempty"`
	// Copied is what processes have copied of memory that they shared since a fork, by who made it; most bytes first.
	Copied []Copied `json:"copied,omitempty"`
	// Tensors are PyTorch's blocks that lived at the end, most bytes first, 1,000 groups at most.
	Tensors []Tensors `json:"tensors,omitempty"`
	// Variables are the names of each process at the end, the largest first by held or reached memory, 1,000 for each
	// process at most.
	Variables []Variable `json:"variables,omitempty"`
	Names     []Names    `json:"names,omitempty"`
	// ToFree is code that frees the memory of names, the largest first for each process.
	ToFree []Freeing `json:"to_free,omitempty"`
	// Resident divides the resident memory of each process at the end.
	Resident []Resident `json:"resident,omitempty"`
	// Summits are the highest moments of the meters by which cells are ranked.
	Summits []Summit `json:"summits,omitempty"`
	// Accounts divide the memory at the highest moment. Printers fill them in.
	Accounts []Account `json:"accounts,omitempty"`
	// Advice lists changes that would lower the highest moment; nil without. It is a document of its own in JSON.
	Advice      *Advice     `json:"-"`
	Certificate Certificate `json:"certificate"`
}

// All iterates over the windows, in the order in which they began. Callers must not change them.
func (r *Report) All() iter.Seq[*Window] {
	return streamed(r.Stream, r.Windows)
}

// AllPassing is All for a caller that is done with a window when it asks for the next.
func (r *Report) AllPassing() iter.Seq[*Window] {
	return r.Picked(func(string, int, int) bool { return true })
}

// Pick reports whether a caller needs a window, by the window's kind, its id and that of its parent.
type Pick func(kind string, id, parent int) bool

// Picked is AllPassing for a caller that needs only some windows. It calls pick once for each window, in their order,
// when the caller is done with the windows before.
func (r *Report) Picked(pick Pick) iter.Seq[*Window] {
	if r.Passing != nil {
		return r.Passing(pick)
	}
	return func(yield func(*Window) bool) {
		for w := range r.All() {
			if pick(w.Kind, w.ID, w.Parent) && !yield(w) {
				return
			}
		}
	}
}

// IsCell picks the cells.
func IsCell(kind string, _, _ int) bool { return kind == Cell }

// AllBetween iterates over the times between cells, in the order in which they began. Callers must not change them.
func (r *Report) AllBetween() iter.Seq[*Between] {
	return streamed(r.StreamBetween, r.Between)
}

// AllBetweenPassing is AllBetween for a caller that is done with one when it asks for the next.
func (r *Report) AllBetweenPassing() iter.Seq[*Between] {
	if r.PassingBetween != nil {
		return r.PassingBetween
	}
	return r.AllBetween()
}

// AllTimeline iterates over the tracks, by process and meter, those of a process one after another. Callers must
// neither change nor keep them.
func (r *Report) AllTimeline() iter.Seq[*Track] {
	return streamed(r.StreamTimeline, r.Timeline)
}

// Counts reports whether any window has counters.
func (r *Report) Counts() bool {
	return r.Counted || slices.ContainsFunc(r.Windows, func(w Window) bool { return w.Counters != nil })
}

// streamed iterates over a stream or, without one, a list.
func streamed[T any](stream iter.Seq[*T], list []T) iter.Seq[*T] {
	if stream != nil {
		return stream
	}
	return func(yield func(*T) bool) {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// Meter names the source of a meter's figures.
type Meter struct {
	ID     string `json:"id"`
	Unit   string `json:"unit"` // always "bytes"
	Source string `json:"source"`
	Exact  bool   `json:"exact"`
	// Bound is how far a figure can be off, in bytes; null if unknown.
	Bound *int64 `json:"bound"`
}

// Kinds of window.
const (
	Session    = "session"
	Experiment = "experiment"
	Cell       = "cell"
	Statement  = "statement"

	// Hooks is the name of a pseudo-statement: the work of IPython and the kernel after a cell's result. Its line is 0.
	Hooks = "display and hooks"
)

// Statuses of a window.
const (
	OK          = "ok"
	Error       = "error"
	Interrupted = "interrupted"
	Incomplete  = "incomplete"
)

// Window is a measured stretch of time.
type Window struct {
	ID     int    `json:"id"`
	Parent int    `json:"parent"` // 0 for a session
	Kind   string `json:"kind"`
	PID    int    `json:"pid"`
	// Kernel is the name of the process as in [Process].
	Kernel string `json:"kernel,omitempty"`
	// Execution numbers the cells of a session 1, 2, 3 …; 0 for a window that is not a cell.
	Execution int `json:"execution"`
	// ExecutionCount is IPython's In[N], null if there is none.
	ExecutionCount *int `json:"execution_count"`
	// Silent: IPython ran the cell without storing it (silent, or store_history=False), so it has no In[N].
	Silent          bool   `json:"silent"`
	Name            string `json:"name"` // experiments, and cells of marimo
	Line            int    `json:"line"` // statements, from 1; 0 if not known
	Source          string `json:"source"`
	SourceTruncated bool   `json:"source_truncated"`
	Status          string `json:"status"`
	// Error is the type of the exception that ended a cell, such as "MemoryError"; "" if there was none, or it is not
	// known.
	Error string `json:"error,omitempty"`
	// Note says in words why the window is incomplete, or that it was still running at attach.
	Note       string `json:"note,omitempty"`
	StartNS    int64  `json:"start_ns"` // since the session began
	DurationNS int64  `json:"duration_ns"`
	CPUNS      int64  `json:"cpu_ns"` // -1 if not known
	// Counters are the window's counters; nil unless the session counts (--counters).
	Counters *Counters `json:"counters,omitempty"`
	// Container has the memory of the process's container; nil if it is not known.
	Container *Container `json:"container,omitempty"`
	// Swapped is memory of the process in swap, which is not resident; nil for none, or if it is not known.
	Swapped *Swapped          `json:"swapped,omitempty"`
	Meters  map[string]Figure `json:"meters"`
	// Tree holds the figures of the process and its children together. Memory that a forked child shares with its
	// parent counts once, until the child executes a program. No counter has the pages of such memory that it copies by
	// writing to them. So while such a child lives, the figures are lower bounds. Any other page that several processes
	// map counts once for each. A meter is left out if its figure is the process's own; see [Window.Together].
	Tree     map[string]Figure `json:"tree,omitempty"`
	Children []Child           `json:"children"`
	// ChildrenUnlisted counts the children without room in Children.
	ChildrenUnlisted int `json:"children_unlisted,omitempty"`
	// LostStatements and LostMarkers count the beginnings and ends of statements, and of experiments, that had no room
	// within a cell or a session.
	LostStatements int64 `json:"lost_statements,omitempty"`
	LostMarkers    int64 `json:"lost_markers,omitempty"`
	// Refused are refused requests for memory within the window.
	Refused []Refusal `json:"refused,omitempty"`
	Foreign *Foreign  `json:"foreign,omitempty"`
	// Suspended: device memory was on the host for some of the time; nil if it never was.
	Suspended *Suspended `json:"suspended,omitempty"`
	// Allocations has the stacks that allocated, for the meters that count single blocks: the most at the peak first. A
	// meter without a change in the window is left out. But if the window is the highest cell of its process so far,
	// the list has everything that lived.
	Allocations []Allocation `json:"allocations,omitempty"`
	// Coverage says, by meter, how much of the window's peak they explain.
	Coverage map[string]Coverage `json:"coverage,omitempty"`
}

// Together returns the figure of a meter for the process and its children together.
func (w *Window) Together(meter string) (Figure, bool) {
	if f, ok := w.Tree[meter]; ok {
		return f, true
	}
	f, ok := w.Meters[meter]
	return f, ok
}

// Figures returns the figures of all meters for the process and its children together.
func (w *Window) Figures() map[string]Figure {
	all := maps.Clone(w.Meters)
	if all == nil {
		all = map[string]Figure{}
	}
	maps.Copy(all, w.Tree)
	return all
}

// Between is the time between two cells of a process: its memory belongs to no cell.
type Between struct {
	PID    int    `json:"pid"`
	Kernel string `json:"kernel,omitempty"` // as in [Window]
	After  int    `json:"after"`            // id of the cell before; 0 at the session's beginning
	Before int    `json:"before"`           // id of the cell after; 0 at the session's end
	// Label is the name for people: "between In[3] and In[4]".
	Label      string            `json:"label"`
	Note       string            `json:"note,omitempty"` // special circumstances, in words
	StartNS    int64             `json:"start_ns"`
	DurationNS int64             `json:"duration_ns"`
	Meters     map[string]Figure `json:"meters"`
	// Tree is as in [Window].
	Tree    map[string]Figure `json:"tree,omitempty"`
	Refused []Refusal         `json:"refused,omitempty"`
}

// Together returns the figure of a meter for the process and its children together.
func (b *Between) Together(meter string) (Figure, bool) {
	if f, ok := b.Tree[meter]; ok {
		return f, true
	}
	f, ok := b.Meters[meter]
	return f, ok
}

// Counters are the counts of all threads of a process in a window; −1 is not known. The tracer reads the processor's
// counters when the record of the boundary arrives, a moment later: statements have none of these.
type Counters struct {
	MinorFaults     int64 `json:"minor_faults"` // pages mapped without reading a disk
	MajorFaults     int64 `json:"major_faults"` // pages read from one
	Waits           int64 `json:"waits"`        // number of times that a thread gave up its CPU
	Preemptions     int64 `json:"preemptions"`  // number of times that a thread was taken off its CPU
	Instructions    int64 `json:"instructions"`
	Cycles          int64 `json:"cycles"`
	CacheReferences int64 `json:"cache_references"`
	CacheMisses     int64 `json:"cache_misses"`
}

// Counted is one of the [Counters], with its name.
type Counted struct {
	Name  string
	Count int64
}

// All returns the counters in the order in which reports show them, with their names in JSON.
func (c *Counters) All() []Counted {
	return []Counted{
		{"minor_faults", c.MinorFaults}, {"major_faults", c.MajorFaults}, {"waits", c.Waits},
		{"preemptions", c.Preemptions}, {"instructions", c.Instructions}, {"cycles", c.Cycles},
		{"cache_references", c.CacheReferences}, {"cache_misses", c.CacheMisses},
	}
}

// Container has the memory of a process's container in a window, in bytes: all that Linux charges to its memory cgroup,
// also for other processes. Of the process's cgroup and those around it, it is the one with the least limit; without a
// limit, the process's own.
type Container struct {
	// AtLeast and Highest bound the highest use within the window. Highest is absent if no upper bound is known.
	AtLeast int64 `json:"at_least"`
	Highest int64 `json:"highest,omitempty"`
	// Exact: both are Linux's own figure, which rose in the window.
	Exact bool `json:"exact"`
	// Bound is how far Linux's figures can be off: for each CPU it charges some pages in advance.
	Bound int64 `json:"bound"`
	Limit int64 `json:"limit,omitempty"` // absent: none
	Start int64 `json:"start"`
	End   int64 `json:"end"`
	// Parts divide the use at the window's end, not at its highest moment; absent if not read.
	Parts *ContainerParts `json:"parts,omitempty"`
}

// Swapped is memory of a process that Linux had swapped out at a window's beginning and end, in bytes: its count of the
// process's pages in swap, at these instants (VmSwap). A window that ends with its process has none.
type Swapped struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// IsAbove reports whether a container had markedly more than some bytes: a hundredth more, and more than the bound.
func (c *Container) IsAbove(bytes int64) bool { return c.AtLeast > bytes+max(c.Bound, bytes/100) }

// ContainerParts divide the memory of a container, in bytes.
type ContainerParts struct {
	Anon   int64 `json:"anon"`   // anonymous memory
	File   int64 `json:"file"`   // page cache, which Linux can drop once it is written back
	Shmem  int64 `json:"shmem"`  // tmpfs and shared memory
	Kernel int64 `json:"kernel"` // Linux's own
}
