package tracer

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
	"ipytracer/tracer/internal/places"
)

// numpyInstrument is the instrument for NumPy's blocks. Where NumPy's code is found ahead of time and understood,
// probes are in it before the target loads it, and see the first array. Else the instrument begins with the probes on
// PyTraceMalloc_Track in the interpreter, which serve any NumPy whenever it is loaded, until probes in NumPy take over.
// The change loses nothing and counts nothing twice: see bpf/numpy.h.
type numpyInstrument struct {
	inert
	*host
	target  *target
	counter arrayCounter
	ahead   *modulesAhead
	log     *slog.Logger
	small   bool // blocks of all sizes count: the probes on the interpreter serve

	tracked  io.Closer // the probes on PyTraceMalloc_Track, while they are in place
	modules  []*arrayModule
	expected []expectedModule
	// foreseen: there is a NumPy on the target's sys.path. unsure: one of these has no probes.
	foreseen, unsure bool
	begun            bool // the modules on other targets' sys.path have been expected
	state            ledger.Arrays
	settled          time.Time // while settling: when the probes on the interpreter become unnecessary
	// refused: a module was not understood, or there is another memory handler. The probes on the interpreter stay or
	// return.
	refused bool
	// leaving says why it must go back after the probes in NumPy have taken over; empty: it need not.
	leaving string
	passed  event.Nanoseconds // when it last had to go back; 0: never
	untold  untoldArrays
	// stranger: it must go back until the NumPy that the target has loaded is understood.
	stranger bool
}

// arrayCounter selects the probes that count a target's blocks.
type arrayCounter interface {
	// foresee records which modules have probes; countBy sets which probes count from now on.
	foresee(t *target, files []ledger.File) error
	countBy(t *target, by ledger.Arrays) (ledger.Arrays, ledger.Foreign, error)
	// lookAgain looks for the arrays that were allocated or freed while no probe counted.
	lookAgain(t *target)
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

func (m *arrayModule) isMapped() bool { return m.file.Mapping.End != 0 }

// meet notes where an expected module is mapped.
func (m *arrayModule) meet(at process.Mapping) {
	if !m.isMapped() {
		m.file.Mapping = at
	}
}

// module returns the module of a file, nil if there is none.
func (i *numpyInstrument) module(id process.FileID) *arrayModule {
	for _, m := range i.modules {
		if m.file.Mapping.File == id {
			return m
		}
	}
	return nil
}

func (i *numpyInstrument) expects(id process.FileID) bool {
	return slices.ContainsFunc(i.expected, func(e expectedModule) bool { return e.file.Mapping.File == id })
}

func (i *numpyInstrument) files() (files []ledger.File) {
	for _, m := range i.modules {
		files = append(files, m.file.File)
	}
	return files
}

// areMapped reports whether the target has loaded a NumPy that has probes.
func (i *numpyInstrument) areMapped() bool {
	return slices.ContainsFunc(i.modules, (*arrayModule).isMapped)
}

// areSure reports whether the target will load only NumPys that have probes: it has loaded one, or its sys.path has no
// other.
func (i *numpyInstrument) areSure() bool {
	return i.areMapped() || i.foreseen && !i.unsure && len(i.expected) == 0
}

// track places the probes on PyTraceMalloc_Track, while they are of use.
func (i *numpyInstrument) track() (err error) {
	if i.tracked == nil && i.state != ledger.ArraysInside {
		i.tracked, err = placeInPython(i.host, i.target, ledger.GroupNumPy)
	}
	return err
}

func (i *numpyInstrument) untrack() {
	if i.tracked != nil {
		_ = i.tracked.Close()
		i.tracked = nil
	}
}

func (i *numpyInstrument) placeModule(m *arrayModule) (err error) {
	m.probes, err = i.probeFile(i.target, m.file, places.OfArrays(m.sites))
	return err
}

// stepDown takes all probes out.
func (i *numpyInstrument) stepDown(g ledger.Group) {
	if g != ledger.GroupNumPy {
		return
	}
	for _, m := range i.modules {
		m.close()
	}
	i.untrack()
}

// giveUp goes back to the probes on PyTraceMalloc_Track, or stays with them, for good.
func (i *numpyInstrument) giveUp(why string) {
	if i.state == ledger.ArraysInside { // another NumPy, loaded later
		i.leaving = why
		return
	}
	i.refuse(why)
}

// refuse leaves the target's blocks, for good, to the probes on PyTraceMalloc_Track.
func (i *numpyInstrument) refuse(why string) {
	i.refused, i.state = true, ledger.ArraysTracked
	// the mapped modules are met again, which reports the blocks that the probes on the interpreter miss
	i.target.unlisted = true
	for _, m := range i.modules {
		m.close()
	}
	i.noteUse(ledger.GroupNumPy, "of every array in pid "+fmt.Sprint(i.target.pid)+" ("+why+")")
	i.noteDear(ledger.GroupNumPy, why)
}

// reason returns an error in the words of the certificate.
func reason(err error) error {
	if errors.Is(err, numpy.ErrNoHandler) {
		return numpy.ErrNoHandler
	}
	return err
}
