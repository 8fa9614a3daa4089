package numpy

import (
	"slices"

	"ipytracer/internal/code/machine"
)

// setting is a call that sets a context variable.
type setting struct {
	*machine.Routine
	call     machine.Call
	variable uint64 // where the pointer to it is loaded from
	checks   bool   // its function asks whether something is a capsule with a memory handler
}

// contextSetter is called with a variable and its new value: PyContextVar_Set(variable, capsule).
const contextSetter = "PyContextVar_Set"

// settings looks for where a memory handler is set.
func (f *finder) settings() error {
	references, err := f.routines.references(contextSetter)
	if err != nil {
		return err
	}
	if len(references) == 0 {
		return refuse("where a memory handler is set")
	}
	var all []setting
	for _, r := range references {
		s, err := f.setting(r)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	var ok bool
	if f.sites.Variable, ok = handlersVariable(all); !ok {
		return refuse("which context variable has the memory handler")
	}
	for _, s := range all {
		if s.variable != f.sites.Variable {
			continue
		}
		site, capsule, ok := s.AtArgument(s.call, 1)
		if first, places, known := s.At(s.call, s.Passed(s.call, 1)); known {
			site, capsule, ok = first, places[0], true
		}
		if !ok {
			return refuse("the memory handler that is set at %#x", s.call.Address)
		}
		if err := f.add(&f.sites.Handlers, Site{Site: site, Block: capsule}); err != nil {
			return err
		}
	}
	return nil
}

// handlersVariable returns the variable that has the memory handler: the one that is set where capsules are checked,
// which NumPy does since 2.1, or the only one. There are others from 2.6 on.
func handlersVariable(all []setting) (variable uint64, ok bool) {
	checked := slices.ContainsFunc(all, func(s setting) bool { return s.checks })
	for _, s := range all {
		if checked && !s.checks {
			continue
		}
		if ok && s.variable != variable {
			return 0, false
		}
		variable, ok = s.variable, true
	}
	return variable, ok
}

// capsuleName is the name of capsules with a memory handler: NEP 49.
const capsuleName = "mem_handler"

// setting finds the call that a reference to the setter belongs to, and its variable.
func (f *finder) setting(r reference) (s setting, err error) {
	s.Routine = r.Routine
	found := false
	var named []machine.Call
	for _, c := range r.Calls() {
		if c.Import == contextSetter && c.Target == 0 {
			named = append(named, c)
		}
		if c.Import == "PyCapsule_IsValid" && c.Target == 0 {
			name, ok := r.Address(r.Passed(c, 1))
			s.checks = s.checks || ok && f.holds(name, capsuleName)
		}
		if c.Address == r.addr {
			s.call, found = c, true
		}
	}
	if !found && len(named) == 1 { // the pointer to the function is loaded there, and called elsewhere
		s.call, found = named[0], true
	}
	if found {
		s.variable, found = r.Loaded(r.Passed(s.call, 0))
	}
	if !found {
		return s, refuse("the context variable that is set at %#x", r.addr)
	}
	return s, nil
}

// holds reports whether the file has a string at an address.
func (f *finder) holds(addr uint64, text string) bool {
	held := make([]byte, len(text)+1)
	return f.code.Read(addr, held) == nil && string(held) == text+"\x00"
}
