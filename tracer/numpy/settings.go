package numpy

import (
	"slices"

	"ipytracer/tracer/machine"
)

// setting is a call that sets a context variable.
type setting struct {
	*machine.Routine
	call     machine.Call
	variable uint64 // where the pointer to it is loaded from
	checks   bool   // its function asks whether something is a capsule
}

// settings looks for where a memory handler is set: PyContextVar_Set(variable, capsule).
func (f *finder) settings() error {
	references, ok := f.code.References("PyContextVar_Set")
	if !ok || len(references) == 0 {
		return refuse("where a memory handler is set")
	}
	var all []setting
	for _, addr := range references {
		s, err := f.setting(addr)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	if f.sites.Variable, ok = handlersVariable(all); !ok {
		return refuse("which context variable has the memory handler")
	}
	for _, s := range all {
		if s.variable != f.sites.Variable {
			continue
		}
		site, places, ok := s.At(s.call, s.Passed(s.call, 1))
		if !ok {
			return refuse("the memory handler that is set at %#x", s.call.Address)
		}
		f.sites.Handlers = append(f.sites.Handlers, Site{Site: site, Block: places[0]})
	}
	return nil
}

// handlersVariable returns which variable has the memory handler: the one that is set where capsules are checked, which NumPy does since
// 2.1, or the only one. There are others from 2.6 on.
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

// setting looks at one of the calls.
func (f *finder) setting(addr uint64) (s setting, err error) {
	entry, _ := f.code.Enclosing(addr)
	r, ok := f.code.Routine(entry)
	if !ok {
		return s, refuse("the function at %#x, which sets a context variable", entry)
	}
	s.Routine = r
	found := false
	for _, c := range r.Calls() {
		s.checks = s.checks || c.Import == "PyCapsule_IsValid"
		if c.Address == addr {
			s.call, found = c, true
		}
	}
	if found {
		s.variable, found = r.Loaded(r.Passed(s.call, 0))
	}
	if !found {
		return s, refuse("the context variable that is set at %#x", addr)
	}
	return s, nil
}
