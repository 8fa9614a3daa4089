package attribution

import "ipytracer/attribution/internal/windows"

// rows makes the rows of a report of a state: windows, processes, stacks and variables as the model has them.
type rows struct {
	*windows.State
	lent       *lent
	symbolizer *symbolizer
	namespaces *namespaces
	figurer    *figurer
	presenter  *presenter
}

// newRows returns the rows of a state, and of the stacks that makers knows.
func newRows(s *windows.State, m windows.Makers) *rows {
	r := &rows{State: s, lent: &lent{}, symbolizer: &symbolizer{State: s}}
	r.namespaces = &namespaces{State: s, symbolizer: r.symbolizer, makers: m}
	r.figurer = &figurer{State: s, lent: r.lent}
	r.presenter = &presenter{
		State: s, symbolizer: r.symbolizer, figurer: r.figurer, enders: enders{s.Processes, r.namespaces},
	}
	return r
}
