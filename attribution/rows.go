package attribution

// rows makes the rows of a report of a state: windows, processes, stacks and variables as the model has them.
type rows struct {
	*state
	lent       *lent
	symbolizer *symbolizer
	namespaces *namespaces
	figurer    *figurer
	presenter  *presenter
}

// newRows returns the rows of a state, and of the stacks that makers knows.
func newRows(s *state, m makers) *rows {
	r := &rows{state: s, lent: &lent{}, symbolizer: &symbolizer{state: s}}
	r.namespaces = &namespaces{state: s, symbolizer: r.symbolizer, makers: m}
	r.figurer = &figurer{state: s, lent: r.lent}
	r.presenter = &presenter{
		state: s, symbolizer: r.symbolizer, figurer: r.figurer, enders: enders{s.processes, r.namespaces},
	}
	return r
}
