package words

import (
	"fmt"

	"ipytracer/model"
)

// Notes of windows: why one is incomplete, or where it may begin or end.
const (
	OutcomeUnknown = "whether it raised an exception is not known: the tracer came too late to see"
	EndMissed      = "its end was not seen: it goes on to where the next cell begins"
	NoEnd          = "its end was not seen: it goes on to the end of the session"
	Late           = "it was already running when tracing began: its figures start there"
	LateNoEnd      = Late + "; its end was not seen"
	GivenUp        = "given up while it was awaited; its coroutine may still run"
	StillRuns      = "still running when the session ended"
	NoHooksEnd     = "it ends at its result: when its display and hooks were over was not seen"
	EndRefused     = "its end may have been earlier: ends were refused while it was open, there were too many"
	EndUnwatched   = "it may have gone on: the probes on statements were stepped down then, and its figures end there"
	Refused        = "where it begins or ends is not certain: boundaries found no room while it was open"
	Unpaired       = "its end may be another's: too many experiments were open at once"
	NoEndMarker    = "no end marker: it ends with the session"
	OutOfMemory    = "out of memory: the kernel killed the process"
)

// EndedBy says which signal ended a process.
func EndedBy(signal string) string { return "the process was ended by " + signal }

// FoundLater says of memory that a search has found since when it may be there: it was made while the meter was
// stepped down, after a cell began and before another one was over. Either may be "".
func FoundLater(meter, after, before string) string {
	when := "made"
	switch {
	case after != "" && after == before:
		when = "made in " + after
	case after != "" && before != "":
		when = "made between " + after + " and " + before
	case after != "" || before != "":
		when = "made before the end of " + before
		if before == "" {
			when = "made after " + after
		}
	}
	if when != "made" {
		when += ","
	}
	return "(found later: " + when + " while " + meter + " was stepped down)"
}

// StatementsRefused says how many of a cell's statements could not be told apart.
func StatementsRefused(n uint64) string {
	return fmt.Sprintf("%d beginnings and ends of statements were refused in it: there were too many", n)
}

// Suspended says that device memory was moved to the host and back; "" for nil.
func Suspended(s *model.Suspended) string {
	switch {
	case s == nil:
		return ""
	case s.Out == 0 && s.Back == 0:
		return "GPU memory was on the host (tracer gpu yield)"
	}
	text := "up to " + Bytes(s.Bytes) + " of a GPU's memory "
	switch {
	case s.Out == 0:
		text += "came back from the host"
	case s.Back == 0:
		text += "went to the host"
	default:
		text += "went to the host and came back"
	}
	return text + " (tracer gpu yield)"
}

// RanUnseen says that cells ran within a window.
func RanUnseen(cells string) string { return cells + " ran in it without being seen" }

// In is what IPython calls the cell that it has counted as n: "In[3]".
func In[N int | int64](n N) string { return fmt.Sprintf("In[%d]", n) }

// Cells is "In[3]", or "In[3] to In[5]".
func Cells(first, last int64) string {
	if last > first {
		return In(first) + " to " + In(last)
	}
	return In(first)
}

// CellOf is what people call the run that a cell's window is of: see [Cell].
func CellOf(w *model.Window) string {
	count := -1
	if w.ExecutionCount != nil {
		count = *w.ExecutionCount
	}
	return Cell(w.Execution, count, w.Silent) + OfKernel(w.Kernel)
}

// Cell is what people call a run of a cell: its In[N], or which run of the session it was, where IPython counts none (count < 0) or does
// not store it.
func Cell(execution, count int, silent bool) string {
	switch {
	case silent:
		return fmt.Sprintf("a silent cell (run %d)", execution)
	case count < 0:
		return fmt.Sprintf("a cell (run %d)", execution)
	}
	return In(count)
}

// Between is what people call the time between two cells; either is "" where the session began or ended.
func Between(before, after string) string {
	switch {
	case before == "" && after == "":
		return "no cell ran"
	case before == "":
		return "before " + after
	case after == "":
		return "after " + before
	}
	return "between " + before + " and " + after
}
