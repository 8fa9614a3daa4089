// Package model is what a session found, in the form that all printers get: windows, figures, verdicts, the
// certificate; its JSON is public. Types and what can be read off them belong here; computing them is attribution's
// business, showing them report's.
package model

import (
	"iter"
	"maps"
)

// Schema is the version of the JSON object, in its "schema" field.
const Schema = "ipytracer/report/v1"

// Report is the whole result of a session. Sizes are exact bytes, times nanoseconds.
type Report struct {
	Schema string `json:"schema"`
	Host   Host   `json:"host"`
	GPUs   []GPU  `json:"gpus,omitempty"`
	// GPUNotes are what a reader is to know before the figures of GPUs, the largest block first.
	GPUNotes  []GPUNote `json:"gpu_notes,omitempty"`
	Processes []Process `json:"processes"`
	Meters    []Meter   `json:"meters"`
	// Windows are in the order they began, unless Stream has them; see [Report.All].
	Windows []Window `json:"windows"`
	// Stream makes the windows one at a time, again each time it is called, for a printer that holds one only; nil where Windows has them.
	Stream iter.Seq[*Window] `json:"-"`
	// Passing are the same windows for a printer that has done with one when it asks for the next: its maps are used again; nil
	// where Stream is.
	Passing iter.Seq[*Window] `json:"-"`
	// MeterIDs are the meters that any figure of Stream is of.
	MeterIDs []string `json:"-"`
	// Counted: a window of Stream has counters.
	Counted bool `json:"-"`
	// Detail fills in who allocated in a window that Stream has made; nil where Windows has that, too.
	Detail func(*Window) `json:"-"`
	// Find makes one window of Stream again, without who allocated.
	Find func(id int) (Window, bool) `json:"-"`
	// Since makes the windows of Stream again from that with an id on; nil where Find is.
	Since func(id int) iter.Seq[*Window] `json:"-"`
	// Between are in the order they began, unless StreamBetween has them; see [Report.AllBetween].
	Between       []Between          `json:"between"`
	StreamBetween iter.Seq[*Between] `json:"-"`
	// PassingBetween are the same as Passing is of Stream.
	PassingBetween iter.Seq[*Between] `json:"-"`
	// Timeline has what meters did over time, unless StreamTimeline makes it; see [Report.AllTimeline].
	Timeline       []Track          `json:"timeline"`
	StreamTimeline iter.Seq[*Track] `json:"-"`
	// Levels are what meters in it are not to reach.
	Levels []Level `json:"levels,omitempty"`
	// Lines say, for each line of code that allocated in the session, what it and what it called did; the most at the
	// session's peak first, 3,000 at most.
	Lines []Line `json:"lines,omitempty"`
	// Tensors are PyTorch's blocks that lived at the end, most bytes first, 1,000 groups at most.
	Tensors []Tensors `json:"tensors,omitempty"`
	// Variables are what processes have by name at the end, what holds or reaches most first, 1,000 of each process at most.
	Variables []Variable `json:"variables,omitempty"`
	Names     []Names    `json:"names,omitempty"`
	// ToFree is what to type to free what is there by name, most first of each process.
	ToFree []Freeing `json:"to_free,omitempty"`
	// Resident is where the resident memory of each process is at the end.
	Resident    []Resident  `json:"resident,omitempty"`
	Certificate Certificate `json:"certificate"`
}

// All goes through the windows, in the order they began. They are not to be changed.
func (r *Report) All() iter.Seq[*Window] {
	return streamed(r.Stream, r.Windows)
}

// AllPassing is All for who has done with a window when it asks for the next.
func (r *Report) AllPassing() iter.Seq[*Window] {
	if r.Passing != nil {
		return r.Passing
	}
	return r.All()
}

// AllBetween goes through the times between cells, in the order they began. They are not to be changed.
func (r *Report) AllBetween() iter.Seq[*Between] {
	return streamed(r.StreamBetween, r.Between)
}

// AllBetweenPassing is AllBetween for who has done with one when it asks for the next.
func (r *Report) AllBetweenPassing() iter.Seq[*Between] {
	if r.PassingBetween != nil {
		return r.PassingBetween
	}
	return r.AllBetween()
}

// streamed goes through a stream or, where there is none, a list.
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

// Host is the machine the session ran on.
type Host struct {
	Name   string `json:"name"`
	Kernel string `json:"kernel"`
	CPUs   int    `json:"cpus"`
	Memory int64  `json:"memory"`
	Tracer string `json:"tracer"`
	// Started is the wall-clock time of the first event, RFC 3339 with nanoseconds, UTC.
	Started string `json:"started"`
}

// GPU is a device of the machine, by the names that do not change.
type GPU struct {
	Index    int    `json:"index"` // N of gpu.N, NVML's and nvidia-smi's
	UUID     string `json:"uuid"`
	PCIBusID string `json:"pci_bus_id"`
	Name     string `json:"name"`
	Memory   int64  `json:"memory"` // bytes in all; 0 if not known
}

// Process is one traced process over its whole traced life.
type Process struct {
	PID      int    `json:"pid"`
	Parent   int    `json:"parent"` // 0 for an attached process
	Command  string `json:"command"`
	Python   string `json:"python,omitempty"`
	IPython  string `json:"ipython,omitempty"`
	Frontend string `json:"frontend,omitempty"`
	// Notebook is the path of the notebook that a kernel runs, as it says itself; "" where it does not.
	Notebook string `json:"notebook,omitempty"`
	// Kernel is the name of a kernel where the session has several: "train.ipynb", "b/train.ipynb", "pid 4242".
	Kernel  string `json:"kernel,omitempty"`
	StartNS int64  `json:"start_ns"` // since the session began
	EndNS   int64  `json:"end_ns"`   // when it ended, or the session did
	Ended   bool   `json:"ended"`
	// Ending is how it ended; null while it runs, and where nobody said.
	Ending *Ending `json:"ending,omitempty"`
	// Limits are what limits its memory, what is nearest first; of attached processes.
	Limits []Limit `json:"limits,omitempty"`
	// Late: it ran before the session began.
	Late bool `json:"late"`
	// RestartOf is the pid of the kernel in whose place this one was started, 0 for none.
	RestartOf int `json:"restart_of,omitempty"`
	// SoftLimit is the one on what it may map, nil if there was none.
	SoftLimit *SoftLimit        `json:"soft_limit,omitempty"`
	Meters    map[string]Figure `json:"meters"`
}

// SoftLimit is a soft limit on mapped memory (RLIMIT_DATA): what goes beyond fails, with MemoryError.
type SoftLimit struct {
	Bytes int64 `json:"bytes"`
	// By is who has set it: "session" (--limit), "command" (tracer limit), "left" (a tracer that was killed, or another that runs) or "other".
	By string `json:"by"`
}

// Meter says where a meter's figures come from.
type Meter struct {
	ID     string `json:"id"`
	Unit   string `json:"unit"` // always "bytes"
	Source string `json:"source"`
	Exact  bool   `json:"exact"`
	// Bound is how far a figure can be off, in bytes; null if nobody can say.
	Bound *int64 `json:"bound"`
}

// Kinds of window.
const (
	Session    = "session"
	Experiment = "experiment"
	Cell       = "cell"
	Statement  = "statement"

	// Hooks is the name of the statement that is none: what IPython and the kernel do behind a cell's result. Its line is 0.
	Hooks = "display and hooks"
)

// Statuses of a window.
const (
	OK          = "ok"
	Error       = "error"
	Interrupted = "interrupted"
	Incomplete  = "incomplete"
)

// Window is a stretch of time that was measured.
type Window struct {
	ID     int    `json:"id"`
	Parent int    `json:"parent"` // 0 for a session
	Kind   string `json:"kind"`
	PID    int    `json:"pid"`
	// Kernel is the name of the process as in [Process].
	Kernel string `json:"kernel,omitempty"`
	// Execution numbers the cells of a session 1, 2, 3 …; 0 for a window that is not a cell.
	Execution int `json:"execution"`
	// ExecutionCount is IPython's In[N], null where IPython gives none.
	ExecutionCount *int `json:"execution_count"`
	// Silent: IPython ran the cell without storing it (silent, or store_history=False), so it has no In[N].
	Silent          bool   `json:"silent"`
	Name            string `json:"name"` // experiments
	Line            int    `json:"line"` // statements, from 1; 0 if not known
	Source          string `json:"source"`
	SourceTruncated bool   `json:"source_truncated"`
	Status          string `json:"status"`
	// Error is the type of the exception that ended a cell, such as "MemoryError"; "" where there was none, or it is not known.
	Error string `json:"error,omitempty"`
	// Note says in words what is special: why it is incomplete, or that it was still running at attach.
	Note       string `json:"note,omitempty"`
	StartNS    int64  `json:"start_ns"` // since the session began
	DurationNS int64  `json:"duration_ns"`
	CPUNS      int64  `json:"cpu_ns"` // -1 if not known
	// Counters are what was counted; nil unless the session counts (--counters).
	Counters *Counters         `json:"counters,omitempty"`
	Meters   map[string]Figure `json:"meters"`
	// Tree holds the figures of the process and its children together. What a forked child shares with its parent
	// counts once, until it executes a program; copies it makes of it by writing are in no counter, so while such a
	// child lives the figures are lower bounds. Any other page that several processes map counts once for each.
	// A meter whose figure is the process's own is not in it; see [Window.Together].
	Tree     map[string]Figure `json:"tree,omitempty"`
	Children []Child           `json:"children"`
	// ChildrenUnlisted counts those that had no room in Children.
	ChildrenUnlisted int `json:"children_unlisted,omitempty"`
	// LostStatements and LostMarkers are beginnings and ends of statements and of experiments for which there was no room within a cell or a
	// session.
	LostStatements int64 `json:"lost_statements,omitempty"`
	LostMarkers    int64 `json:"lost_markers,omitempty"`
	// Refused are requests for memory that were refused within the window.
	Refused []Refusal `json:"refused,omitempty"`
	Foreign *Foreign  `json:"foreign,omitempty"`
	// Suspended: device memory was on the host for some of the time; nil if it never was.
	Suspended *Suspended `json:"suspended,omitempty"`
	// Allocations says who allocated what, of the meters that count single blocks: the most at the peak first. A meter of
	// which nothing moved in the window is not in it, unless the window is a cell that was the highest of its process so far: it lists
	// what stood.
	Allocations []Allocation `json:"allocations,omitempty"`
	// Coverage says, by meter, how far they explain the window's peak.
	Coverage map[string]Coverage `json:"coverage,omitempty"`
}

// Together is the figure of a meter for the process and its children together.
func (w *Window) Together(meter string) (Figure, bool) {
	if f, ok := w.Tree[meter]; ok {
		return f, true
	}
	f, ok := w.Meters[meter]
	return f, ok
}

// Figures are the figures of all meters for the process and its children together.
func (w *Window) Figures() map[string]Figure {
	all := maps.Clone(w.Meters)
	if all == nil {
		all = map[string]Figure{}
	}
	maps.Copy(all, w.Tree)
	return all
}

// Figure is one meter in one window, in bytes.
type Figure struct {
	Start    int64 `json:"start"`
	Peak     int64 `json:"peak"`
	End      int64 `json:"end"`
	Consumed int64 `json:"consumed"` // end − start
	Peaked   int64 `json:"peaked"`   // peak − max(start, end)
	Exact    bool  `json:"exact"`
	// Bound is how far a figure can be off, in bytes: 0 if exact, null if nobody can say.
	Bound *int64 `json:"bound"`
}

// Need is what had to be available on top of the start: peak − start.
func (f Figure) Need() int64 { return f.Peak - f.Start }

// Equal says whether two figures say the same.
func (f Figure) Equal(other Figure) bool {
	same := f.Bound == other.Bound || f.Bound != nil && other.Bound != nil && *f.Bound == *other.Bound
	f.Bound, other.Bound = nil, nil
	return same && f == other
}

// Between is the time between two cells of a process: memory that belongs to no cell.
type Between struct {
	PID    int    `json:"pid"`
	Kernel string `json:"kernel,omitempty"` // as in [Window]
	After  int    `json:"after"`            // id of the cell before; 0 if the session began here
	Before int    `json:"before"`           // id of the cell after; 0 if the session ended here
	// Label is what people read: "between In[3] and In[4]".
	Label      string            `json:"label"`
	Note       string            `json:"note,omitempty"` // in words what is special
	StartNS    int64             `json:"start_ns"`
	DurationNS int64             `json:"duration_ns"`
	Meters     map[string]Figure `json:"meters"`
	Refused    []Refusal         `json:"refused,omitempty"`
}
