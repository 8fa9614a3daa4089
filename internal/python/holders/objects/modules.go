package objects

import (
	"slices"
	"strconv"
	"strings"
)

// Module is an entry of sys.modules that is a module.
type Module struct {
	Name       string
	Addr, Dict uint64
}

const maxModules = 1 << 16

// Modules returns the modules in sys.modules, from the survey's notes if there are any.
func (r Reader) Modules() (modules []Module) {
	if r.Notes != nil && r.Notes.Modules != nil {
		return r.Notes.Modules
	}
	dict := r.Mem.Word(r.Heap.Interpreter + uint64(r.Heap.InterpModules))
	if !r.IsShape(dict, ShapeDict) {
		return nil
	}
	var keys, values []uint64
	r.Entries(dict, func(key, value uint64) bool {
		keys, values = append(keys, key), append(values, value)
		return len(keys) < maxModules
	})
	modules = make([]Module, len(keys))
	r.Mem.InOrder(keys, func(i int) {
		if name, ok := r.Text(keys[i], MaxName); ok {
			modules[i] = Module{Name: name, Addr: values[i]} // the value may be an object of another type
		}
	})
	r.Mem.InOrder(values, func(i int) {
		if modules[i].Addr != 0 && values[i]&7 == 0 && r.IsShape(values[i], ShapeModule) {
			modules[i].Dict = r.Mem.Word(values[i] + uint64(r.Heap.ModuleDict))
		}
	})
	return slices.DeleteFunc(modules, func(m Module) bool { return m.Addr == 0 })
}

// ModuleDict returns the namespace of the module with a name, 0 for none.
func (r Reader) ModuleDict(modules []Module, name string) uint64 {
	for _, m := range modules {
		if m.Name == name && r.IsShape(m.Dict, ShapeDict) {
			return m.Dict
		}
	}
	return 0
}

// Binding is a name in a namespace.
type Binding struct {
	Name  string
	Value uint64
}

// Namespace reads the names of a dict.
func (r Reader) Namespace(dict uint64) (names []Binding) {
	if dict == 0 {
		return nil
	}
	r.Entries(dict, func(key, value uint64) bool {
		if name, ok := r.Text(key, MaxName); ok {
			names = append(names, Binding{name, value})
		}
		return !r.Spent()
	})
	return names
}

// NumpyVersion returns the major version in numpy.__version__, 0 if it cannot be read.
func (r Reader) NumpyVersion(numpy uint64) int {
	if numpy == 0 {
		return 0
	}
	text, _ := r.Text(r.Lookup(numpy, "__version__"), MaxName)
	major, _, _ := strings.Cut(text, ".")
	n, _ := strconv.Atoi(major)
	return n
}
