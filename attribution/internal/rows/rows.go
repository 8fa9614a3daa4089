// Package rows makes the rows of a report from the windows and processes of a session. They have figures with their
// exactness, stacks as a report shows them, and named variables. It changes nothing.
package rows

import "ipytracer/attribution/internal/windows"

// Rows makes the rows of a report of a state: windows, processes, stacks and variables as the model has them.
type Rows struct {
	*windows.State
	Reused     *reused
	Symbolizer *symbolizer
	Namespaces *Namespaces
	Figurer    *figurer
	Presenter  *presenter
}

// New returns the rows of a state, and of the stacks that makers knows.
func New(s *windows.State, m windows.Makers) *Rows {
	r := &Rows{State: s, Reused: &reused{}, Symbolizer: &symbolizer{State: s}}
	r.Namespaces = &Namespaces{State: s, symbolizer: r.Symbolizer, makers: m}
	r.Figurer = &figurer{State: s, reused: r.Reused}
	r.Presenter = &presenter{
		State: s, symbolizer: r.Symbolizer, figurer: r.Figurer, enders: Enders{s.Processes, r.Namespaces},
	}
	return r
}
