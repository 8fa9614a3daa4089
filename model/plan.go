package model

// PlanSchema is the version of the JSON object of a [Plan], in its "schema" field.
const PlanSchema = "ipytracer/plan/v1"

// Plan is the demand of a notebook, from recordings of it. Sizes are bytes, times nanoseconds.
type Plan struct {
	Schema  string    `json:"schema"`
	Runs    []PlanRun `json:"runs"`
	Demands []Demand  `json:"demands"` // memory first, then each GPU
	// Settings are texts to paste where the notebook is to run.
	Settings []Setting `json:"settings"`
	// Doubts say in words why the notebook may need more than this.
	Doubts []string `json:"doubts"`
	// Tried are needs with a change that was tried (a [Trial]); none without a trial.
	Tried []PlanTried `json:"tried,omitempty"`
}

// PlanTried is a need with a change of the notebook that kept all results when it was tried.
type PlanTried struct {
	Meter  string `json:"meter"`
	Change string `json:"change"` // "advice 1 and 3"
	Advice []int  `json:"advice"`
	Runs   int    `json:"runs"`  // of the notebook with the change
	Saves  int64  `json:"saves"` // for certain: see [TrialSaving]
	Need   int64  `json:"need"`
	Limit  int64  `json:"limit"` // with the margin of the demand
	Exact  bool   `json:"exact"`
}

// PlanRun is one recording.
type PlanRun struct {
	File       string `json:"file"`
	Host       Host   `json:"host"`
	Cells      int    `json:"cells"`
	Failed     int    `json:"failed"` // cells that failed
	DurationNS int64  `json:"duration_ns"`
	Finished   string `json:"finished"`
	Complete   bool   `json:"complete"`
	// Peaks belong to the demands, in their order, of the process and its children together; null for none.
	Peaks []*int64 `json:"peaks"`
}

// AtLeast reports whether the need is only a lower bound.
func (d *Demand) AtLeast() bool { return !d.Exact && d.Bound == nil }

// Demand is the needed amount of one kind of memory.
type Demand struct {
	Meter string `json:"meter"` // cpu.resident; gpu.N.driver
	// Need is the highest peak of all runs. Low is the lowest.
	Need  int64  `json:"need"`
	Low   int64  `json:"low"`
	Exact bool   `json:"exact"`
	Bound *int64 `json:"bound"` // how far Need can be off; null if unknown
	// Parts belong to the run that decides, each at its own maximum: anonymous memory, pages of files, shared memory.
	// For a GPU they include the memory of the CUDA context and libraries beside the driver's calls, which is in Need.
	Parts  []PlanPart `json:"parts"`
	Margin []PlanPart `json:"margin"` // amounts to add, with their reasons
	// Limit is Need and Margin, rounded up to 16 MiB.
	Limit int64 `json:"limit"`
	// Size is the usual size of machine that Limit fits in, Smaller the one below; 0 for a GPU, and if there is none.
	Size    int64 `json:"size"`
	Smaller int64 `json:"smaller"`
	// Base is the memory at the beginning of the first cell, in the run that decides.
	Base int64 `json:"base"`
	Run  int   `json:"run"` // the run that decides, an index of Runs
	// At is the place of the highest moment, null outside of cells; Next is the next-highest cell.
	At   *PlanPlace `json:"at"`
	Next *PlanPlace `json:"next"`
	// Lines are the three that matter most there, the largest fall first.
	Lines []PlanLine `json:"lines"`
	// Together are the lines that lower it most, wherever they are; null if none does.
	Together *PlanSet `json:"together"`
	// Untouched are lines that mapped much more than became resident in their statement.
	Untouched []PlanLine `json:"untouched"`
}

// PlanPart is a part of an amount, named in words.
type PlanPart struct {
	Bytes int64  `json:"bytes"`
	Of    string `json:"of"`
}

// PlanPlace is a line of a cell, or of a file.
type PlanPlace struct {
	PID            int    `json:"pid"`
	Kernel         string `json:"kernel,omitempty"` // as in [Window]
	Execution      int    `json:"execution"`        // 0 for none
	ExecutionCount *int   `json:"execution_count"`
	Line           int    `json:"line"` // of the statement that decides; 0 if not known
	Function       string `json:"function,omitempty"`
	File           string `json:"file,omitempty"` // for a line of no cell
	Source         string `json:"source"`         // of the line
	Peak           int64  `json:"peak"`           // at that place; 0 without a peak
	// Children is the largest part of Peak in child processes.
	Children int64 `json:"children,omitempty"`
}

// PlanLine is the memory of one of the user's lines at the moment that decides.
type PlanLine struct {
	PlanPlace
	Meter  string `json:"meter"`
	AtPeak int64  `json:"at_peak"` // bytes that it allocated and that lived then
	// Resident is an upper bound of the part in memory: the rise of resident memory in its statement. For a GPU it is
	// AtPeak.
	Resident int64 `json:"resident"`
	// Fall is the fall of the overall peak without this line: its memory is subtracted from every moment at which it
	// lives.
	Fall int64 `json:"fall"`
	// Then is the place of the peak without the line; null for the time between two cells.
	Then *PlanPlace `json:"then"`
	// Within is the place of the allocation inside the line: a line of the user's own files; "" if it is the line
	// itself.
	Within string `json:"within,omitempty"`
}

// PlanSet are lines that together lower a notebook's need if they are left out.
type PlanSet struct {
	// Lines are one to three lines. The line that alone saves most comes first. No other three lines save more.
	Lines []PlanLine `json:"lines"`
	Fall  int64      `json:"fall"`
	Peak  int64      `json:"peak"` // the peak without them
	// Then is the place of Peak; null for the time between two cells.
	Then *PlanPlace `json:"then"`
}

// Setting is a text to paste.
type Setting struct {
	For  string `json:"for"`
	Text string `json:"text"`
}
