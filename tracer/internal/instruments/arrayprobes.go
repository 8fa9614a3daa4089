package instruments

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/numpy"
	"ipytracer/tracer/internal/tracee"
)

// NumPyInstrument is the instrument for NumPy's blocks. If NumPy's file is found ahead of time and its code is
// understood, probes are in NumPy before the target loads it, and see the first array. Otherwise the instrument begins
// with the probes on PyTraceMalloc_Track in the interpreter, which serve any NumPy, until probes in NumPy take over.
// The change loses no block and counts none twice: see bpf/numpy.h.
type NumPyInstrument struct {
	tracee.Inert
	*Host
	Target  *tracee.Target
	Counter ArrayCounter
	Ahead   *ModulesAhead
	Log     *slog.Logger
	Small   bool // blocks of all sizes count: the probes on the interpreter serve

	Tracked  io.Closer // the probes on PyTraceMalloc_Track, while they are in place
	Modules  []*ArrayModule
	Expected []ExpectedModule
	// Foreseen: there is a NumPy on the target's sys.path. Unsure: a NumPy on sys.path has no probes.
	Foreseen, Unsure bool
	begun            bool // the modules on other targets' sys.path have been expected
	State            ledger.Arrays
	Settled          time.Time // while settling: when the probes on the interpreter become unnecessary
	// Refused: a module was not understood, or there is another memory handler. The probes on the interpreter stay or
	// return.
	Refused bool
	// leaving is the reason why the instrument must go back from the probes in NumPy to those on PyTraceMalloc_Track,
	// "" for none.
	leaving   string
	passed    event.Nanoseconds // when it last had to go back; 0: never
	uncounted uncountedArrays
	// awaits is the time until which the meter is paused, because the foreign handler is that of the companion's
	// counting library, and the companion may ask for a page. Zero: nothing is awaited.
	awaits time.Time
	shares bool // it has a page, so another foreign handler is somebody else's
	// Stranger: the target has loaded a NumPy that is not understood yet. Until it is, the instrument must go back.
	Stranger bool
}

// ArrayCounter selects the probes that count a target's blocks.
type ArrayCounter interface {
	// Foresee records which modules have probes. CountBy sets which probes count from now on.
	Foresee(t *tracee.Target, files []ledger.File) error
	CountBy(t *tracee.Target, by ledger.Arrays) (ledger.Arrays, ledger.Foreign, error)
	// LookAgain looks for the arrays that were allocated or freed while no probe counted.
	LookAgain(t *tracee.Target)
}

// ArrayModule is NumPy's extension module, with probes in it.
type ArrayModule struct {
	File   *process.MappedFile
	sites  numpy.Sites
	Probes io.Closer
}

func (m *ArrayModule) close() {
	if m.Probes != nil {
		_ = m.Probes.Close()
		m.Probes = nil
	}
}

func (m *ArrayModule) isMapped() bool { return m.File.Mapping.End != 0 }

// meet records where an expected module is mapped.
func (m *ArrayModule) meet(at process.Mapping) {
	if !m.isMapped() {
		m.File.Mapping = at
	}
}

// module returns the module of a file; nil if there is none.
func (i *NumPyInstrument) module(id process.FileID) *ArrayModule {
	for _, m := range i.Modules {
		if m.File.Mapping.File == id {
			return m
		}
	}
	return nil
}

func (i *NumPyInstrument) expects(id process.FileID) bool {
	return slices.ContainsFunc(i.Expected, func(e ExpectedModule) bool { return e.File.Mapping.File == id })
}

func (i *NumPyInstrument) files() (files []ledger.File) {
	for _, m := range i.Modules {
		files = append(files, m.File.File)
	}
	return files
}

// areMapped reports whether the target has loaded a NumPy that has probes.
func (i *NumPyInstrument) areMapped() bool {
	return slices.ContainsFunc(i.Modules, (*ArrayModule).isMapped)
}

// areSure reports whether the target will load only NumPys that have probes: it has loaded one, or its sys.path has no
// other.
func (i *NumPyInstrument) areSure() bool {
	return i.areMapped() || i.Foreseen && !i.Unsure && len(i.Expected) == 0
}

// track places the probes on PyTraceMalloc_Track, unless the probes in NumPy count alone.
func (i *NumPyInstrument) track() (err error) {
	if i.Tracked == nil && i.State != ledger.ArraysInside {
		i.Tracked, err = placeInPython(i.Host, i.Target, ledger.GroupNumPy)
	}
	return err
}

func (i *NumPyInstrument) untrack() {
	if i.Tracked != nil {
		_ = i.Tracked.Close()
		i.Tracked = nil
	}
}

func (i *NumPyInstrument) placeModule(m *ArrayModule) (err error) {
	m.Probes, err = i.ProbeFile(i.Target, m.File, ofArrays(m.sites))
	return err
}

// Pause removes all probes.
func (i *NumPyInstrument) Pause(g ledger.Group) {
	if g != ledger.GroupNumPy {
		return
	}
	for _, m := range i.Modules {
		m.close()
	}
	i.untrack()
}

// giveUp goes back to the probes on PyTraceMalloc_Track, or stays with them, for good.
func (i *NumPyInstrument) giveUp(why string) {
	if i.State == ledger.ArraysInside { // another NumPy, loaded later
		i.leaving = why
		return
	}
	i.refuse(why)
}

// refuse leaves the target's blocks, for good, to the probes on PyTraceMalloc_Track.
func (i *NumPyInstrument) refuse(why string) {
	i.Refused, i.State = true, ledger.ArraysTracked
	// the mapped modules are met again, which reports the blocks that the probes on the interpreter miss
	i.Target.Mappings.Stale = true
	for _, m := range i.Modules {
		m.close()
	}
	i.NoteUse(ledger.GroupNumPy, "of every array in pid "+fmt.Sprint(i.Target.PID)+" ("+why+")")
	i.NoteDear(ledger.GroupNumPy, why)
}

// reason returns an error in the words of the certificate.
func reason(err error) error {
	if errors.Is(err, numpy.ErrNoHandler) {
		return numpy.ErrNoHandler
	}
	return err
}

// settling is the time for which the probes on PyTraceMalloc_Track stay after those in NumPy have taken over. A thread
// that was between the two probes of a block passes the second in this time, even if it waits for the interpreter's
// lock, which changes hands every 5 ms (sys.getswitchinterval). A free that takes longer counts as the free of an
// unknown block.
const settling = 300 * time.Millisecond

// advance moves the count of arrays from the probes on the interpreter to those in NumPy. Once all of the target's
// modules have probes, both count for a while. Then those in NumPy count alone, and the others are removed.
func (i *NumPyInstrument) advance() {
	if i.Refused || len(i.Modules) == 0 || len(i.Modules) > ledger.MaxModules ||
		i.IsPaused(i.Target.Root, ledger.GroupNumPy) {
		return
	}
	if i.State == ledger.ArraysTracked {
		i.takeOver()
	}
	if i.State != ledger.ArraysSettling || time.Now().Before(i.Settled) || !i.areSure() ||
		!i.countBy(ledger.ArraysInside) {
		return
	}
	i.State = ledger.ArraysInside
	i.Log.Debug("arrays are seen in NumPy alone", "pid", i.Target.PID, "modules", len(i.Modules),
		"loaded", i.areMapped())
	i.untrack()
}

// takeOver makes the probes in NumPy count. The probes on the interpreter, if there are any, still count for a while.
func (i *NumPyInstrument) takeOver() {
	if err := i.Counter.Foresee(i.Target, i.files()); err != nil {
		i.Log.Warn("the modules of NumPy could not be told", "pid", i.Target.PID, "error", err)
		return
	}
	// A module that is mapped after this is foreign to the kernel, or has probes.
	if !i.meetModules() {
		return // another one is mapped: it will be adopted
	}
	loaded := i.areMapped()
	if slices.ContainsFunc(i.Modules, i.hasForeignHandler) {
		i.refuse(foreignHandler)
		return
	}
	if !i.countBy(ledger.ArraysSettling) {
		return
	}
	i.State, i.Settled = ledger.ArraysSettling, time.Time{}
	// Without a NumPy no thread can be between two probes.
	if i.meetModules(); (loaded || i.areMapped()) && i.Tracked != nil {
		i.Settled = time.Now().Add(settling)
	}
	for _, m := range i.Modules {
		i.NoteUse(ledger.GroupNumPy, fmt.Sprintf("%d places in %s", len(m.sites.All()),
			path.Base(tracee.Clean(m.File.Mapping.Path))))
	}
}

// meetModules finds the modules of NumPy that the target has mapped. It returns false if one has no probes.
func (i *NumPyInstrument) meetModules() bool {
	known := true
	for m, err := range i.Mappings(i.Target.PID) {
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

func (i *NumPyInstrument) isSettling() bool { return i.State == ledger.ArraysSettling && !i.Refused }

const foreignHandler = "NumPy was given another memory handler than its own, NEP 49"

// countBy sets which probes count the target's blocks. It returns false if the target has ended, or if some blocks
// would bypass the probes in NumPy.
func (i *NumPyInstrument) countBy(probes ledger.Arrays) bool {
	actual, foreign, err := i.Counter.CountBy(i.Target, probes)
	switch {
	case err != nil:
		return false
	case actual == probes:
		return true
	case foreign&ledger.ForeignHandler != 0:
		i.refuse(foreignHandler)
	default:
		i.State = ledger.ArraysTracked // until the other NumPy has been adopted
		i.Target.Mappings.Stale = true
	}
	return false
}

// hasForeignHandler reports whether a memory handler may have been set in any context. Then an object outside of NumPy
// refers to NumPy's context variable, whose reference count, the first word of the object (Include/object.h), is not 1.
func (i *NumPyInstrument) hasForeignHandler(m *ArrayModule) bool {
	if !m.isMapped() {
		return false
	}
	bias, ok := m.sites.Bias(m.File.Mapping.Start, m.File.Mapping.Offset)
	if !ok {
		return true
	}
	var word [8]byte
	if _, err := i.Target.Python.Memory.ReadAt(word[:], int64(bias+m.sites.Variable)); err != nil {
		return true
	}
	variable := binary.LittleEndian.Uint64(word[:])
	if variable == 0 { // the module is about to be initialised
		return false
	}
	if _, err := i.Target.Python.Memory.ReadAt(word[:], int64(variable)); err != nil {
		return true
	}
	return binary.LittleEndian.Uint32(word[:]) != 1
}

// Pass records that blocks of the target have bypassed the probes in NumPy.
func (i *NumPyInstrument) Pass(foreign ledger.Foreign) {
	if foreign&ledger.ForeignHandler != 0 {
		i.leaving = foreignHandler
		if i.awaits.IsZero() && !i.shares && i.mapsCounts() {
			i.awaits = time.Now().Add(toAsk)
		}
	} else {
		i.Stranger = true
	}
}

// Leave goes back to the probes on PyTraceMalloc_Track if some blocks bypass the probes in NumPy. The former see the
// blocks of any NumPy and of any handler.
func (i *NumPyInstrument) Leave() {
	if i.leaving == "" && !i.Stranger || i.Refused || time.Now().Before(i.awaits) && !i.Stranger {
		return
	}
	before := i.State
	i.passed = tracee.Now()
	i.State = ledger.ArraysTracked // or the probes would not be placed
	if i.Tracked == nil && !i.IsPaused(i.Target.Root, ledger.GroupNumPy) {
		if err := i.track(); err != nil {
			i.Misses(i.Target.PID, 0, []event.Meter{event.NumPy},
				"%v: arrays of another NumPy, or of another memory handler than its own, are not seen", err)
			i.State, i.Refused = before, true
			return
		}
		noteInPython(i.Host, i.Target, ledger.GroupNumPy)
	}
	if _, _, err := i.Counter.CountBy(i.Target, ledger.ArraysTracked); err != nil {
		return // it has ended
	}
	if i.leaving != "" {
		i.refuse(i.leaving)
	}
	i.Counter.LookAgain(i.Target)
	i.Stranger, i.Target.Mappings.Stale = false, true
}
