package words

import "fmt"

// Reasons of a [model.NotJudged]: the cause, and the code to type.

// SteppedDown says that a meter's probes were stepped down, for a total time and a number of times.
func SteppedDown(times, ns int64) (why, advice string) {
	return fmt.Sprintf("its probes were stepped down %s, for %s in all, to keep the overhead budget: "+
		"what was made then is only known where an object was found that has it",
		Times(times), Duration(ns)), "--budget off looks all the time; a larger --budget, for longer"
}

// ChangesLost says that the ring was full.
func ChangesLost() (why, advice string) {
	return "changes were lost: some blocks are not known, or seem to be there still", "a larger --ring loses none"
}

// BlocksLeftOut says that an audit had no room for blocks.
func BlocksLeftOut(n int) (why, advice string) {
	return fmt.Sprintf("%d blocks found no room in this audit", n), "audit a shorter part of the session"
}

// RecordsLost describes any other loss, by its reason.
func RecordsLost(reason string, n uint64) (why, advice string) {
	return Lost(reason, n), "audit a shorter part of the session, or one with less going on at a time"
}

// TracingProblem describes an error while tracing.
func TracingProblem(text string) (why, advice string) {
	return Bounded(text, 300), "'sudo tracer doctor' says what this machine allows"
}

// CellRuns says that the memory belongs to a cell that is still running, or to its calls.
func CellRuns() (why, advice string) {
	return "the cell that runs has made it, or its calls hold it: what stays of that is not decided yet",
		"ask in a cell behind it"
}

// ObjectsUnread says that the holders of blocks are not known: not all objects were looked at, the process had ended,
// or neither.
func ObjectsUnread(inPart, ended bool) (why, advice string) {
	advice = "audit it while it runs: 'sudo tracer audit PID', " +
		"or 'sudo tracer attach PID --record FILE' and end that first"
	switch {
	case inPart:
		return "not every object was looked at: who holds a block is not always known",
			"audit again, when the machine has less to do"
	case ended:
		return "the process had ended: what held it could not be read", advice
	}
	return "what holds it is not known", advice
}

// HeldInside says that no readable path from an object of Python's leads to the blocks, but objects of C++ may have
// them.
func HeldInside() (why, advice string) {
	return "no object of Python's was seen to lead to it: a reader, a stream or a writer may have it for itself",
		"delete or close the readers and streams that are not needed any more; " +
			"if this grows from run to run, there is a verdict"
}

// NoBlocks says that no probe reports the blocks of a meter, with the text of the meter's source.
func NoBlocks(source string) (why, advice string) {
	return "no probe tells of its blocks here: " + source, "'sudo tracer doctor' says why"
}

// MadeBefore says that a process had the memory when the audit began.
func MadeBefore() (why, advice string) {
	return "it was there when the audit began: who made it is not known, and of Python's other objects nothing",
		"'sudo tracer run --record FILE -- COMMAND' sees a process from its first instruction"
}

// NotExplained says that no meter has this resident memory.
func NotExplained() (why, advice string) {
	return "resident memory grew by this more than the arrays and tensors that are left: " +
			"libraries, Python's other objects, what malloc keeps",
		"the list of live variables names the large ones; --heap tells who called malloc"
}
