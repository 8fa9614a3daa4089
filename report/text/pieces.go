package text

import "ipytracer/model"

// What other pages than the report's show of the same things, in the same words. What comes out is escaped unless it says otherwise.

// MeterName is what people call a meter: resident, numpy, GPU 0 active. It is not escaped.
func MeterName(id string) string { return meterName(id) }

// Label is what people call a window: In[3], line 7, an experiment's name. It is not escaped.
func Label(w model.Window) string { return label(w) }

// CellName is what people call a cell: its In[N]; where IPython counts none its first line, or which run it was where that is not known.
func CellName(w *model.Window) string { return nameOf(w) }

// LimitName is what people call a limit.
func LimitName(l model.Limit) string { return limitName(l) }

// Total is what a meter had at the end of a window, or has now, with the mark of what is not exact; a dash where there is none.
func Total(figures map[string]model.Figure, meter string) string {
	return total.show(figures, meter).text
}

// Highest is the most that a meter had in a window, likewise.
func Highest(figures map[string]model.Figure, meter string) string {
	return highest.show(figures, meter).text
}

// Need is what a window needed above its start, likewise.
func Need(figures map[string]model.Figure, meter string) string {
	return need.show(figures, meter).text
}

// Kept is what a window kept of a meter, likewise.
func Kept(figures map[string]model.Figure, meter string) string {
	return consumed.show(figures, meter).text
}

// VariableCells are what stands in a row about a variable: alone, reaches, name, type, shape and by whom it was made.
func VariableCells(x model.Variable) [6]string {
	return [6]string{aloneOf(x), reachesOf(x), variableName(x), x.Type, shapeOf(x), maker(x)}
}
