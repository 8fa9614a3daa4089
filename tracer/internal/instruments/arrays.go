package instruments

import (
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"ipytracer/event"
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/numpy"
	"ipytracer/tracer/internal/tracee"
)

// Close takes out the probes on the interpreter and, at the same time, those in NumPy.
func (i *NumPyInstrument) Close() {
	var closing sync.WaitGroup
	closing.Go(i.untrack)
	for _, m := range i.Modules {
		m.close()
		m.File.File.Close()
	}
	for _, e := range i.Expected {
		e.File.File.Close()
	}
	closing.Wait()
	i.Modules, i.Expected = nil, nil
}

// Place puts in the probes on the interpreter, unless those in NumPy serve alone. The attach waits for them.
func (i *NumPyInstrument) Place() error {
	if i.Target.Late {
		i.placeAhead(true)
		i.advance()
	}
	if i.IsPaused(i.Target.Root, ledger.GroupNumPy) {
		return nil
	}
	if err := i.track(); err != nil {
		return err
	}
	if i.Tracked != nil || i.State != ledger.ArraysInside {
		noteInPython(i.Host, i.Target, ledger.GroupNumPy)
	}
	return nil
}

// Meet puts probes in NumPy's extension module when the target first maps it.
func (i *NumPyInstrument) Meet(l tracee.Listing, m process.Mapping) {
	if m.Perm&process.Exec == 0 || m.File.Inode == 0 || !numpy.IsModule(m.Path) || i.Target.Python == nil {
		return
	}
	if !i.Small && !i.Refused {
		i.meetModule(m)
	}
	if i.Small || i.Refused {
		i.uncounted.meet(i.Host, i.Target, max(l.Since, i.passed), m)
	}
}

func (i *NumPyInstrument) meetModule(m process.Mapping) {
	if i.expects(m.File) {
		i.placeAhead(true)
	}
	if known := i.module(m.File); known != nil {
		known.meet(m)
		return
	}
	if len(i.Modules) >= maxArrayModules {
		i.giveUp(fmt.Sprintf("more than %d files named like NumPy's module are mapped", maxArrayModules))
		return
	}
	file, err := i.OpenMapping(i.Target.PID, m)
	if err != nil {
		if !i.HasEnded(i.Target) {
			i.giveUp(fmt.Sprintf("%s could not be opened: %v", tracee.Clean(m.Path), err))
		}
		return
	}
	module := &ArrayModule{File: file}
	i.Modules = append(i.Modules, module)
	// While the group is paused, its probes wait for the resumption.
	if module.sites, err = i.Ahead.find(i.Target.PID, file); err == nil && !i.IsPaused(i.Target.Root,
		ledger.GroupNumPy) {
		err = i.placeModule(module)
	}
	if err == nil || i.HasEnded(i.Target) {
		return
	}
	i.giveUp(fmt.Sprintf("%s: %v", tracee.Clean(m.Path), reason(err)))
}

func (i *NumPyInstrument) Listed(tracee.Listing) {
	if i.Target.Python != nil {
		i.advance()
		i.Leave()
	}
}

// Resume puts the probes back.
func (i *NumPyInstrument) Resume(g ledger.Group) error {
	if g != ledger.GroupNumPy {
		return nil
	}
	if err := i.track(); err != nil {
		return err
	}
	for _, m := range i.Modules {
		if i.Refused || m.Probes != nil {
			continue
		}
		if err := i.placeModule(m); err != nil {
			return err
		}
		if i.isSettling() {
			i.Settled = time.Now().Add(settling)
		}
	}
	return nil
}

// Settle goes back to the probes on the interpreter if blocks bypass those in NumPy. Otherwise it places and uses the
// latter where an analysis has finished.
func (i *NumPyInstrument) Settle() {
	i.Leave()
	i.expectKnown()
	i.placeAhead(false)
	i.advance()
	i.Leave()
}

// Due returns when to look for finished analyses, or when the probes on the interpreter become unnecessary.
func (i *NumPyInstrument) Due() (at time.Time) {
	if i.isSettling() && i.Settled.After(time.Now()) {
		at = i.Settled
	}
	if len(i.Expected) > 0 {
		at = tracee.Sooner(at, time.Now().Add(tracee.BetweenLooks))
	}
	return at
}

// Expect analyses in the background the modules of NumPy that the target would load. It needs no kernel half.
func (i *NumPyInstrument) Expect(modules []string) {
	if i.Small || i.Refused {
		return
	}
	for _, name := range modulesOf(i.Target.Python, modules) {
		if file, err := i.OpenFile(i.Target.PID, name); err == nil {
			i.Foreseen = true
			i.expectModule(file, true)
		}
	}
}

// expectKnown expects, once, the modules on the sys.path of other targets: an interpreter that is only starting has no
// sys.path yet.
func (i *NumPyInstrument) expectKnown() {
	if i.begun || i.Target.Late || i.Small || i.Refused {
		return
	}
	i.begun = true
	for _, name := range i.Ahead.understood(moduleName(i.Target.Python)) {
		if file, err := i.OpenFile(i.Target.PID, name); err == nil {
			i.expectModule(file, false)
		}
	}
}

// expectModule adds a file to the expected modules, and closes it later. analyse: it starts the file's analysis, unless
// there is one.
func (i *NumPyInstrument) expectModule(file *process.MappedFile, analyse bool) {
	known := i.expects(file.Mapping.File) || i.module(file.Mapping.File) != nil
	if !known && len(i.Modules)+len(i.Expected) < ledger.MaxModules {
		if analyse {
			i.Ahead.begin(i.Target.PID, file)
		}
		if ahead := i.Ahead.of(file); ahead != nil {
			i.Expected = append(i.Expected, ExpectedModule{file, ahead})
			return
		}
	}
	i.Unsure = i.Unsure || analyse && !known
	file.File.Close()
}

// moduleName returns the name of NumPy's module for a Python.
func moduleName(p *tracee.Python) string {
	v := p.Binary.Version()
	return fmt.Sprintf("_multiarray_umath.cpython-%d%d-%s.so", v.Major, v.Minor, elffile.Triplet)
}

// modulesOf lists the absolute names under which a Python would find NumPy's module, given its sys.path: before NumPy
// 2.0 in core, since then in _core.
func modulesOf(p *tracee.Python, modules []string) (names []string) {
	for _, dir := range modules[:min(len(modules), MaxExpected/2)] {
		if path.IsAbs(dir) {
			for _, core := range []string{"core", "_core"} {
				names = append(names, path.Join(dir, "numpy", core, moduleName(p)))
			}
		}
	}
	return names
}

// placeAhead puts probes in the expected modules that have been analysed. wait: it waits for the other analyses.
func (i *NumPyInstrument) placeAhead(wait bool) {
	before := len(i.Modules)
	i.Expected = slices.DeleteFunc(i.Expected, func(e ExpectedModule) bool {
		if !wait && !e.Ahead.isDone() {
			return false
		}
		module := &ArrayModule{File: e.File}
		err := e.Ahead.wait()
		if err == nil {
			module.sites = e.Ahead.sites
		}
		if err == nil && !i.Refused && !i.IsPaused(i.Target.Root, ledger.GroupNumPy) {
			err = i.placeModule(module)
		}
		if err != nil || i.Refused {
			i.Unsure = true
			e.File.File.Close()
			i.Log.Debug("no probes in a NumPy that may be loaded", "pid", i.Target.PID, "file", e.Ahead.name,
				"error", err)
			return true
		}
		i.Modules = append(i.Modules, module)
		return true
	})
	if len(i.Modules) > before && !i.Refused {
		i.foreseeAgain()
	}
}

// foreseeAgain tells the kernel half about modules that were added after probes in NumPy had begun to count.
func (i *NumPyInstrument) foreseeAgain() {
	switch i.State {
	case ledger.ArraysSettling: // the kernel must not forget foreign modules: once more from the beginning
		if _, _, err := i.Counter.CountBy(i.Target, ledger.ArraysTracked); err == nil {
			i.State = ledger.ArraysTracked
		}
	case ledger.ArraysInside:
		if err := i.Counter.Foresee(i.Target, i.files()); err != nil {
			i.Log.Warn("the modules of NumPy could not be told", "pid", i.Target.PID, "error", err)
		}
	}
}

// uncountedArrays are the modules of NumPy that report some blocks to tracemalloc only while it runs. While the probes
// on PyTraceMalloc_Track serve, these blocks are missing.
type uncountedArrays struct {
	files []process.FileID // the files that were examined
}

// meet examines a module that a target has mapped since a time. It reads the file once.
func (u *uncountedArrays) meet(h *Host, t *tracee.Target, since event.Nanoseconds, m process.Mapping) {
	if slices.Contains(u.files, m.File) || len(u.files) >= maxArrayModules {
		return
	}
	u.files = append(u.files, m.File)
	file, err := h.OpenMapping(t.PID, m)
	if err != nil {
		if !h.HasEnded(t) { // the target hides its own file, or the file's server does not answer
			h.Misses(t.PID, since, []event.Meter{event.NumPy}, unreadNumPy, t.PID, tracee.Clean(m.Path), err)
		}
		return
	}
	defer file.File.Close()
	if uncounted, err := numpy.Unreported(file.File); err != nil || !uncounted {
		return
	}
	h.Misses(t.PID, since, []event.Meter{event.NumPy}, uncountedBlocks, t.PID, tracee.Clean(m.Path))
}

// unreadNumPy describes the blocks that may be missing of a module that cannot be read.
const unreadNumPy = "pid %d: %s could not be opened: %v: if it is a NumPy of 2.5 or newer, arrays that were resized, " +
	"and blocks of C extensions (PyDataMem_NEW), are not seen"

// uncountedBlocks describes the blocks that are missing then.
const uncountedBlocks = "pid %d: %s is a NumPy of 2.5 or newer, and the probes on PyTraceMalloc_Track serve: arrays " +
	"that were resized, and blocks of C extensions (PyDataMem_NEW), are not seen unless tracemalloc runs"
