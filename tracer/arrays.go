package tracer

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"ipytracer/tracer/ledger"
	"ipytracer/tracer/machine"
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

func word(p machine.Place) ledger.Word {
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
