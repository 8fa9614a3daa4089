package model

// DiffSchema is the version of the JSON object that a comparison of two recordings is, in its "schema" field.
const DiffSchema = "ipytracer/diff/v1"

// Diff is two sessions side by side: A before, B after. Sizes are exact bytes, times nanoseconds; a change is B − A.
type Diff struct {
	Schema string  `json:"schema"`
	A      DiffRun `json:"a"`
	B      DiffRun `json:"b"`
	// Meters are those that are compared, the one that ranks first.
	Meters []string `json:"meters"`
	// Least is how many bytes must have changed for a cell to be among the causes, or to be judged.
	Least int64 `json:"least"`
	// Whole are the sessions: one of A beside one of B, in their order.
	Whole []WholeDiff `json:"whole"`
	// Causes are the cells that made the difference, those whose source has changed first, then the most bytes: their own, or of a cell that follows.
	Causes []Cause    `json:"causes"`
	Cells  []CellDiff `json:"cells"` // in B's order; those that went stand where they were
	// Doubts say in words why something may not be comparable.
	Doubts []string   `json:"doubts"`
	Judged *Judgement `json:"judged"` // nil where nothing was to fail
}

// DiffRun is one of the two recordings.
type DiffRun struct {
	File       string `json:"file"`
	Host       Host   `json:"host"`
	Python     string `json:"python"`  // of the processes that ran cells, "" where none is known
	IPython    string `json:"ipython"` // likewise
	Cells      int    `json:"cells"`
	DurationNS int64  `json:"duration_ns"`
	Finished   string `json:"finished"`
	Complete   bool   `json:"complete"` // as the certificate has it
}

// WholeDiff are two sessions, each a process with its children; nil where there is none.
type WholeDiff struct {
	Command string      `json:"command"`
	Meters  []MeterDiff `json:"meters"`
	// PeakA and PeakB are where the meter that ranks was highest, as indices of Cells; null where it was in no cell.
	PeakA *int `json:"peak_a"`
	PeakB *int `json:"peak_b"`
}

// MeterDiff is one meter in both runs, of the process and its children together; nil where it has no figure.
type MeterDiff struct {
	Meter string  `json:"meter"`
	A     *Figure `json:"a"`
	B     *Figure `json:"b"`
	// Changes, of what a run lacks counted as 0.
	Start    int64 `json:"start"`
	Need     int64 `json:"need"`
	Peak     int64 `json:"peak"`
	Consumed int64 `json:"consumed"`
}

// What happened to a cell.
const (
	Same   = "same"
	Edited = "edited"
	Moved  = "moved" // same source, elsewhere in the order
	New    = "new"
	Gone   = "gone"
)

// CellDiff is a run of a cell in both sessions.
type CellDiff struct {
	Change string      `json:"change"`
	A      *DiffCell   `json:"a"` // null for a new one
	B      *DiffCell   `json:"b"` // null for one that is gone
	Meters []MeterDiff `json:"meters"`
	// Lines are who allocated what was there at the cell's peaks, where that has changed: the largest change first, 12 at most.
	Lines []LineDiff `json:"lines,omitempty"`
	// Edits are the places in which the source of an edited cell differs, in order, 256 at most.
	Edits []Edit `json:"edits,omitempty"`
	Why   string `json:"why,omitempty"` // in words, of what has changed by Least or more
	// Reads is what it reads that another cell made otherwise than before, where its own source is not the reason: that, what the cell read which made
	// it, and so on to the cell that was edited, is new or gone.
	Reads []DiffRead `json:"reads,omitempty"`
	// Consequence: it stands higher or lower only because of what stood before it.
	Consequence bool `json:"consequence,omitempty"`
}

// Edit is a place in which a source differs: so many lines from one on, in A and in B. Where there are none in one of them, it is the line
// in front of which they would be.
type Edit struct {
	A      int `json:"a"`
	LinesA int `json:"lines_a"`
	B      int `json:"b"`
	LinesB int `json:"lines_b"`
}

// DiffRead is a name that a cell reads, and the cell that made it.
type DiffRead struct {
	Name string `json:"name"` // "" where nothing of the source is to be told
	Cell int    `json:"cell"` // an index of Cells
	// InPlace: that cell did not make it, but changed it, or may have: x[0] = 1, x.append(1).
	InPlace bool `json:"in_place,omitempty"`
	// Released: it does not read the name, but deletes it or gives it another value.
	Released bool `json:"released,omitempty"`
}

// DiffCell is a run of a cell in one session.
type DiffCell struct {
	PID             int    `json:"pid"`
	Kernel          string `json:"kernel,omitempty"` // as in [Window]
	Execution       int    `json:"execution"`
	ExecutionCount  *int   `json:"execution_count"`
	Silent          bool   `json:"silent,omitempty"`
	Status          string `json:"status"`
	Source          string `json:"source"` // the first 4 KiB
	SourceTruncated bool   `json:"source_truncated"`
	DurationNS      int64  `json:"duration_ns"`
	CPUNS           int64  `json:"cpu_ns"` // −1 if not known
}

// LineDiff is what one line has at a meter's peak in a cell, in both runs.
type LineDiff struct {
	Meter    string `json:"meter"`
	Function string `json:"function"`
	File     string `json:"file"` // "" for a line of a cell
	Line     int    `json:"line"` // in B, in A where B has it not; 0 if not known
	// Cell is which of Cells the line is of, −1 for a line of a file, or of none of them.
	Cell   int    `json:"cell"`
	Source string `json:"source,omitempty"` // of a cell's line
	A      int64  `json:"a"`                // bytes
	B      int64  `json:"b"`
	Change int64  `json:"change"`
}

// Cause is a cell that made a difference itself.
type Cause struct {
	Cell  int    `json:"cell"` // an index of Cells
	Meter string `json:"meter"`
	Bytes int64  `json:"bytes"` // of what it needs or keeps, whichever changed more
	// Edited: the source of the cell has changed, or of the one whose line made the difference.
	Edited bool   `json:"edited"`
	Why    string `json:"why"`
	// Follows are cells that need or keep more or less for what they read of this one, in their order.
	Follows []DiffFollow `json:"follows,omitempty"`
}

// DiffFollow is a cell that follows from a cause.
type DiffFollow struct {
	Cell  int    `json:"cell"` // an index of Cells
	Meter string `json:"meter"`
	Bytes int64  `json:"bytes"` // of what it needs or keeps, whichever changed more
	Why   string `json:"why"`
}

// Judgement is what was to be found out, and was.
type Judgement struct {
	Limits []string `json:"limits"`
	Over   []string `json:"over"`
	// Unsure is what may be over, but nobody can say.
	Unsure []string `json:"unsure"`
}
