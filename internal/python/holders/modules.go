package holders

import (
	"slices"
	"strconv"
	"strings"
)

// module is an entry of sys.modules that is a module.
type module struct {
	name       string
	addr, dict uint64
}

const maxModules = 1 << 16

// modules reads sys.modules, unless a survey has.
func (r reader) modules() (all []module) {
	if r.notes != nil && r.notes.modules != nil {
		return r.notes.modules
	}
	dict := r.mem.word(r.heap.Interpreter + uint64(r.heap.InterpModules))
	if !r.isShape(dict, shapeDict) {
		return nil
	}
	var keys, values []uint64
	r.entries(dict, func(key, value uint64) bool {
		keys, values = append(keys, key), append(values, value)
		return len(keys) < maxModules
	})
	all = make([]module, len(keys))
	r.mem.inOrder(keys, func(i int) {
		if name, ok := r.text(keys[i], maxName); ok {
			all[i] = module{name: name, addr: values[i]} // some may be other objects that were put there
		}
	})
	r.mem.inOrder(values, func(i int) {
		if all[i].addr != 0 && values[i]&7 == 0 && r.isShape(values[i], shapeModule) {
			all[i].dict = r.mem.word(values[i] + uint64(r.heap.ModuleDict))
		}
	})
	return slices.DeleteFunc(all, func(m module) bool { return m.addr == 0 })
}

func (r reader) moduleDict(all []module, name string) uint64 {
	for _, m := range all {
		if m.name == name && r.isShape(m.dict, shapeDict) {
			return m.dict
		}
	}
	return 0
}

// binding is a name in a namespace.
type binding struct {
	name  string
	value uint64
}

// namespace reads the names of a dict.
func (r reader) namespace(dict uint64) (all []binding) {
	if dict == 0 {
		return nil
	}
	r.entries(dict, func(key, value uint64) bool {
		if name, ok := r.text(key, maxName); ok {
			all = append(all, binding{name, value})
		}
		return !r.spent()
	})
	return all
}

// numpyVersion is the number in front of the first point of numpy.__version__, 0 if there is none.
func (r reader) numpyVersion(numpy uint64) int {
	if numpy == 0 {
		return 0
	}
	text, _ := r.text(r.lookup(numpy, "__version__"), maxName)
	major, _, _ := strings.Cut(text, ".")
	n, _ := strconv.Atoi(major)
	return n
}
