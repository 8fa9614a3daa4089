package tracer

import (
	"fmt"
	"path"
	"slices"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// expect analyses in the background the modules of NumPy that the target would load. It needs no kernel half.
func (i *numpyInstrument) expect(modules []string) {
	if i.small || i.refused {
		return
	}
	for _, name := range modulesOf(i.target.python, modules) {
		if file, err := i.openFile(i.target.pid, name); err == nil {
			i.foreseen = true
			i.expectModule(file, true)
		}
	}
}

// expectKnown expects, once, the modules on the sys.path of other targets: an interpreter that is only starting has no
// sys.path yet.
func (i *numpyInstrument) expectKnown() {
	if i.begun || i.target.late || i.small || i.refused {
		return
	}
	i.begun = true
	for _, name := range i.ahead.understood(moduleName(i.target.python)) {
		if file, err := i.openFile(i.target.pid, name); err == nil {
			i.expectModule(file, false)
		}
	}
}

// expectModule takes a file over. look: it starts the file's analysis unless there is one.
func (i *numpyInstrument) expectModule(file *process.MappedFile, look bool) {
	known := i.expects(file.Mapping.File) || i.module(file.Mapping.File) != nil
	if !known && len(i.modules)+len(i.expected) < ledger.MaxModules {
		if look {
			i.ahead.begin(i.target.pid, file)
		}
		if ahead := i.ahead.of(file); ahead != nil {
			i.expected = append(i.expected, expectedModule{file, ahead})
			return
		}
	}
	i.unsure = i.unsure || look && !known
	file.File.Close()
}

// moduleName returns the name of NumPy's module for a Python.
func moduleName(p *python) string {
	v := p.binary.Version()
	return fmt.Sprintf("_multiarray_umath.cpython-%d%d-%s.so", v.Major, v.Minor, elffile.Triplet)
}

// modulesOf lists the absolute names under which a Python would find NumPy's module, given its sys.path: before NumPy
// 2.0 in core, since then in _core.
func modulesOf(p *python, modules []string) (names []string) {
	for _, dir := range modules[:min(len(modules), maxExpected/2)] {
		if path.IsAbs(dir) {
			for _, core := range []string{"core", "_core"} {
				names = append(names, path.Join(dir, "numpy", core, moduleName(p)))
			}
		}
	}
	return names
}

// placeAhead puts probes in the expected modules that have been analysed. wait: in all of them.
func (i *numpyInstrument) placeAhead(wait bool) {
	before := len(i.modules)
	i.expected = slices.DeleteFunc(i.expected, func(e expectedModule) bool {
		if !wait && !e.ahead.isDone() {
			return false
		}
		module := &arrayModule{file: e.file}
		err := e.ahead.wait()
		if err == nil {
			module.sites = e.ahead.sites
		}
		if err == nil && !i.refused && !i.isShed(i.target.root, ledger.GroupNumPy) {
			err = i.placeModule(module)
		}
		if err != nil || i.refused {
			i.unsure = true
			e.file.File.Close()
			i.log.Debug("no probes in a NumPy that may be loaded", "pid", i.target.pid, "file", e.ahead.name,
				"error", err)
			return true
		}
		i.modules = append(i.modules, module)
		return true
	})
	if len(i.modules) > before && !i.refused {
		i.foreseeAgain()
	}
}

// foreseeAgain reports to the kernel the modules that were added after probes in others had begun to serve.
func (i *numpyInstrument) foreseeAgain() {
	switch i.state {
	case ledger.ArraysSettling: // the kernel must not forget foreign modules: once more from the beginning
		if _, _, err := i.counter.countBy(i.target, ledger.ArraysTracked); err == nil {
			i.state = ledger.ArraysTracked
		}
	case ledger.ArraysInside:
		if err := i.counter.foresee(i.target, i.files()); err != nil {
			i.log.Warn("the modules of NumPy could not be told", "pid", i.target.pid, "error", err)
		}
	}
}
