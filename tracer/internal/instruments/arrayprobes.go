package instruments

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/numpy"
	"ipytracer/tracer/internal/tracee"
)

// NumPyInstrument is the instrument for NumPy's blocks. Where NumPy's code is found ahead of time and understood,
// probes are in it before the target loads it, and see the first array. Else the instrument begins with the probes on
// PyTraceMalloc_Track in the interpreter, which serve any NumPy whenever it is loaded, until probes in NumPy take over.
// The change loses nothing and counts nothing twice: see bpf/numpy.h.
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
	// Foreseen: there is a NumPy on the target's sys.path. unsure: one of these has no probes.
	Foreseen, Unsure bool
	begun            bool // the modules on other targets' sys.path have been expected
	State            ledger.Arrays
	Settled          time.Time // while settling: when the probes on the interpreter become unnecessary
	// Refused: a module was not understood, or there is another memory handler. The probes on the interpreter stay or
	// return.
	Refused bool
	// leaving says why it must go back after the probes in NumPy have taken over; empty: it need not.
	leaving   string
	passed    event.Nanoseconds // when it last had to go back; 0: never
	uncounted uncountedArrays
	// Stranger: it must go back until the NumPy that the target has loaded is understood.
	Stranger bool
}

// ArrayCounter selects the probes that count a target's blocks.
type ArrayCounter interface {
	// Foresee records which modules have probes; countBy sets which probes count from now on.
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

// module returns the module of a file, nil if there is none.
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
	m.Probes, err = i.ProbeFile(i.Target, m.File, OfArrays(m.sites))
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
