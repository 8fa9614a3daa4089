package instruments

import (
	"fmt"
	"path"
	"slices"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/tracee"
)

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

// expectModule takes a file over. look: it starts the file's analysis unless there is one.
func (i *NumPyInstrument) expectModule(file *process.MappedFile, look bool) {
	known := i.expects(file.Mapping.File) || i.module(file.Mapping.File) != nil
	if !known && len(i.Modules)+len(i.Expected) < ledger.MaxModules {
		if look {
			i.Ahead.begin(i.Target.PID, file)
		}
		if ahead := i.Ahead.of(file); ahead != nil {
			i.Expected = append(i.Expected, ExpectedModule{file, ahead})
			return
		}
	}
	i.Unsure = i.Unsure || look && !known
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

// placeAhead puts probes in the expected modules that have been analysed. wait: in all of them.
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

// foreseeAgain reports to the kernel the modules that were added after probes in others had begun to serve.
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
