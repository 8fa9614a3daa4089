package views

import (
	"slices"
	"strconv"

	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// places are the references of IPython and __main__ to objects.
type places struct {
	names map[uint64][]string // of the user's
	// IPython's own: how many references it has to an object, and the numbers of its outputs.
	own     map[uint64]int64
	outputs map[uint64][]int
	// known are the objects that these references are in.
	known map[uint64]bool
	// Others are references from elsewhere, by their targets: the numbers of the objects that have them.
	others map[uint64][]int32
}

// newPlaces gathers the references of IPython and __main__.
func newPlaces(w *walk.Walker) places {
	modules, s := w.Modules(), w.Shell
	names, builtins := w.Namespace(w.ModuleDict(modules, "__main__")), w.ModuleDict(modules, "builtins")
	p := places{names: map[uint64][]string{}, own: map[uint64]int64{}, outputs: map[uint64][]int{},
		known: map[uint64]bool{}, others: map[uint64][]int32{}}
	take := func(name string, value uint64) {
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
	for _, b := range names {
		if objects.IsIPythons(b.Name) && !s.IsUsers(b) {
			take(b.Name, b.Value)
		} else {
			p.names[b.Value] = append(p.names[b.Value], b.Name)
		}
	}
	if w.IsShape(s.Out, objects.ShapeDict) {
		w.Entries(s.Out, func(key, value uint64) bool {
			if n, ok := w.Integer(key); ok {
				take("_"+strconv.FormatInt(max(n, 0), 10), value)
			}
			return !w.Done()
		})
	}
	for _, addr := range []uint64{s.Hidden, s.Hook, s.Result} {
		attributesOf(w, addr, func(name string, value uint64) {
			if name == "result" && addr == s.Result {
				name = "_"
			}
			take(name, value)
		})
	}
	take("_", w.Lookup(builtins, "_"))
	for _, addr := range []uint64{s.Out, s.Hidden, s.Hook, s.Result} {
		p.known[addr] = true
	}
	return p
}

// attributesOf calls do for the values that an object, or a dict, has by name.
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

// referrers notes the objects that refer to those that must perhaps be copied, as far as that was noted.
func (p *places) referrers(v *viewing, some []Held) {
	w := v.Walker
	wanted := make([]uint64, len(w.Notes.Noted)/64+1)
	mark := func(addr uint64) {
		if id, ok := w.Notes.Index.Get(addr, w.Notes.Addrs); ok {
			wanted[id/64] |= 1 << (id % 64)
		}
	}
	for i := range some {
		for j := range some[i].targets {
			v.aim(&some[i].targets[j])
			mark(some[i].targets[j].object)
		}
	}
	for id := range w.Notes.Noted {
		one := &w.Notes.Noted[id]
		if one.First == objects.Unnoted || w.Notes.TypeOf(int32(id)) == nil || p.counted(w, int32(id)) {
			continue
		}
		for s := range w.Notes.StepsOf(int32(id)) {
			switch s.Kind() {
			case objects.StepFollow, objects.StepWord, objects.StepKey:
				if to := s.ID(); wanted[to/64]&(1<<(to%64)) != 0 {
					p.refer(w.Notes.Addrs[to], int32(id))
				}
			}
		}
	}
}

// counted reports whether the names in an object have been taken in already.
func (p *places) counted(w *walk.Walker, id int32) bool {
	return p.known[w.Notes.Addrs[id]] || w.Notes.TypeOf(id).Shape == objects.ShapeModule
}

// maxReferrers is how many references to an object are noted: viewing.viewer gives up one that has more.
const maxReferrers = objects.MaxAlso + 2

// refer notes that an object refers to another.
func (p *places) refer(to uint64, id int32) {
	if all := p.others[to]; len(all) < maxReferrers {
		p.others[to] = append(all, id)
	}
}

// outputNumber is n of _n, -1 for a name without a number.
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
