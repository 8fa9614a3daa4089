package tracer

import (
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/numpy"
)

// settling is how long the probes on PyTraceMalloc_Track stay after those in NumPy have taken over: a thread that was
// between the two has passed the second by then. It may have waited for the interpreter's lock, which changes hands
// every 5 ms (sys.getswitchinterval). The free of a block that took longer is counted as that of an unknown one.
const settling = 300 * time.Millisecond

// count lets the probes in NumPy take over once they are in all of the target's modules. It takes those on the
// interpreter out when they are of no use any more.
func (i *numpyInstrument) count() {
	if i.refused || len(i.modules) == 0 || len(i.modules) > ledger.MaxModules ||
		i.isShed(i.target.root, ledger.GroupNumPy) {
		return
	}
	if i.state == ledger.ArraysTracked {
		i.takeOver()
	}
	if i.state != ledger.ArraysSettling || time.Now().Before(i.settled) || !i.areSure() ||
		!i.move(ledger.ArraysInside) {
		return
	}
	i.state = ledger.ArraysInside
	i.log.Debug("arrays are seen in NumPy alone", "pid", i.target.pid, "modules", len(i.modules),
		"loaded", i.areMapped())
	i.untrack()
}

// takeOver lets the probes in NumPy count, beside those on the interpreter where these are in place.
func (i *numpyInstrument) takeOver() {
	if err := i.counter.foresee(i.target, i.files()); err != nil {
		i.log.Warn("the modules of NumPy could not be told", "pid", i.target.pid, "error", err)
		return
	}
	// A module that is mapped after this is foreign to the kernel, or has probes.
	if !i.meetModules() {
		return // another one is mapped: it will be adopted
	}
	loaded := i.areMapped()
	if slices.ContainsFunc(i.modules, i.target.hasForeignHandler) {
		i.refuse(foreignHandler)
		return
	}
	if !i.move(ledger.ArraysSettling) {
		return
	}
	i.state, i.settled = ledger.ArraysSettling, time.Time{}
	// Without a NumPy no thread can be between two probes.
	if i.meetModules(); (loaded || i.areMapped()) && i.tracked != nil {
		i.settled = time.Now().Add(settling)
	}
	for _, m := range i.modules {
		i.noteUse(ledger.GroupNumPy, fmt.Sprintf("%d places in %s", len(m.sites.All()),
			path.Base(clean(m.file.Mapping.Path))))
	}
}

// meetModules finds the modules of NumPy that the target has mapped. It returns false if one has no probes.
func (i *numpyInstrument) meetModules() bool {
	known := true
	for m, err := range i.mappings(i.target.pid) {
		if err != nil {
			return false // it has ended
		}
		if m.Perm&process.Exec == 0 || m.File.Inode == 0 || !numpy.IsModule(m.Path) {
			continue
		}
		if module := i.module(m.File); module != nil {
			module.meet(m)
		} else {
			known = false
		}
	}
	return known
}

func (i *numpyInstrument) isSettling() bool { return i.state == ledger.ArraysSettling && !i.refused }

const foreignHandler = "NumPy was given another memory handler than its own, NEP 49"

// move lets other probes count the target's blocks. It returns false if the target has ended, or if some blocks would
// bypass those in NumPy.
func (i *numpyInstrument) move(to ledger.Arrays) bool {
	by, foreign, err := i.counter.countBy(i.target, to)
	switch {
	case err != nil:
		return false
	case by == to:
		return true
	case foreign&ledger.ForeignHandler != 0:
		i.refuse(foreignHandler)
	default:
		i.state = ledger.ArraysTracked // until the other NumPy has been adopted
		i.target.unlisted = true
	}
	return false
}

// hasForeignHandler reports whether a memory handler may have been set in any context: then an object outside NumPy
// refers to the context variable. Its reference count is the first word of the object (Include/object.h).
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

// pass notes that the target's blocks bypass the probes in NumPy, while these served.
func (i *numpyInstrument) pass(foreign ledger.Foreign) {
	if foreign&ledger.ForeignHandler != 0 {
		i.leaving = foreignHandler
	} else {
		i.stranger = true
	}
}

// leave goes back to the probes on PyTraceMalloc_Track, if it must: they see the blocks of any NumPy and of any
// handler.
func (i *numpyInstrument) leave() {
	if i.leaving == "" && !i.stranger || i.refused {
		return
	}
	before := i.state
	i.passed = now()
	i.state = ledger.ArraysTracked // or the probes would not be placed
	if i.tracked == nil && !i.isShed(i.target.root, ledger.GroupNumPy) {
		if err := i.track(); err != nil {
			i.misses(i.target.pid, 0, []event.Meter{event.NumPy},
				"%v: arrays of another NumPy, or of another memory handler than its own, are not seen", err)
			i.state, i.refused = before, true
			return
		}
		noteInPython(i.host, i.target, ledger.GroupNumPy)
	}
	if _, _, err := i.counter.countBy(i.target, ledger.ArraysTracked); err != nil {
		return // it has ended
	}
	if i.leaving != "" {
		i.refuse(i.leaving)
	}
	i.counter.lookAgain(i.target)
	i.stranger, i.target.unlisted = false, true
}
