package text

import "ipytracer/model"

// Texts for other pages than the report's, in the same words. They are escaped unless noted otherwise.

// MeterName returns the name of a meter for people: resident, numpy, GPU 0 active. It is not escaped.
func MeterName(id string) string { return meterName(id) }

// Label returns the name of a window for people: In[3], line 7, an experiment's name. It is not escaped.
func Label(w model.Window) string { return label(w) }

// CellName returns the name of a cell for people: its In[N]; if IPython counts none its first line, or without that the
// number of its run.
func CellName(w *model.Window) string { return nameOf(w) }

// LimitName returns the name of a limit for people.
func LimitName(l model.Limit) string { return limitName(l) }

// Total returns the value of a meter at the end of a window, or now, with a mark if it is not exact; a dash if there is
// none.
func Total(figures map[string]model.Figure, meter string) string {
	return total.show(figures, meter).text
}

// Highest returns the peak of a meter in a window, likewise.
func Highest(figures map[string]model.Figure, meter string) string {
	return highest.show(figures, meter).text
}

// Need returns the need of a window above its start, likewise.
func Need(figures map[string]model.Figure, meter string) string {
	return need.show(figures, meter).text
}

// Kept returns the memory of a meter that a window kept, likewise.
func Kept(figures map[string]model.Figure, meter string) string {
	return consumed.show(figures, meter).text
}

// VariableCells returns the cells of a row about a variable: alone, reaches, name, type, shape and its stack.
func VariableCells(x model.Variable) [6]string {
	return [6]string{aloneOf(x), reachesOf(x), variableName(x), x.Type, shapeOf(x), maker(x)}
}
