package tracer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	"ipytracer/tracer/cpython"
	"ipytracer/tracer/event"
	"ipytracer/tracer/ledger"
	"ipytracer/tracer/numpy"
	"ipytracer/tracer/process"
)

// arrays is where a target's NumPy blocks are seen. Where NumPy's code is found ahead of time and understood, probes are in it before
// the target loads it, and see the first array. Else it begins with the probes on PyTraceMalloc_Track in the interpreter, which serve
// any NumPy, whenever it is loaded, until probes in that take over: see bpf/numpy.h, which loses nothing meanwhile and counts nothing
// twice.
type arrays struct {
	modules  []*arrayModule
	expected []expectedModule
	// foreseen: there is a NumPy on its sys.path. unsure: one of them has no probes.
	foreseen, unsure bool
	state            ledger.Arrays
	settled          time.Time // while settling: when the probes on the interpreter are not needed any more
	refused          bool      // a module was not understood, or there is another memory handler: it stays as it began, or goes back
	// leave says why it must go back, once those in NumPy have taken over; empty: it need not.
	leave string
	// stranger: it must go back until the NumPy that it has loaded is understood.
	stranger bool
}

// arrayModule is NumPy's extension module, with probes in it.
type arrayModule struct {
	file   *process.MappedFile
	sites  numpy.Sites
	probes io.Closer
}

func (m *arrayModule) close() {
	if m.probes != nil {
		_ = m.probes.Close()
		m.probes = nil
	}
}

func (a *arrays) close() {
	for _, m := range a.modules {
		m.close()
		m.file.File.Close()
	}
	for _, e := range a.expected {
		e.file.File.Close()
	}
	*a = arrays{}
}

// module is the one of a file, nil if there is none.
func (a *arrays) module(id process.FileID) *arrayModule {
	for _, m := range a.modules {
		if m.file.Mapping.File == id {
			return m
		}
	}
	return nil
}

func (a *arrays) expects(id process.FileID) bool {
	return slices.ContainsFunc(a.expected, func(e expectedModule) bool { return e.file.Mapping.File == id })
}

func (a *arrays) files() (files []ledger.File) {
	for _, m := range a.modules {
		files = append(files, m.file.File)
	}
	return files
}

// areMapped says whether the target has loaded a NumPy that has probes.
func (a *arrays) areMapped() bool { return slices.ContainsFunc(a.modules, (*arrayModule).isMapped) }

// areSure says whether a target will load no NumPy but those that have probes: it has loaded one, or its sys.path has no other.
func (a *arrays) areSure() bool {
	return a.areMapped() || a.foreseen && !a.unsure && len(a.expected) == 0
}

func (m *arrayModule) isMapped() bool { return m.file.Mapping.End != 0 }

// settling is how long the probes on PyTraceMalloc_Track stay after those in NumPy have taken over: a thread that was between the
// two is past the second by then. It may have had to wait for the interpreter's lock, which changes hands every 5 ms
// (sys.getswitchinterval). Of a block that was longer on its way the end is counted as that of an unknown one.
const settling = 300 * time.Millisecond

// adoptArrays puts probes in NumPy's extension module when it meets it first.
func (s *Session) adoptArrays(t *target, m process.Mapping) {
	if s.options.SmallArrays || m.Perm&process.Exec == 0 || m.File.Inode == 0 || !numpy.IsModule(m.Path) || t.python == nil || t.arrays.refused {
		return
	}
	if t.arrays.expects(m.File) {
		s.placeAhead(t, true)
	}
	if known := t.arrays.module(m.File); known != nil {
		known.meet(m)
		return
	}
	if len(t.arrays.modules) >= maxArrayModules {
		s.giveUpArrays(t, fmt.Sprintf("more than %d files named like NumPy's module are mapped", maxArrayModules))
		return
	}
	file, err := s.fs.OpenMapping(t.pid, m)
	if err != nil {
		s.problem("pid %d: %s could not be opened: %v", t.pid, clean(m.Path), err)
		return
	}
	module := &arrayModule{file: file}
	t.arrays.modules = append(t.arrays.modules, module)
	// While the group is stepped down they are placed when it is stepped up.
	if module.sites, err = s.arraySites(file); err == nil && !s.budget.isShed(t.root, ledger.GroupNumPy) {
		err = s.placeModule(t, module)
	}
	if err == nil || s.hasEnded(t) {
		return
	}
	s.giveUpArrays(t, fmt.Sprintf("%s: %v", clean(m.Path), reason(err)))
}

// giveUpArrays goes back to the probes on PyTraceMalloc_Track, or stays with them, for good.
func (s *Session) giveUpArrays(t *target, why string) {
	if t.arrays.state == ledger.ArraysInside { // another NumPy, loaded later
		t.arrays.leave = why
		return
	}
	s.refuseArrays(t, why)
}

// meet notes where a module that was expected is mapped.
func (m *arrayModule) meet(at process.Mapping) {
	if !m.isMapped() {
		m.file.Mapping = at
	}
}

// reason is an error in the words of the certificate.
func reason(err error) error {
	if errors.Is(err, numpy.ErrNoHandler) {
		return numpy.ErrNoHandler
	}
	return err
}

// refuseArrays leaves a target's blocks, for good, to the probes on PyTraceMalloc_Track.
func (s *Session) refuseArrays(t *target, why string) {
	t.arrays.refused, t.arrays.state = true, ledger.ArraysTracked
	for _, m := range t.arrays.modules {
		m.close()
	}
	s.noteUse(ledger.GroupNumPy, "of every array in pid "+fmt.Sprint(t.pid)+" ("+why+")")
}

func (s *Session) placeModule(t *target, m *arrayModule) (err error) {
	m.probes, err = s.probeFile(t, m.file, arrayPlacements(m.sites))
	return err
}

func arrayPlacements(sites numpy.Sites) []ledger.Placement {
	handlers := ledger.Placement{Program: ledger.NumPyHandler}
	for _, site := range sites.Handlers {
		handlers.Offsets = append(handlers.Offsets, site.FileOffset)
		handlers.Cookies = append(handlers.Cookies, ledger.HandlerPlace(word(site.Block), int64(sites.Handler-site.Address)))
	}
	placement := func(p ledger.Program, sites []numpy.Site) ledger.Placement {
		out := ledger.Placement{Program: p}
		for _, site := range sites {
			size := ledger.Nowhere
			if site.HasSize || site.MaybeSize {
				size = word(site.Size)
			}
			out.Offsets = append(out.Offsets, site.FileOffset)
			out.Cookies = append(out.Cookies, ledger.ArrayPlace(word(site.Block), size))
		}
		return out
	}
	return []ledger.Placement{ // ends first: a beginning without its end is never over
		handlers,
		placement(ledger.NumPyResized, sites.Resized), placement(ledger.NumPyResizing, sites.Resizing),
		placement(ledger.NumPyFreed, sites.Freed), placement(ledger.NumPyMade, sites.Made),
	}
}

func word(p cpython.Place) ledger.Word {
	if p.OnStack {
		return ledger.OnStack + ledger.Word(p.Above/8)
	}
	return ledger.Word(p.Register)
}

// countArrays lets the probes in NumPy take over once they are in all of a target's modules, and takes those on the interpreter
// out when they are of no use any more.
func (s *Session) countArrays(t *target) {
	a := &t.arrays
	if a.refused || len(a.modules) == 0 || len(a.modules) > ledger.MaxModules || s.budget.isShed(t.root, ledger.GroupNumPy) {
		return
	}
	if a.state == ledger.ArraysTracked {
		s.takeOver(t)
	}
	if a.state != ledger.ArraysSettling || time.Now().Before(a.settled) || !a.areSure() || !s.moveArrays(t, ledger.ArraysInside) {
		return
	}
	a.state = ledger.ArraysInside
	s.log.Debug("arrays are seen in NumPy alone", "pid", t.pid, "modules", len(a.modules), "loaded", a.areMapped())
	if c := t.python.groups[ledger.GroupNumPy]; c != nil {
		_ = c.Close()
		delete(t.python.groups, ledger.GroupNumPy)
	}
}

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
