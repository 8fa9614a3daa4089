package attribution

import (
	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/event"
	"ipytracer/model"
)

// process is one traced process over its traced life.
type process struct {
	info        event.ProcessInfo
	index       int // in the order they came
	root        uint32
	parent      int32
	began, gone event.Nanoseconds
	ended       bool
	alive       bool
	adopted     bool // it had begun before there was room for it
	memory
	heritage
	ownWindows
	last      last // its state when it ended
	limits    []model.Limit
	blind     course.Unprobed
	crest     *stacks.Crest
	learnedAt []learning
	kernels   *kernels // nil unless it is one
	name      string   // its name among them: see process.kernel
	pool      string   // the pool in which it waits for the next task at the end
}

// memory is the course of a process's meters.
type memory struct {
	past         course.Gauges
	life         course.Figures
	lives        course.Steps // 1 from its beginning, 0 from its end
	moved        uint64       // the last cut at which it moved
	left         uint64       // the cut at which it ended
	counted      uint64       // the last cut after which a block moved, or memory was refused
	older, newer *process     // in the order in which they moved
}

// heritage is the memory that a process has from its parent.
type heritage struct {
	copied   course.Levels // memory it had at its birth by a fork, until it executes a program
	isForked bool          // it still has that memory, and lives
	isFound  bool          // it was forked before the attach: of its memory then, its parent's size bounds what it shares
	replaced uint64        // the cut at which it executed a program after a fork
}

// ownWindows are the windows of a process.
type ownWindows struct {
	inputs      int64
	open        []*window // cells that run, innermost last
	windows     []*window // all open windows in which the stacks that allocate are counted
	experiments experiments
	between     *window
	lastGap     *window // the last stretch of time in which it ran no cell
	lastCell    *window
	session     *window // of a root
	whole       *window // of a Python that another process of the tree started
	hasWindows  bool
	tops        course.Levels // the highest of any cell so far
	ranCells    int32         // cells that are over
	hadCell     bool          // a cell was ended at its result
}

// learning records the number of windows that had closed when a meter became known.
type learning struct {
	meter  event.Meter
	closed uint64
}

// last is the state of a process when it ended, and how it ended.
type last struct {
	cell             *window     // the innermost that was open, nil for none
	id, line         int         // of its open statement, or of the cell
	statement        *window     // nil for none
	resident, mapped event.Bytes // the most in its last segment
	ending           *event.Ending
}

// experiments are the open experiments of a process.
type experiments struct {
	byName map[string][]*window // innermost last
	open   int
	// refused has the names of experiments that were not opened, with their number, each innermost of its name;
	// crowded: some of these are not known.
	refused map[string]int
	crowded bool
	// ended has the ids of those that closed last, in the order in which they closed; endings is the number of all.
	ended   []int32
	endings int
}

// kernels are the processes of a session that run cells, or could. Where there are several, each has a name: two of
// them have an In[1].
type kernels struct {
	all   []*process
	stale bool // names must be found again
}
