package e2e

import (
	"encoding/json"

	"ipytracer/event"
)

// mark is a measurement that a workload took of itself at one instant.
type mark struct {
	Label    string `json:"label"`
	NS       int64  `json:"ns"`
	PID      int    `json:"pid"`
	Mapped   int64  `json:"mapped"`
	Resident int64  `json:"resident"`
	Walk     bool   `json:"walk"`
	Settled  bool   `json:"settled"`
}

func (m mark) of(meter string) int64 {
	if meter == "cpu.mapped" {
		return m.Mapped
	}
	return m.Resident
}

// result is one cell as the driver saw it run.
type result struct {
	Name           string `json:"name"`
	Source         string `json:"source"`
	RequestedNS    int64  `json:"requested_ns"`
	IdleNS         int64  `json:"idle_ns"`
	ExecutionCount *int   `json:"execution_count"`
	Status         string `json:"status"`
	Expected       string `json:"expected"` // status, if the driver expects one
	Error          string `json:"error"`
	Skipped        string `json:"skipped"`
	Marks          []mark `json:"marks"`
	// Draws is the least memory of an inline figure of run_figures.py.
	Draws int64 `json:"draws"`
	// Truth has the values of each meter by the GPU rigs themselves; null where the value cannot be known.
	Truth map[string]*startPeakEnd `json:"truth"`
	// Stacks are the callers at each allocation of stacks.py.
	Stacks []calledAt `json:"stacks"`
	// Expect has the verdicts that an audit must have on leaks.py.
	Expect []planted `json:"expect"`
	// Holders are the holders of the arrays of holders.py, by their size.
	Holders map[event.Bytes]heldBy `json:"holders"`
	// Wanted are the variables of variables.py that must be found. Dropped has the bytes that went with an object like
	// each.
	Wanted  map[string]wantedVariable `json:"wanted"`
	Dropped map[string]int64          `json:"dropped"`
	// Columns are the bytes of each column of each frame, as allocators round them and as pandas has them. Failed is
	// the In[N] of the cell that has failed.
	Columns map[string]map[string][][2]int64 `json:"columns"`
	Failed  int                              `json:"failed"`
	// Noted is the memory of lines of memory.py.
	Noted []noted `json:"noted"`
	// Embedded: IPython.embed() opened its shell in this cell of run_embed.py.
	Embedded bool `json:"embedded"`
	// Markers are the facts about themselves in the lines of a notebook. Before and After are the figures of /proc
	// while the kernel is idle.
	Markers       []marker `json:"markers"`
	Before, After kernelMemory
	// Kernel is the process that ran a cell of run_server.py. Size is that of the cell's array.
	Kernel int   `json:"kernel"`
	Size   int64 `json:"size"`
	// Between is the same for the time from the cell's end to the beginning of the next one.
	Between map[string]*startPeakEnd `json:"between"`
}

// calledAt is an allocation of a size that no other has, and the frames at that moment.
type calledAt struct {
	Size   int64
	Frames []calledFrom
}

// UnmarshalJSON reads [size, [[function, file, line], …]].
func (c *calledAt) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&c.Size, &c.Frames})
}

// UnmarshalJSON reads [kind, path, function].
func (h *heldBy) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&h.Kind, &h.Path, &h.Function})
}

type calledFrom struct {
	Function, File string
	Line           int
}

// UnmarshalJSON reads [function, file, line].
func (c *calledFrom) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&c.Function, &c.File, &c.Line})
}

func (r result) mark(label string) (mark, bool) {
	for _, m := range r.Marks {
		if m.Label == label {
			return m, true
		}
	}
	return mark{}, false
}

// expected is one cell as testdata/workloads/cells.py describes it.
type expected struct {
	Name           string                `json:"name"`
	Status         string                `json:"status"`
	ExecutionCount *int                  `json:"execution_count"`
	Statements     []int                 `json:"statements"`
	Ran            int                   `json:"ran"`
	Request        map[string]any        `json:"request"`
	Meters         map[string]allowances `json:"meters"`
	Hooks          map[string]allowances `json:"hooks"`
	Yields         bool                  `json:"yields"`  // gives up the GIL while it holds its memory
	Objects        bool                  `json:"objects"` // its memory is that of Python's objects
	Children       []struct {
		Label string `json:"label"`
		Base  string `json:"base"`
	} `json:"children"`
	Nested []struct {
		Source string `json:"source"`
	} `json:"nested"`
}

// leastOnly reduces the allowances of meters to lower bounds: no present memory may be missing.
func (e *expected) leastOnly() {
	for meter, a := range e.Meters {
		if meter == "cpu.resident" {
			e.Meters[meter] = allowances{Mark: a.Mark, Above: 1 << 40}
		} else {
			delete(e.Meters, meter)
		}
	}
}

// allowances returns the figures that a meter may have in a cell.
type allowances struct {
	Mark  string  `json:"mark"`
	Above int64   `json:"above"`
	Rise  []int64 `json:"rise"`
	Kept  []int64 `json:"kept"`
}

type expectations struct {
	Cells       []expected `json:"cells"`
	Experiments []struct {
		Name string   `json:"name"`
		End  *string  `json:"end"`
		Peak []string `json:"peak"`
	} `json:"experiments"`
}
