package text

import (
	"fmt"

	"ipytracer/internal/words"
	"ipytracer/model"
)

// Texts for other pages than the report's, in the same words. They are escaped unless noted otherwise.

// Label returns the name of a window for people: In[3], line 7, an experiment's name. It is not escaped.
func Label(w model.Window) string { return label(w) }

// CellName returns the name of a cell for people: its In[N]; if IPython counts none its first line, or without that the
// number of its run.
func CellName(w *model.Window) string { return nameOf(w) }

// LimitName returns the name of a limit for people.
func LimitName(l model.Limit) string { return limitName(l) }

// VariableCells returns the cells of a row about a variable: alone, reaches, name, type, shape and its stack.
func VariableCells(x model.Variable) [6]string {
	return [6]string{aloneOf(x), reachesOf(x), variableName(x), x.Type, shapeOf(x), maker(x)}
}

// PlaceName returns "In[3] line 2".
func PlaceName(p *model.Place) string {
	text := RunName([]int{p.Execution}, []int{p.ExecutionCount}, 0)
	if p.Line > 0 {
		text += fmt.Sprintf(" line %d", p.Line)
	}
	return text
}

// runs names the cells of a verdict: "In[3], In[5]"; those after the first few are counted.
func runs(v *model.Verdict) string {
	const few = 6
	text := ""
	for i := range v.Executions {
		if i == few && len(v.Executions) > few+1 {
			return text + fmt.Sprintf(" and %d more", len(v.Executions)-few)
		}
		if i > 0 {
			text += ", "
		}
		text += RunName(v.Executions, v.ExecutionCounts, i)
	}
	return text
}

// RunName returns "In[3]", or "a cell (run 3)" if IPython counts none.
func RunName(executions, counts []int, i int) string {
	if i < len(counts) && counts[i] > 0 {
		return words.In(counts[i])
	}
	return words.Cell(executions[i], -1, false)
}

// titles are the kinds of verdict in words.
var titles = map[string]string{
	model.RerunGrowth: "grows with each run of the cell", model.HeldAfterWindow: "held after its cell",
	model.HeldByTraceback: "held by a traceback",
	model.HeldByOutput:    "held by the output history", model.Fragmentation: "reserved, but in pieces",
	model.ChildAlive: "a process that never ended",
	model.FreedLate:  "freed late", model.NeverFreed: "never freed", model.IdlePool: "an idle pool of processes",
	model.HeldByView: "held by a view", model.Waits: "waits for the garbage collector, no leak",
	model.LostInCycle: "lost in a cycle the collector cannot see",
}
