package words

import "fmt"

// What an audit did not see, as [model.NotJudged] has it: why, and what to type.

// SteppedDown is of a meter whose probes were out for so long, so often.
func SteppedDown(times, ns int64) (why, advice string) {
	return fmt.Sprintf("its probes were stepped down %s, for %s in all, to keep the overhead budget: what was made then is only known where an object was found that has it",
		Times(times), Duration(ns)), "--budget off looks all the time; a larger --budget, for longer"
}

// ChangesLost is of a ring that was full.
func ChangesLost() (why, advice string) {
	return "changes were lost: some blocks are not known, or seem to be there still", "a larger --ring loses none"
}

// BlocksLeftOut is of blocks that an audit had no room for.
func BlocksLeftOut(n int) (why, advice string) {
	return fmt.Sprintf("%d blocks found no room in this audit", n), "audit a shorter part of the session"
}

// RecordsLost is of what else was lost, for a reason.
func RecordsLost(reason string, n uint64) (why, advice string) {
	return Lost(reason, n), "audit a shorter part of the session, or one with less going on at a time"
}

// TracingProblem is of what went wrong on the way.
func TracingProblem(text string) (why, advice string) {
	return Bounded(text, 300), "'sudo tracer doctor' says what this machine allows"
}

// CellRuns is of what a cell has made, or its calls hold, that runs while it is asked.
func CellRuns() (why, advice string) {
	return "the cell that runs has made it, or its calls hold it: what stays of that is not decided yet", "ask in a cell behind it"
}

// ObjectsUnread are of blocks of which nobody could say who holds them: not all objects were looked at, the process had ended, or neither.
func ObjectsUnread(inPart, ended bool) (why, advice string) {
	advice = "audit it while it runs: 'sudo tracer audit PID', or 'sudo tracer attach PID --record FILE' and end that first"
	switch {
	case inPart:
		return "not every object was looked at: who holds a block is not always known", "audit again, when the machine has less to do"
	case ended:
		return "the process had ended: what held it could not be read", advice
	}
	return "what holds it is not known", advice
}

// HeldInside is of blocks that no object of Python's leads to, as far as could be read, where objects of C++ may have
// them.
func HeldInside() (why, advice string) {
	return "no object of Python's was seen to lead to it: a reader, a stream or a writer may have it for itself",
		"delete or close the readers and streams that are not needed any more; if this grows from run to run, there is a verdict"
}

// NoBlocks is of a meter that no probe tells of, with what its source says.
func NoBlocks(source string) (why, advice string) {
	return "no probe tells of its blocks here: " + source, "'sudo tracer doctor' says why"
}

// MadeBefore is of what a process had when the audit began.
func MadeBefore() (why, advice string) {
	return "it was there when the audit began: who made it is not known, and of Python's other objects nothing",
		"'sudo tracer run --record FILE -- COMMAND' sees a process from its first instruction"
}

// NotExplained is of resident memory that no meter has.
func NotExplained() (why, advice string) {
	return "resident memory grew by this more than the arrays and tensors that are left: libraries, Python's other objects, what malloc keeps",
		"the list of live variables names the large ones; --heap tells who called malloc"
}
