package model

// PlanSchema is the version of the JSON object that a plan is, in its "schema" field.
const PlanSchema = "ipytracer/plan/v1"

// Plan is what a notebook needs, from recordings of it. Sizes are bytes, times nanoseconds.
type Plan struct {
	Schema  string    `json:"schema"`
	Runs    []PlanRun `json:"runs"`
	Demands []Demand  `json:"demands"` // memory first, then each GPU
	// Settings are what to paste where the notebook is to run.
	Settings []Setting `json:"settings"`
	// Doubts say in words why it may need more than this.
	Doubts []string `json:"doubts"`
}

// PlanRun is one recording.
type PlanRun struct {
	File       string `json:"file"`
	Host       Host   `json:"host"`
	Cells      int    `json:"cells"`
	Failed     int    `json:"failed"` // cells that did not end well
	DurationNS int64  `json:"duration_ns"`
	Finished   string `json:"finished"`
	Complete   bool   `json:"complete"`
	// Peaks are those of the demands, in their order, of the process and its children together; null where it has none.
	Peaks []*int64 `json:"peaks"`
}

// Demand is what is needed of one kind of memory.
type Demand struct {
	Meter string `json:"meter"` // cpu.resident; gpu.N.driver
	// Need is the highest peak of all runs. Low is the lowest.
	Need  int64  `json:"need"`
	Low   int64  `json:"low"`
	Exact bool   `json:"exact"`
	Bound *int64 `json:"bound"` // by how much Need can be off; null if nobody can say
	// Parts are of the run that decides, each at its own highest: anonymous memory, pages of files, shared memory; of a GPU what the CUDA
	// context and libraries take beside the driver's calls, which is in Need.
	Parts  []PlanPart `json:"parts"`
	Margin []PlanPart `json:"margin"` // what to add, and why
	// Limit is Need and Margin, rounded up to 16 MiB.
	Limit int64 `json:"limit"`
	// Size is the usual size of machine that Limit fits in, Smaller the one below; 0 for a GPU, and where there is none.
	Size    int64 `json:"size"`
	Smaller int64 `json:"smaller"`
	// Base stood there when the first cell began, of the run that decides.
	Base int64 `json:"base"`
	Run  int   `json:"run"` // that decides, an index of Runs
	// At is where it was highest, null if that was in no cell; Next is the next-highest cell.
	At   *PlanPlace `json:"at"`
	Next *PlanPlace `json:"next"`
	// Lines are the three that matter most there, the largest fall first.
	Lines []PlanLine `json:"lines"`
	// Together are the lines that bring it down most, wherever they are; null where none does.
	Together *PlanSet `json:"together"`
	// Untouched are lines that mapped much more than became resident in their statement.
	Untouched []PlanLine `json:"untouched"`
}

// PlanPart is a part of something, in words.
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
	File           string `json:"file,omitempty"` // where it is of no cell
	Source         string `json:"source"`         // of the line
	Peak           int64  `json:"peak"`           // there; 0 where it is not about one
	// Children had so much of Peak at most.
	Children int64 `json:"children,omitempty"`
}

// PlanLine is what a line of the user's has at the moment that decides.
type PlanLine struct {
	PlanPlace
	Meter  string `json:"meter"`
	AtPeak int64  `json:"at_peak"` // what it allocated, and was there
	// Resident is how much of that is in memory at most: by how far resident memory rose in its statement. Of a GPU it is AtPeak.
	Resident int64 `json:"resident"`
	// Fall is by how much the highest moment of all would be lower without it: it is taken away from every moment at which it is there.
	Fall int64 `json:"fall"`
	// Then is what would be highest without it; null for the time between two cells.
	Then *PlanPlace `json:"then"`
	// Where it was made, within the line: a line of the user's own files; "" where it is the line itself.
	Within string `json:"within,omitempty"`
}

// PlanSet are lines without which a notebook needs less, together.
type PlanSet struct {
	// Lines are one to three, that which saves most alone first. No other three save more.
	Lines []PlanLine `json:"lines"`
	Fall  int64      `json:"fall"`
	Peak  int64      `json:"peak"` // how high it would have gone
	// Then is what would be highest; null for the time between two cells.
	Then *PlanPlace `json:"then"`
}

// Setting is something to paste.
type Setting struct {
	For  string `json:"for"`
	Text string `json:"text"`
}
