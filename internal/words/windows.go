package words

import (
	"cmp"
	"fmt"
	"strings"

	"ipytracer/model"
)

// FoundLater describes memory that was allocated while its meter was paused, and that a later search found. It was
// allocated after the cell after had begun, and before the cell before was over. Each of these names may be "".
func FoundLater(meter, after, before string) string {
	when := "made"
	switch {
	case after != "" && after == before:
		when = "made in " + after
	case after != "" && before != "":
		when = "made between " + after + " and " + before
	case after != "":
		when = "made after " + after
	case before != "":
		when = "made before the end of " + before
	}
	if when != "made" {
		when += ","
	}
	return "(found later: " + when + " while " + meter + " was stepped down)"
}

// StatementsRefused says that n beginnings and ends of a cell's statements were refused.
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

// CellOf returns the name of a cell's window for people: see [Cell].
func CellOf(w *model.Window) string {
	return cmp.Or(NameOf(w), Cell(w.Execution, countOf(w.ExecutionCount), w.Silent)) + OfKernel(w.Kernel)
}

// Run returns the name of run i of a list, for people: its In[N], or "a cell (run 3)" if IPython has no number for it.
// executions has the numbers of the runs in the session. counts has IPython's numbers, 0 for none, and may be shorter.
func Run(executions, counts []int, i int) string {
	isCounted := i < len(counts) && counts[i] > 0
	if isCounted {
		return In(counts[i])
	}
	return Cell(executions[i], notCounted, false)
}

// LineAt returns the name for people of a place: "In[3] line 2".
func LineAt(p *model.Place) string {
	return inLine(Run([]int{p.Execution}, []int{p.ExecutionCount}, 0), p.Line, "")
}

// notCounted is the number of a run that IPython does not count.
const notCounted = -1

// countOf returns IPython's number of a run, or notCounted.
func countOf(number *int) int {
	if number == nil {
		return notCounted
	}
	return *number
}

// inLine returns "In[3] line 2 f" for text, a cell or a file. A line or function that is not known is left out.
func inLine(text string, line int, function string) string {
	if line > 0 {
		text += fmt.Sprintf(" line %d", line)
	}
	if function != "" && function != "<module>" {
		text += " " + function
	}
	return text
}

// Cell returns the name for people of a run of a cell: its In[N]. Where IPython does not count the run (count < 0) or
// does not store the cell (silent), the name has the run's number in the session.
func Cell(execution, count int, silent bool) string {
	switch {
	case silent:
		return fmt.Sprintf("a silent cell (run %d)", execution)
	case count < 0:
		return fmt.Sprintf("a cell (run %d)", execution)
	}
	return In(count)
}

// Between returns the name for people of the time between two cells. before is "" at the session's beginning, and after
// at its end.
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

// NoCellRan says what to do to see cells, in a session with a notebook's kernel, or with other programs only.
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

// Within names the line within the first of a cell's statements that made most of what the statement needed, "line 2
// (most of it)", and returns its code, not escaped. there are the stacks with memory at the statement's peak. Both are
// "" if that is the statement's first line, or not known.
func Within(cell *model.Window, statements []model.Window, there []model.Allocation, meter string) (where,
	code string) {
	of, lines := &statements[0], strings.Split(cell.Source, "\n")
	last := len(lines)
	if len(statements) > 1 && statements[1].Line > of.Line {
		last = min(last, statements[1].Line-1)
	}
	line := lineWithin(there, cell.Execution, of.Line, last, meter, of.Meters[meter].Need())
	if line <= of.Line || of.Line == 0 || strings.HasPrefix(lines[0], "%%") {
		return "", ""
	}
	return fmt.Sprintf("line %d (most of it)", line), strings.TrimSpace(lines[line-1])
}

// lineWithin returns the line of a cell, from first to last, with calls that had at least half of some bytes of a
// meter; 0 if there is none. Within a compound statement it is the line that made the memory.
func lineWithin(there []model.Allocation, execution, first, last int, meter string, bytes int64) int {
	line := 0
	atPeak := map[int]int64{}
	for i := range there {
		a := &there[i]
		if a.Meter != meter || len(a.Stack) == 0 {
			continue
		}
		if f := &a.Stack[len(a.Stack)-1]; f.Execution == execution && f.Line >= first && f.Line <= last {
			atPeak[f.Line] += a.AtPeak
		}
	}
	for at, had := range atPeak {
		if 2*had >= bytes && (line == 0 || had > atPeak[line] || had == atPeak[line] && at < line) {
			line = at
		}
	}
	return line
}
