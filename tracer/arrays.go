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
	"ipytracer/tracer/ledger"
	"ipytracer/tracer/numpy"
	"ipytracer/tracer/process"
)

// arrays is where a target's NumPy blocks are seen. It begins with the probes on PyTraceMalloc_Track in the interpreter, which serve
// any NumPy, whenever it is loaded. Once NumPy is there and its code is understood, probes in that take over: see bpf/numpy.h, which
// loses nothing meanwhile and counts nothing twice.
type arrays struct {
	modules []*arrayModule
	state   ledger.Arrays
	settled time.Time // while settling: when the probes on the interpreter are not needed any more
	refused bool      // a module was not understood, or there is another memory handler: it stays as it began, or goes back
	// leave says why it must go back, once those in NumPy have taken over; empty: it need not.
	leave string
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
	*a = arrays{}
}

// settling is how long the probes on PyTraceMalloc_Track stay after those in NumPy have taken over: a thread that was between the
// two is past the second by then. It may have had to wait for the interpreter's lock, which changes hands every 5 ms
// (sys.getswitchinterval). Of a block that was longer on its way the end is counted as that of an unknown one.
const settling = 300 * time.Millisecond

// adoptArrays puts probes in NumPy's extension module when it meets it first.
func (s *Session) adoptArrays(t *target, m process.Mapping) {
	if s.options.SmallArrays || m.Perm&process.Exec == 0 || m.File.Inode == 0 || !numpy.IsModule(m.Path) || t.python == nil || t.arrays.refused {
		return
	}
	for _, known := range t.arrays.modules {
		if known.file.Mapping.File == m.File {
			return
		}
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
	if _, gone := s.fs.Identity(t.pid); err == nil || gone != nil {
		return
	}
	why := fmt.Sprintf("%s: %v", clean(m.Path), reason(err))
	if t.arrays.state == ledger.ArraysInside { // another NumPy, loaded later
		t.arrays.leave = why
		return
	}
	s.refuseArrays(t, why)
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
	m.probes, err = s.ledger.Probe(m.file.ProbePath(), t.pid, arrayPlacements(m.sites))
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
	if a.refused || len(a.modules) == 0 || s.budget.isShed(t.root, ledger.GroupNumPy) {
		return
	}
	switch a.state {
	case ledger.ArraysTracked:
		if slices.ContainsFunc(a.modules, t.hasForeignHandler) {
			s.refuseArrays(t, foreignHandler)
			return
		}
		if !s.moveArrays(t, ledger.ArraysSettling) {
			return
		}
		a.state, a.settled = ledger.ArraysSettling, time.Now().Add(settling)
		for _, m := range a.modules {
			s.noteUse(ledger.GroupNumPy, fmt.Sprintf("%d places in %s", len(m.sites.All()), path.Base(clean(m.file.Mapping.Path))))
		}
	case ledger.ArraysSettling:
		if time.Now().Before(a.settled) || !s.moveArrays(t, ledger.ArraysInside) {
			return
		}
		a.state = ledger.ArraysInside
		if c := t.python.groups[ledger.GroupNumPy]; c != nil {
			_ = c.Close()
			delete(t.python.groups, ledger.GroupNumPy)
		}
	}
}

func (a *arrays) isSettling() bool { return a.state == ledger.ArraysSettling && !a.refused }

const foreignHandler = "NumPy was given another memory handler than its own, NEP 49"

// moveArrays lets other probes count a target's blocks. False if the target has ended, or NumPy has another memory handler.
func (s *Session) moveArrays(t *target, to ledger.Arrays) bool {
	by, err := s.ledger.CountArrays(t.pid, to)
	if err == nil && by != to {
		s.refuseArrays(t, foreignHandler)
	}
	return err == nil && by == to
}

// hasForeignHandler says whether a memory handler may have been set in any context: then something but NumPy refers to the context
// variable, whose reference count is the first word of the object (Include/object.h).
func (t *target) hasForeignHandler(m *arrayModule) bool {
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

// handlerSet notes that NumPy was given another memory handler when the probes in it served.
func (t *target) handlerSet() { t.arrays.leave = foreignHandler }

// leaveArrays goes back to the probes on PyTraceMalloc_Track, which see the blocks of any handler.
func (s *Session) leaveArrays(t *target) {
	a := &t.arrays
	if a.leave == "" || a.refused {
		return
	}
	before := a.state
	a.state = ledger.ArraysTracked // or the probes would not be placed
	if t.python.groups[ledger.GroupNumPy] == nil && !s.budget.isShed(t.root, ledger.GroupNumPy) {
		if err := s.place(t, ledger.GroupNumPy); err != nil {
			s.problem("%v: arrays of another memory handler than NumPy's own are not seen", err)
			a.state, a.refused = before, true
			return
		}
	}
	if _, err := s.ledger.CountArrays(t.pid, ledger.ArraysTracked); err == nil {
		s.refuseArrays(t, a.leave)
	}
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
	}
	return nil
}
