package numpy

import (
	"slices"

	"ipytracer/internal/code/machine"
)

// setting is a call that sets a context variable, with the function that it is in.
type setting struct {
	*machine.Routine
	call     machine.Call
	variable uint64 // the address of the pointer to the variable
	checks   bool   // the function asks whether a value is a capsule with a memory handler
}

// contextSetter is called with a variable and its new value: PyContextVar_Set(variable, capsule).
const contextSetter = "PyContextVar_Set"

// addSettings adds the sites where a memory handler is set.
func (f *finder) addSettings() error {
	references, err := f.routines.references(contextSetter)
	if err != nil {
		return err
	}
	if len(references) == 0 {
		return refuse("cannot tell where a memory handler is set")
	}
	var settings []setting
	for _, r := range references {
		s, err := f.findSetting(r)
		if err != nil {
			return err
		}
		settings = append(settings, s)
	}
	var ok bool
	if f.sites.Variable, ok = handlersVariable(settings); !ok {
		return refuse("cannot tell which context variable has the memory handler")
	}
	for _, s := range settings {
		if s.variable != f.sites.Variable {
			continue
		}
		site, capsule, ok := s.AtArgument(s.call, 1)
		if first, places, known := s.At(s.call, s.Passed(s.call, 1)); known {
			site, capsule, ok = first, places[0], true
		}
		if !ok {
			return refuse("cannot tell which memory handler is set at %#x", s.call.Address)
		}
		if err := f.addSite(&f.sites.Handlers, Site{Site: site, Block: capsule}); err != nil {
			return err
		}
	}
	return nil
}

// handlersVariable returns the variable that has the memory handler. Since 2.1 NumPy checks the capsule before it sets
// that variable, and from 2.6 on it has other variables. So only settings with a check count, if there are any. ok is
// false if these have different variables.
func handlersVariable(settings []setting) (variable uint64, ok bool) {
	anyChecks := slices.ContainsFunc(settings, func(s setting) bool { return s.checks })
	for _, s := range settings {
		if anyChecks && !s.checks {
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

// findSetting finds the call that a reference to the setter belongs to, and its variable.
func (f *finder) findSetting(r reference) (s setting, err error) {
	s.Routine = r.Routine
	found := false
	var named []machine.Call // calls of the setter by its name
	for _, c := range r.Calls() {
		if c.Import == contextSetter && c.Target == 0 {
			named = append(named, c)
		}
		if c.Import == "PyCapsule_IsValid" && c.Target == 0 {
			name, ok := r.Address(r.Passed(c, 1))
			s.checks = s.checks || ok && f.hasText(name, capsuleName)
		}
		if c.Address == r.addr {
			s.call, found = c, true
		}
	}
	if !found && len(named) == 1 { // r only loads the pointer to the setter, which is called elsewhere in the function
		s.call, found = named[0], true
	}
	if found {
		s.variable, found = r.Loaded(r.Passed(s.call, 0))
	}
	if !found {
		return s, refuse("cannot tell the context variable that is set at %#x", r.addr)
	}
	return s, nil
}

// hasText reports whether the file has a string at an address.
func (f *finder) hasText(addr uint64, text string) bool {
	held := make([]byte, len(text)+1)
	return f.code.Read(addr, held) == nil && string(held) == text+"\x00"
}
