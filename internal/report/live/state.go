package live

import (
	"slices"

	"ipytracer/model"
)

// Tab is one of the tables.
type Tab int

// The tables.
const (
	Lines Tab = iota
	Variables
	Children
	Cells

	tabs
)

// State is the user's choice of the view. The zero value shows the first process and the largest growth.
type State struct {
	Tab    Tab
	Sort   [tabs]int // the column that a table is sorted by
	Offset int       // rows scrolled away
	PID    int       // the shown process; 0: the first that runs a cell, or else the first
	Meter  string    // the table of lines shows only this meter; "": all meters
	Frozen bool      // the screen does not change
	Help   bool      // the screen shows the keys
	ASCII  bool      // the terminal shows only ASCII
	// ListCells makes [Text] list the cells so far.
	ListCells bool
	Notice    string // a message that is shown until the next key

	marked bool // growth is counted from a mark on
}

// Action is a key's request to the session, beside its effect on the screen.
type Action int

// The actions.
const (
	Nothing       Action = iota
	Quit                 // end the session
	Mark                 // count growth from now on
	Unmark               // count growth from the beginning of cells again
	FindVariables        // look for variables
)

// Press handles a key, and returns what the session must do. A key is a character, or "up", "down", "pgup", "pgdn",
// "home", "tab", "esc", "left", "right", "ctrl+c" or "ctrl+z". The glance is what the screen shows; it may be nil.
func (s *State) Press(key string, glance *model.Glance) Action {
	s.Notice = ""
	if s.Help && key != "q" && key != "ctrl+c" {
		s.Help = false
		return Nothing
	}
	switch key {
	case "q", "Q", "ctrl+c":
		return Quit
	case "?", "h":
		s.Help = true
	case " ", "f":
		s.Frozen = !s.Frozen
	case "ctrl+z":
		s.Notice = "a tracer that is stopped would miss what happens: it goes on; q ends it"
	case "0":
		return s.mark()
	case "u":
		s.Tab, s.Offset, s.Notice = Variables, 0, looking
		return FindVariables
	default:
		s.choose(key, glance)
	}
	return Nothing
}

// looking is the notice until a look for variables has ended.
const looking = "looking for variables …"

// Seen removes the notice about a look for variables if the look ended between two glances.
func (s *State) Seen(before, after *model.Glance) {
	if s.Notice != looking || before == nil || after == nil {
		return
	}
	for _, k := range after.Kernels {
		i := slices.IndexFunc(before.Kernels, func(was model.Kernel) bool { return was.PID == k.PID })
		if i >= 0 && before.Kernels[i].VariablesNS != k.VariablesNS {
			s.Notice = ""
		}
	}
}

// mark sets a mark, or removes it.
func (s *State) mark() Action {
	s.marked = !s.marked
	if s.marked {
		s.Notice = "growth is counted from now on; 0 again: from the cell's beginning"
		return Mark
	}
	return Unmark
}

// choose handles a key that changes the view.
func (s *State) choose(key string, glance *model.Glance) {
	switch key {
	case "l", "1":
		s.Tab, s.Offset = Lines, 0
	case "v", "2":
		s.Tab, s.Offset = Variables, 0
	case "c", "3":
		s.Tab, s.Offset = Children, 0
	case "e", "4":
		s.Tab, s.Offset = Cells, 0
	case "tab":
		s.Tab, s.Offset = (s.Tab+1)%tabs, 0
	case "s", "right":
		s.Sort[s.Tab], s.Offset = (s.Sort[s.Tab]+1)%len(columns[s.Tab]), 0
	case "S", "left":
		n := len(columns[s.Tab])
		s.Sort[s.Tab], s.Offset = (s.Sort[s.Tab]+n-1)%n, 0
	case "m":
		s.nextMeter(glance)
	case "k", "n":
		s.nextKernel(glance)
	case "up":
		s.Offset = max(0, s.Offset-1)
	case "down":
		s.Offset++
	case "pgup":
		s.Offset = max(0, s.Offset-10)
	case "pgdn":
		s.Offset += 10
	case "home":
		s.Offset = 0
	}
}

// nextMeter chooses the next meter that has lines; behind the last one all meters.
func (s *State) nextMeter(glance *model.Glance) {
	if glance == nil || len(glance.Kernels) == 0 {
		return
	}
	meters := []string{""}
	for _, a := range s.kernel(glance).Allocations {
		if !slices.Contains(meters, a.Meter) {
			meters = append(meters, a.Meter)
		}
	}
	slices.Sort(meters)
	s.Meter, s.Offset = meters[(slices.Index(meters, s.Meter)+1)%len(meters)], 0
}

// nextKernel chooses the next process.
func (s *State) nextKernel(g *model.Glance) {
	if g != nil && len(g.Kernels) > 1 {
		s.PID, s.Offset = g.Kernels[(s.index(g)+1)%len(g.Kernels)].PID, 0
	}
}

// index returns the index of the shown process in the glance.
func (s *State) index(glance *model.Glance) int {
	if i := slices.IndexFunc(glance.Kernels, func(k model.Kernel) bool { return k.PID == s.PID }); i >= 0 {
		return i
	}
	return max(0, slices.IndexFunc(glance.Kernels, func(k model.Kernel) bool { return k.Running }))
}

// kernel returns the shown process. The glance must have one.
func (s *State) kernel(g *model.Glance) *model.Kernel { return &g.Kernels[s.index(g)] }
