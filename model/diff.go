package model

// DiffSchema is the version of the JSON object of a [Diff], in its "schema" field.
const DiffSchema = "ipytracer/diff/v1"

// Diff is two sessions side by side: A before, B after. Sizes are exact bytes, times nanoseconds; a change is B − A.
type Diff struct {
	Schema string  `json:"schema"`
	A      DiffRun `json:"a"`
	B      DiffRun `json:"b"`
	// Meters are the compared meters, the ranking one first.
	Meters []string `json:"meters"`
	// Least is the smallest change, in bytes, that makes a cell a cause or that is judged.
	Least int64 `json:"least"`
	// Whole has the sessions: the first of A with the first of B, and so on.
	Whole []WholeDiff `json:"whole"`
	// Causes are the cells that caused the difference. Cells with an edited source come first, and then the largest
	// change: of the cell's own bytes, or of a cell that follows from it.
	Causes []Cause    `json:"causes"`
	Cells  []CellDiff `json:"cells"` // in B's order; cells that went stand at their old place
	// Doubts say in words why figures may not be comparable.
	Doubts []string   `json:"doubts"`
	Judged *Judgement `json:"judged"` // nil without a limit to judge
}

// DiffRun is one of the two recordings.
type DiffRun struct {
	File       string `json:"file"`
	Host       Host   `json:"host"`
	Python     string `json:"python"`  // of the processes that ran cells, "" if not known
	IPython    string `json:"ipython"` // likewise
	Cells      int    `json:"cells"`
	DurationNS int64  `json:"duration_ns"`
	Finished   string `json:"finished"`
	Complete   bool   `json:"complete"` // as in the certificate
}

// WholeDiff is two sessions, each a process with its children; nil if one is missing.
type WholeDiff struct {
	Command string      `json:"command"`
	Meters  []MeterDiff `json:"meters"`
	// PeakA and PeakB are the cells in which the ranking meter was highest, as indices of Cells; null if it was highest
	// outside of cells.
	PeakA *int `json:"peak_a"`
	PeakB *int `json:"peak_b"`
}

// MeterDiff is one meter in both runs, of the process and its children together; nil without a figure.
type MeterDiff struct {
	Meter string  `json:"meter"`
	A     *Figure `json:"a"`
	B     *Figure `json:"b"`
	// Changes. A missing run counts as 0.
	Start    int64 `json:"start"`
	Need     int64 `json:"need"`
	Peak     int64 `json:"peak"`
	Consumed int64 `json:"consumed"`
}

// Changes of a cell.
const (
	Same   = "same"
	Edited = "edited"
	Moved  = "moved" // same source, at another place in the order
	New    = "new"
	Gone   = "gone"
)

// CellDiff is a run of a cell in both sessions.
type CellDiff struct {
	Change string      `json:"change"`
	A      *DiffCell   `json:"a"` // null for a new one
	B      *DiffCell   `json:"b"` // null for one that is gone
	Meters []MeterDiff `json:"meters"`
	// Lines are the stacks with memory at the cell's peaks, where that has changed: the largest change first, 12 at
	// most.
	Lines []LineDiff `json:"lines,omitempty"`
	// Edits are the differences in the source of an edited cell, in order, 256 at most.
	Edits []Edit `json:"edits,omitempty"`
	Why   string `json:"why,omitempty"` // in words, for a change of Least or more
	// Reads explains a change of a cell with an unchanged source: the names that lead from this cell to the edited, new
	// or gone cell that gave one of them a different value.
	Reads []DiffRead `json:"reads,omitempty"`
	// Consequence: its figures are higher or lower only because of the cells before it.
	Consequence bool `json:"consequence,omitempty"`
}

// Edit is one difference between the sources of a cell: LinesA lines from line A on in A, and LinesB lines from line B
// on in B. If a source has none of these lines, its line is the one before which they would be.
type Edit struct {
	A      int `json:"a"`
	LinesA int `json:"lines_a"`
	B      int `json:"b"`
	LinesB int `json:"lines_b"`
}

// DiffRead is a name that a cell reads, and the cell that defined it.
type DiffRead struct {
	Name string `json:"name"` // "" without the notebook's source
	Cell int    `json:"cell"` // an index of Cells
	// InPlace: the cell did not define the name, but changed its value, or may have: x[0] = 1, x.append(1).
	InPlace bool `json:"in_place,omitempty"`
	// Released: the reading cell does not read the name, but deletes it or binds it anew.
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

// LineDiff is the memory of one line at a meter's peak in a cell, in both runs.
type LineDiff struct {
	Meter    string `json:"meter"`
	Function string `json:"function"`
	File     string `json:"file"` // "" for a line of a cell
	Line     int    `json:"line"` // in B, or in A if B lacks it; 0 if not known
	// Cell is the index in Cells of the line's cell, −1 for a line of a file, or of another cell.
	Cell   int    `json:"cell"`
	Source string `json:"source,omitempty"` // of a cell's line
	A      int64  `json:"a"`                // bytes
	B      int64  `json:"b"`
	Change int64  `json:"change"`
}

// Cause is a cell that itself caused a difference.
type Cause struct {
	Cell  int    `json:"cell"` // an index of Cells
	Meter string `json:"meter"`
	Bytes int64  `json:"bytes"` // change of its need or of its kept memory, the larger one
	// Edited: the source of the cell has changed, or of the cell with the line that caused the difference.
	Edited bool   `json:"edited"`
	Why    string `json:"why"`
	// Follows are cells that need or keep another amount because of a name that they read from this one, in their
	// order.
	Follows []DiffFollow `json:"follows,omitempty"`
}

// DiffFollow is a cell that follows from a cause.
type DiffFollow struct {
	Cell  int    `json:"cell"` // an index of Cells
	Meter string `json:"meter"`
	Bytes int64  `json:"bytes"` // change of its need or of its kept memory, the larger one
	Why   string `json:"why"`
}

// Judgement is the comparison with the limits.
type Judgement struct {
	Limits []string `json:"limits"`
	Over   []string `json:"over"`
	// Unsure lists limits that may be exceeded, which the recordings cannot decide.
	Unsure []string `json:"unsure"`
}
