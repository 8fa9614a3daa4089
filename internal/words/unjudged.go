package words

import "fmt"

// The functions below return a reason of a [model.NotJudged] in words: why there is no verdict, and what to do.

// SteppedDown says that a meter's probes were paused, how many times, and for how many nanoseconds in all.
func SteppedDown(times, ns int64) (why, advice string) {
	return fmt.Sprintf("its probes were stepped down %s, for %s in all, to keep the overhead budget: "+
		"memory that was allocated then is known only if an object that holds it was found",
		Times(times), Duration(ns)), "--budget off looks all the time; a larger --budget, for longer"
}

// ChangesLost says that changes were lost because the ring was full.
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

// ObjectsUnread says that the holders of blocks are not known: because not all objects were looked at (inPart), because
// the process had ended, or for another reason.
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

// HeldInside says that no path was found from a Python object to the blocks, but that objects of C++ may hold them.
func HeldInside() (why, advice string) {
	return "no object of Python's was seen to lead to it: a reader, a stream or a writer may have it for itself",
		"delete or close the readers and streams that are not needed any more; " +
			"if this grows from run to run, there is a verdict"
}

// NoBlocks says that no probe reports the blocks of a meter. source is the text of the meter's source.
func NoBlocks(source string) (why, advice string) {
	return "no probe tells of its blocks here: " + source, "'sudo tracer doctor' says why"
}

// MadeBefore says that a process had the memory when the audit began.
func MadeBefore() (why, advice string) {
	return "it was there when the audit began: who made it is not known, and of Python's other objects nothing",
		"'sudo tracer run --record FILE -- COMMAND' sees a process from its first instruction"
}

// NotExplained says that resident memory grew by more than the blocks that meters count.
func NotExplained() (why, advice string) {
	return "resident memory grew by this more than the arrays and tensors that are left: " +
			"libraries, Python's other objects, what malloc keeps",
		"the list of live variables names the large ones; --heap tells who called malloc"
}

// SampledBlocks says that an audit knows some small blocks only from samples.
func SampledBlocks() (why, advice string) {
	return "of blocks below 64 KiB only samples were recorded at times, to keep the overhead budget: " +
			"a verdict counts each as the blocks that it stands for, which is right on average",
		"'--budget off', without %tracer counts, records all of them"
}
