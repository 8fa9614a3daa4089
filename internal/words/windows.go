package words

import (
	"fmt"

	"ipytracer/model"
)

// FoundLater describes the time in which memory from a later search was allocated: while the meter was stepped down,
// after a cell began and before another one was over. Either may be "".
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

// StatementsRefused describes the number of a cell's statements that were not distinguished.
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

// In returns IPython's name of cell number n: "In[3]".
func In[N int | int64](n N) string { return fmt.Sprintf("In[%d]", n) }

// CellOf returns the name for people of the run of a cell's window: see [Cell].
func CellOf(w *model.Window) string {
	return Cell(w.Execution, countOf(w.ExecutionCount), w.Silent) + OfKernel(w.Kernel)
}

// Run returns the name for people of run i of some: its In[N], or "a cell (run 3)" if IPython counts none.
func Run(executions, counts []int, i int) string {
	if i < len(counts) && counts[i] > 0 {
		return In(counts[i])
	}
	return Cell(executions[i], -1, false)
}

// LineAt returns the name for people of a place: "In[3] line 2".
func LineAt(p *model.Place) string {
	return inLine(Run([]int{p.Execution}, []int{p.ExecutionCount}, 0), p.Line, "")
}

// countOf returns IPython's number of a run, -1 if it counts none.
func countOf(number *int) int {
	if number == nil {
		return -1
	}
	return *number
}

// inLine returns "In[3] line 2 f" of a cell or a file; without the line or the function if it is not known.
func inLine(text string, line int, function string) string {
	if line > 0 {
		text += fmt.Sprintf(" line %d", line)
	}
	if function != "" && function != "<module>" {
		text += " " + function
	}
	return text
}

// Cell returns the name of a run of a cell for people: its In[N], or its number in the session where IPython counts
// none (count < 0) or does not store it.
func Cell(execution, count int, silent bool) string {
	switch {
	case silent:
		return fmt.Sprintf("a silent cell (run %d)", execution)
	case count < 0:
		return fmt.Sprintf("a cell (run %d)", execution)
	}
	return In(count)
}

// Between returns the name for people of the time between two cells; either is "" at the session's beginning or end.
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

// NoCellRan says how a session comes to have cells: of a notebook, and of another program.
func NoCellRan(notebook bool) string {
	if notebook {
		return "To see what a cell takes, leave `tracer attach` running, run a cell in the notebook (Shift-Enter) " +
			"or at the IPython prompt, then stop the tracer with Ctrl-C. `tracer kernels` lists the kernels it " +
			"can be attached to."
	}
	return "The traced program is not an IPython kernel, so it has no cells: " +
		"the figures above cover its whole run. To see cells, attach to a kernel (`tracer kernels` lists them) " +
		"or start one with `tracer run -- jupyter lab`."
}
