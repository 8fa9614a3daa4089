package holders

import (
	"slices"
	"strconv"

	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// referring has the references to objects, by the object's address.
type referring struct {
	names   map[uint64][]string // the user's names in __main__
	own     map[uint64]int64    // how many references IPython has to the object
	outputs map[uint64][]int    // the n of Out[n]; -1 for an output without a number
	others  map[uint64][]int32  // the numbers, in the notes, of other objects that refer to it
	known   map[uint64]bool     // the objects of IPython's whose references own counts
}

// newReferring gathers the references of IPython and __main__.
func newReferring(w *walk.Walker) referring {
	modules, s := w.Modules(), w.Shell
	names, builtins := w.Namespace(w.ModuleDict(modules, "__main__")), w.ModuleDict(modules, "builtins")
	p := referring{names: map[uint64][]string{}, own: map[uint64]int64{}, outputs: map[uint64][]int{},
		known: map[uint64]bool{}, others: map[uint64][]int32{}}
	for _, b := range names {
		if objects.IsIPythons(b.Name) && !s.IsUsers(b) {
			p.addOwn(b.Name, b.Value)
		} else {
			p.names[b.Value] = append(p.names[b.Value], b.Name)
		}
	}
	if w.IsShape(s.Out, objects.ShapeDict) {
		w.Entries(s.Out, func(key, value uint64) bool {
			if n, ok := w.Integer(key); ok {
				p.addOwn("_"+strconv.FormatInt(max(n, 0), 10), value)
			}
			return !w.Done()
		})
	}
	for _, addr := range []uint64{s.Hidden, s.Hook, s.Result} {
		attributesOf(w, addr, func(name string, value uint64) {
			if name == "result" && addr == s.Result {
				name = "_"
			}
			p.addOwn(name, value)
		})
	}
	p.addOwn("_", w.Lookup(builtins, "_"))
	for _, addr := range []uint64{s.Out, s.Hidden, s.Hook, s.Result} {
		p.known[addr] = true
	}
	return p
}

// addOwn counts a reference of IPython's by a name, and notes the output if it is one. An output without a number
// counts only where there is none with a number.
func (p *referring) addOwn(name string, value uint64) {
	p.own[value]++
	if !objects.IsOutput(name) {
		return
	}
	n := outputNumber(name)
	if n < 0 && len(p.outputs[value]) > 0 {
		return
	}
	if !slices.Contains(p.outputs[value], n) {
		p.outputs[value] = append(slices.DeleteFunc(p.outputs[value], func(n int) bool { return n < 0 }), n)
	}
}

// attributesOf calls do for each attribute of an object, or for each entry of a dict with a str as its key.
func attributesOf(w *walk.Walker, addr uint64, do func(name string, value uint64)) {
	typ := w.ObjectType(addr)
	if typ == nil {
		return
	}
	each := func(key, value uint64) bool {
		if name, ok := w.Text(key, objects.MaxName); ok {
			do(name, value)
		}
		return !w.Done()
	}
	if typ.Shape == objects.ShapeDict {
		w.Entries(addr, each)
		return
	}
	w.Attributes(addr, typ, each)
}

// isCounted reports whether the references of an object are those of names, or counted as IPython's own.
func (p *referring) isCounted(w *walk.Walker, id int32) bool {
	return p.known[w.Notes.Addrs[id]] || w.Notes.TypeOf(id).Shape == objects.ShapeModule
}

// maxReferrers is how many references to an object are noted: viewing.viewer gives up an object that has more.
const maxReferrers = objects.MaxAlso + 2

// refer notes that an object refers to another.
func (p *referring) refer(to uint64, id int32) {
	if known := p.others[to]; len(known) < maxReferrers {
		p.others[to] = append(known, id)
	}
}

// outputNumber returns the n of _n, -1 for a name without a number.
func outputNumber(name string) int {
	n := 0
	for _, c := range name[1:] {
		if c < '0' || c > '9' || n > 1<<30 {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	if len(name) == 1 {
		return -1
	}
	return n
}
