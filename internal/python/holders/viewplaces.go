package holders

import (
	"slices"
	"strconv"
)

// places are the references of IPython and __main__ to objects.
type places struct {
	names map[uint64][]string // of the user's
	// IPython's own: how many references it has to an object, and the numbers of its outputs.
	own     map[uint64]int64
	outputs map[uint64][]int
	// known are the objects that these references are in.
	known map[uint64]bool
	// others are references from elsewhere, by their targets: the numbers of the objects that have them.
	others map[uint64][]int32
}

func newPlaces(w *walker) places {
	modules, s := w.modules(), w.shell
	names, builtins := w.namespace(w.moduleDict(modules, "__main__")), w.moduleDict(modules, "builtins")
	p := places{names: map[uint64][]string{}, own: map[uint64]int64{}, outputs: map[uint64][]int{},
		known: map[uint64]bool{}, others: map[uint64][]int32{}}
	take := func(name string, value uint64) {
		p.own[value]++
		if !isOutput(name) {
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
		if isIPythons(b.name) && !s.isUsers(b) {
			take(b.name, b.value)
		} else {
			p.names[b.value] = append(p.names[b.value], b.name)
		}
	}
	if w.isShape(s.out, shapeDict) {
		w.entries(s.out, func(key, value uint64) bool {
			if n, ok := w.integer(key); ok {
				take("_"+strconv.FormatInt(max(n, 0), 10), value)
			}
			return !w.done()
		})
	}
	for _, addr := range []uint64{s.hidden, s.hook, s.result} {
		attributesOf(w, addr, func(name string, value uint64) {
			if name == "result" && addr == s.result {
				name = "_"
			}
			take(name, value)
		})
	}
	take("_", w.lookup(builtins, "_"))
	for _, addr := range []uint64{s.out, s.hidden, s.hook, s.result} {
		p.known[addr] = true
	}
	return p
}

// attributesOf calls do for the values that an object, or a dict, has by name.
func attributesOf(w *walker, addr uint64, do func(name string, value uint64)) {
	t := w.objectType(addr)
	if t == nil {
		return
	}
	each := func(key, value uint64) bool {
		if name, ok := w.text(key, maxName); ok {
			do(name, value)
		}
		return !w.done()
	}
	if t.shape == shapeDict {
		w.entries(addr, each)
		return
	}
	w.attributes(addr, t, each)
}

// referrers notes the objects that refer to those that must perhaps be copied, as far as that was noted.
func (p *places) referrers(v *viewing, some []foundView) {
	w := v.walker
	wanted := make([]uint64, len(w.notes.noted)/64+1)
	mark := func(addr uint64) {
		if id, ok := w.notes.index.get(addr, w.notes.addrs); ok {
			wanted[id/64] |= 1 << (id % 64)
		}
	}
	for i := range some {
		for j := range some[i].targets {
			v.aim(&some[i].targets[j])
			mark(some[i].targets[j].object)
		}
	}
	for id := range w.notes.noted {
		one := &w.notes.noted[id]
		if one.first == unnoted || one.typ() == 0 || p.counted(w, int32(id)) {
			continue
		}
		for at := one.first; w.notes.steps[at].kind() != stepStop; at++ {
			switch s := w.notes.steps[at]; s.kind() {
			case stepFollow, stepWord, stepKey:
				if to := s.id(); wanted[to/64]&(1<<(to%64)) != 0 {
					p.refer(w.notes.addrs[to], int32(id))
				}
			case stepRaw:
				at++ // the other half of the word
			}
		}
	}
}

// counted reports whether the names in an object have been taken in already.
func (p *places) counted(w *walker, id int32) bool {
	return p.known[w.notes.addrs[id]] || w.notes.types[w.notes.noted[id].typ()].shape == shapeModule
}

// maxReferrers is how many references to an object are noted: [viewing.viewer] gives up one that has more.
const maxReferrers = maxAlso + 2

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
