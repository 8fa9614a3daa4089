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

// NumPyInstrument is the instrument for NumPy's blocks. Where NumPy's code is found ahead of time and understood,
// probes are in NumPy before the target loads it, and see the first array. Else the instrument begins with the probes
// on PyTraceMalloc_Track in the interpreter. These serve any NumPy, whenever it is loaded, until probes in NumPy take
// over. The change loses nothing and counts nothing twice: see bpf/numpy.h.
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
	// leaving says why the instrument must go back to the probes on PyTraceMalloc_Track although those in NumPy have
	// taken over. It is empty where it need not.
	leaving   string
	passed    event.Nanoseconds // when it last had to go back; 0: never
	uncounted uncountedArrays
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

// meet notes where an expected module is mapped.
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

// track places the probes on PyTraceMalloc_Track, while they are of use.
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

// Pause takes all probes out.
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

// settling is how long the probes on PyTraceMalloc_Track stay after those in NumPy have taken over: a thread that was
// between the two probes has passed the second by then. It may have waited for the interpreter's lock, which changes
// hands every 5 ms (sys.getswitchinterval). If the free of a block took longer, it counts as the free of an unknown
// block.
const settling = 300 * time.Millisecond

// advance moves the count of arrays from the interpreter's probes to those in NumPy. Once these are in all of the
// target's modules, both count for a while. Then NumPy's count alone, and the interpreter's are removed.
func (i *NumPyInstrument) advance() {
	if i.Refused || len(i.Modules) == 0 || len(i.Modules) > ledger.MaxModules ||
		i.IsPaused(i.Target.Root, ledger.GroupNumPy) {
		return
	}
	if i.State == ledger.ArraysTracked {
		i.takeOver()
	}
	if i.State != ledger.ArraysSettling || time.Now().Before(i.Settled) || !i.areSure() ||
		!i.move(ledger.ArraysInside) {
		return
	}
	i.State = ledger.ArraysInside
	i.Log.Debug("arrays are seen in NumPy alone", "pid", i.Target.PID, "modules", len(i.Modules),
		"loaded", i.areMapped())
	i.untrack()
}

// takeOver lets the probes in NumPy count. The probes on the interpreter, if there are any, count for a while, too.
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
	if !i.move(ledger.ArraysSettling) {
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

// move lets other probes count the target's blocks. It returns false if the target has ended, or if some blocks would
// bypass those in NumPy.
func (i *NumPyInstrument) move(to ledger.Arrays) bool {
	by, foreign, err := i.Counter.CountBy(i.Target, to)
	switch {
	case err != nil:
		return false
	case by == to:
		return true
	case foreign&ledger.ForeignHandler != 0:
		i.refuse(foreignHandler)
	default:
		i.State = ledger.ArraysTracked // until the other NumPy has been adopted
		i.Target.Mappings.Stale = true
	}
	return false
}

// hasForeignHandler reports whether a memory handler may have been set in any context: then an object outside NumPy
// refers to the context variable. Its reference count is the first word of the object (Include/object.h).
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

// Pass notes that blocks of the target have bypassed the probes in NumPy while these served.
func (i *NumPyInstrument) Pass(foreign ledger.Foreign) {
	if foreign&ledger.ForeignHandler != 0 {
		i.leaving = foreignHandler
	} else {
		i.Stranger = true
	}
}

// Leave goes back to the probes on PyTraceMalloc_Track, if it must. These see the blocks of any NumPy and of any
// handler.
func (i *NumPyInstrument) Leave() {
	if i.leaving == "" && !i.Stranger || i.Refused {
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
