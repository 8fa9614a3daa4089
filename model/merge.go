package model

// MergeSchema is the version of the JSON object of a [Merge], in its "schema" field.
const MergeSchema = "ipytracer/merge/v1"

// Merge has recordings of several machines on one timeline. Sizes are bytes, times nanoseconds. Times of the timeline
// count from the beginning of the earliest recording.
type Merge struct {
	Schema string `json:"schema"`
	// Started is the beginning of the timeline by the wall clock of the first recording's machine, RFC 3339, UTC.
	Started string `json:"started"`
	// Meter is the meter of Together, of the nodes' highest values and of Cells.
	Meter string      `json:"meter"`
	Nodes []MergeNode `json:"nodes"` // in the order of the command line
	// Together is the most that all nodes had at once.
	Together Together `json:"together"`
	// Cells are those of all nodes that needed most, by need, 1,000 at most; CellsUnlisted counts the others.
	Cells         []MergeCell `json:"cells"`
	CellsUnlisted int         `json:"cells_unlisted"`
	// Doubts say in words which parts of the timeline are not certain.
	Doubts []string `json:"doubts"`
}

// Ways to place a clock on the timeline.
const (
	// ByReference is the clock of the timeline: that of the first recording.
	ByReference = "reference"
	// ByMessages: messages from one node to another bound the distance of the clocks.
	ByMessages = "messages"
	// ByClockError: the user states how far the wall clocks are apart at most.
	ByClockError = "clock error"
	// ByWallClock: nothing bounds the error; the place is that of the wall clocks.
	ByWallClock = "wall clock"
)

// MergeNode is one recording.
type MergeNode struct {
	Name string `json:"name"` // of the host, with a number where several recordings have it
	File string `json:"file"`
	Host Host   `json:"host"`
	// Clock numbers the clocks, from 0. Recordings of the same clock lie on the timeline without any error.
	Clock   int    `json:"clock"`
	ClockBy string `json:"clock_by"`
	// Messages are the pairs of markers that bound the clock; 0 for none.
	Messages int `json:"messages"`
	// StartNS and EndNS are the best estimates. Earliest and latest are certain; null if nothing bounds them.
	StartNS       int64  `json:"start_ns"`
	EarliestStart *int64 `json:"start_earliest_ns"`
	LatestStart   *int64 `json:"start_latest_ns"`
	EndNS         int64  `json:"end_ns"`
	EarliestEnd   *int64 `json:"end_earliest_ns"`
	LatestEnd     *int64 `json:"end_latest_ns"`
	Kernels       int    `json:"kernels"` // processes that were attached to
	Cells         int    `json:"cells"`
	Failed        int    `json:"failed"` // cells that failed
	Complete      bool   `json:"complete"`
	Finished      string `json:"finished"`
	// Highest is the highest value of a kernel of the node, with its children, as in its report; null without any.
	Highest *MergeHighest `json:"highest"`
}

// MergeHighest is the highest value of a kernel.
type MergeHighest struct {
	PID    int    `json:"pid"`
	Kernel string `json:"kernel"`
	Figure Figure `json:"figure"` // of its session
}

// Together is how much all nodes had at once. It has bounds, because the clocks are not exact, and because memory may
// have been freed and allocated again between two boundaries.
type Together struct {
	Least int64  `json:"least"` // so much was there at some moment
	Most  *int64 `json:"most"`  // and never more than that; null if not known
	// Standing is an estimate between the bounds: the most that all nodes had at once if no meter changed between two
	// boundaries, and if the clocks are as estimated.
	Standing   int64           `json:"standing"`
	StandingNS int64           `json:"standing_ns"` // its moment
	Shares     []TogetherShare `json:"shares"`      // of Standing, the largest first, 16 at most
}

// TogetherShare is the part of a node.
type TogetherShare struct {
	Node  int   `json:"node"` // an index of Nodes
	Bytes int64 `json:"bytes"`
}

// MergeCell is a cell of one of the nodes, with its figure as in the node's report.
type MergeCell struct {
	Node           int    `json:"node"`   // an index of Nodes
	Window         int    `json:"window"` // its id in the node's report
	PID            int    `json:"pid"`
	Kernel         string `json:"kernel"`
	Execution      int    `json:"execution"`
	ExecutionCount *int   `json:"execution_count"`
	Silent         bool   `json:"silent"`
	Status         string `json:"status"`
	AtNS           int64  `json:"at_ns"` // its beginning on the timeline, as estimated
	DurationNS     int64  `json:"duration_ns"`
	Figure         Figure `json:"figure"` // of the process and its children together
	Source         string `json:"source"` // its beginning
}
