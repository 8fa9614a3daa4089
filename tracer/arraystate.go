package tracer

import (
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/tracer/ledger"
	"ipytracer/tracer/numpy"
	"ipytracer/tracer/process"
)

// takeOver lets the probes in NumPy count, beside those on the interpreter where these are in place.
func (s *Session) takeOver(t *target) {
	a := &t.arrays
	if err := s.ledger.ForeseeModules(t.slot, a.files()); err != nil {
		s.log.Warn("the modules of NumPy could not be told", "pid", t.pid, "error", err)
		return
	}
	// What is mapped after this is foreign to the kernel, or has probes.
	if !s.meetModules(t) {
		return // another one is mapped: it will be adopted
	}
	loaded := a.areMapped()
	if slices.ContainsFunc(a.modules, t.hasForeignHandler) {
		s.refuseArrays(t, foreignHandler)
		return
	}
	if !s.moveArrays(t, ledger.ArraysSettling) {
		return
	}
	a.state, a.settled = ledger.ArraysSettling, time.Time{}
	// Without a NumPy nobody can be between two probes.
	if s.meetModules(t); (loaded || a.areMapped()) && t.python.groups[ledger.GroupNumPy] != nil {
		a.settled = time.Now().Add(settling)
	}
	for _, m := range a.modules {
		s.noteUse(ledger.GroupNumPy, fmt.Sprintf("%d places in %s", len(m.sites.All()), path.Base(clean(m.file.Mapping.Path))))
	}
}

// meetModules looks which modules of NumPy a target has mapped. It returns false if one has no probes.
func (s *Session) meetModules(t *target) bool {
	known := true
	for m, err := range s.fs.Mappings(t.pid) {
		if err != nil {
			return false // it has ended
		}
		if m.Perm&process.Exec == 0 || m.File.Inode == 0 || !numpy.IsModule(m.Path) {
			continue
		}
		if module := t.arrays.module(m.File); module != nil {
			module.meet(m)
		} else {
			known = false
		}
	}
	return known
}

func (a *arrays) isSettling() bool { return a.state == ledger.ArraysSettling && !a.refused }

const foreignHandler = "NumPy was given another memory handler than its own, NEP 49"

// moveArrays lets other probes count a target's blocks. False if the target has ended, or some blocks would pass those in NumPy by.
func (s *Session) moveArrays(t *target, to ledger.Arrays) bool {
	by, foreign, err := s.ledger.CountArrays(t.pid, to)
	switch {
	case err != nil:
		return false
	case by == to:
		return true
	case foreign&ledger.ForeignHandler != 0:
		s.refuseArrays(t, foreignHandler)
	default:
		t.arrays.state = ledger.ArraysTracked // until the other NumPy has been adopted
		t.unlisted = true
	}
	return false
}

// hasForeignHandler says whether a memory handler may have been set in any context: then something but NumPy refers to the context
// variable, whose reference count is the first word of the object (Include/object.h).
func (t *target) hasForeignHandler(m *arrayModule) bool {
	if !m.isMapped() {
		return false
	}
	bias, ok := m.sites.Bias(m.file.Mapping.Start, m.file.Mapping.Offset)
	if !ok {
		return true
	}
	var word [8]byte
	if _, err := t.python.memory.ReadAt(word[:], int64(bias+m.sites.Variable)); err != nil {
		return true
	}
	variable := binary.LittleEndian.Uint64(word[:])
	if variable == 0 { // the module is about to be initialised
		return false
	}
	if _, err := t.python.memory.ReadAt(word[:], int64(variable)); err != nil {
		return true
	}
	return binary.LittleEndian.Uint32(word[:]) != 1
}

// arraysPass notes that a target's blocks pass the probes in NumPy by, when these served.
func (t *target) arraysPass(foreign ledger.Foreign) {
	if foreign&ledger.ForeignHandler != 0 {
		t.arrays.leave = foreignHandler
	} else {
		t.arrays.stranger = true
	}
}

// leaveArrays goes back to the probes on PyTraceMalloc_Track, which see the blocks of any NumPy and of any handler.
func (s *Session) leaveArrays(t *target) {
	a := &t.arrays
	if a.leave == "" && !a.stranger || a.refused {
		return
	}
	before := a.state
	a.state = ledger.ArraysTracked // or the probes would not be placed
	if t.python.groups[ledger.GroupNumPy] == nil && !s.budget.isShed(t.root, ledger.GroupNumPy) {
		if err := s.place(t, ledger.GroupNumPy); err != nil {
			s.misses(t.pid, 0, []event.Meter{event.NumPy}, "%v: arrays of another NumPy, or of another memory handler than its own, are not seen", err)
			a.state, a.refused = before, true
			return
		}
		s.note(t, ledger.GroupNumPy)
	}
	if _, _, err := s.ledger.CountArrays(t.pid, ledger.ArraysTracked); err != nil {
		return // it has ended
	}
	if a.leave != "" {
		s.refuseArrays(t, a.leave)
	}
	s.lookForArrays(t.root, s.budget.root(t.root), false)
	a.stranger, t.unlisted = false, true
}

// stepDownArrays takes the probes in NumPy out.
func (t *target) stepDownArrays() {
	for _, m := range t.arrays.modules {
		m.close()
	}
}

// stepUpArrays puts them back.
func (s *Session) stepUpArrays(t *target) error {
	for _, m := range t.arrays.modules {
		if t.arrays.refused || m.probes != nil {
			continue
		}
		if err := s.placeModule(t, m); err != nil {
			return err
		}
		if t.arrays.isSettling() {
			t.arrays.settled = time.Now().Add(settling)
		}
	}
	return nil
}

// nextSettled is when the next target's probes on the interpreter are of no use any more.
func (s *Session) nextSettled() (at time.Time, ok bool) {
	for _, t := range s.targets {
		if a := &t.arrays; !t.gone && a.isSettling() && a.settled.After(time.Now()) && (!ok || a.settled.Before(at)) {
			at, ok = a.settled, true
		}
	}
	return at, ok
}
