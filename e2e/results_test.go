package e2e

import (
	"encoding/json"

	"ipytracer/event"
)

// mark is a measurement that a workload took of itself at one instant. Sizes are in bytes.
type mark struct {
	Label    string `json:"label"`
	NS       int64  `json:"ns"`
	PID      int    `json:"pid"`
	Mapped   int64  `json:"mapped"`
	Resident int64  `json:"resident"`
	Walk     bool   `json:"walk"`
	Settled  bool   `json:"settled"`
}

// of returns the measured value of a meter: of mapped or resident memory.
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
	Expected       string `json:"expected"` // the status that the driver expects; "" for any
	Error          string `json:"error"`
	Skipped        string `json:"skipped"` // why the cell cannot run here; "" if it ran
	Marks          []mark `json:"marks"`
	// Draws is the least memory of an inline figure of run_figures.py.
	Draws int64 `json:"draws"`
	// Truth has the values of each meter as the GPU rigs measured them; null for a value that cannot be known.
	Truth map[string]*startPeakEnd `json:"truth"`
	// Stacks are the allocations of stacks.py with their callers.
	Stacks []calledAt `json:"stacks"`
	// Expect are the verdicts that an audit of leaks.py must have.
	Expect []planted `json:"expect"`
	// Holders are the holders of the arrays of holders.py, by their size.
	Holders map[event.Bytes]heldBy `json:"holders"`
	// Wanted are the variables of variables.py that must be found. Dropped has, by the same names, the bytes that were
	// freed with an equal object.
	Wanted  map[string]wantedVariable `json:"wanted"`
	Dropped map[string]int64          `json:"dropped"`
	// Columns has two sizes for each column of each frame: as allocators round it, and as pandas reports it. Failed is
	// the N of the failed cell's In[N].
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
	// Between is like Truth, for the time from the cell's end to the beginning of the next one.
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

// calledFrom is a call on the stack of an allocation.
type calledFrom struct {
	Function, File string
	Line           int
}

// UnmarshalJSON reads [function, file, line].
func (c *calledFrom) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&c.Function, &c.File, &c.Line})
}

// mark returns the measurement with a label.
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

// leastOnly reduces the expectations to a lower bound of resident memory.
func (e *expected) leastOnly() {
	for meter, a := range e.Meters {
		if meter == "cpu.resident" {
			e.Meters[meter] = allowances{Mark: a.Mark, Above: 1 << 40}
		} else {
			delete(e.Meters, meter)
		}
	}
}

// allowances are the figures that a meter may have in a cell, in bytes.
type allowances struct {
	Mark  string  `json:"mark"`  // the label of the measurement at the peak; "" for none
	Above int64   `json:"above"` // the most by which the peak may exceed that measurement
	Rise  []int64 `json:"rise"`  // the least and the most of peak − start; empty for any
	Kept  []int64 `json:"kept"`  // the least and the most of end − start; empty for any
}

// expectations are all cells and experiments of a workload, as testdata/workloads/cells.py describes them.
type expectations struct {
	Cells       []expected `json:"cells"`
	Experiments []struct {
		Name string   `json:"name"`
		End  *string  `json:"end"`
		Peak []string `json:"peak"`
	} `json:"experiments"`
}
