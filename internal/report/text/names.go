package text

import (
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
