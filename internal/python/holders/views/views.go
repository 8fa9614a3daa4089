// Package views finds memory that only views hold: slices of arrays, of tensors, of tables of Arrow's. It says which
// objects must be copied for the memory to go, and under which names they are.
package views

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/paths"
	"ipytracer/internal/python/holders/walk"
)

// Bounds of looking for memory that only views hold.
const (
	leastBase  = 64 << 10 // bytes of such memory
	maxViews   = 1 << 15  // objects that are views of others
	maxChain   = 16       // from a view to the owner of the memory
	maxKept    = 256      // pieces of memory in the result
	maxWeighed = 1 << 12  // those that are traced back to their names
)

// Viewing finds memory that only views of it hold. It looks at a survey's notes and at the nodes that a walk has
// reached, so it needs both.
type Viewing struct {
	*walk.Walker
	paths   *paths.Writer
	places  Places
	of      map[uint64]*viewed        // by the owner of the memory: an object, or a storage of PyTorch's
	linked  map[uint64]bool           // objects with known targets of their views
	tensors map[uint64]objects.Tensor // by their objects
	arrows  sharedGraph               // of pyarrow's
}

// viewed is memory with its views.
type viewed struct {
	owner, addr, size uint64
	kind              string
	holds             map[uint64]int64 // references that these objects have to each other, by their targets
	links             []link
	storage           bool
}

// link is an object that is a view, or lies between one and the owner of the memory.
type link struct {
	addr         uint64
	used, copies uint64 // 0 for an object that lies between
}

// All returns memory that only views hold, by address. The walk must be over, and its notes be there.
func All(w *walk.Walker, p *paths.Writer) (all []Held) {
	if w.Stopped != nil || w.Sizes == nil || w.Notes == nil {
		return nil
	}
	v := &Viewing{Walker: w, paths: p, of: map[uint64]*viewed{}, linked: map[uint64]bool{},
		tensors: map[uint64]objects.Tensor{},
		arrows:  sharedGraph{Walker: w, of: map[uint64]int32{}}}
	v.gather()
	var some []Held
	for _, owner := range slices.Sorted(maps.Keys(v.of)) {
		if found, ok := v.weigh(v.of[owner]); ok && len(some) < maxWeighed {
			some = append(some, found)
		}
	}
	if some = append(some, v.arrows.views()...); len(some) == 0 {
		return nil
	}
	v.places = NewPlaces(w)
	v.places.Referrers(v, some)
	for _, one := range some {
		if len(all) < maxKept && v.reached(&one) {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b Held) int { return cmp.Compare(a.Address, b.Address) })
	return all
}

// Held is such memory, with the objects that must be copied.
type Held struct {
	event.View
	Targets []Target
	objects []uint64 // of the Viewers
	holds   map[uint64]int64
}

// gather files every view by the owner of its memory.
func (v *Viewing) gather() {
	count := 0
	for id := range v.Notes.Noted {
		one := &v.Notes.Noted[id]
		if one.TypeNumber() == 0 || v.cut() {
			continue
		}
		t, addr := v.Notes.Types[one.TypeNumber()], v.Notes.Addrs[id]
		switch {
		case t.Shape == objects.ShapeArray:
			if v.OwnsData(addr) || count >= maxViews {
				continue
			}
			count++
			v.chain(addr)
		case t.Name == objects.MemoryView:
			if count < maxViews {
				count++
				v.chain(addr)
			}
		case t.Native && v.IsTensor(t):
			if count < maxViews {
				count++
				v.tensor(addr, t)
			}
		case t.Arrow:
			if count < maxViews {
				count++
				v.arrows.take(addr, t)
			}
		}
	}
}

// cut reports whether there is no more time.
func (v *Viewing) cut() bool { return v.Stopped != nil || v.Mem.Err != nil }

// next returns the object that a view holds: another view, or the owner of the memory; ok is false for none.
// PyMemoryViewObject.mbuf, _PyManagedBufferObject.master.obj (3.9 to 3.15).
func (v *Viewing) next(addr uint64, t *objects.Type) (to uint64, ok bool) {
	const exporter = 40
	switch {
	case t.Shape == objects.ShapeArray && !v.OwnsData(addr):
		to = v.Mem.Word(addr + objects.ArrayBase)
	case t.Name == objects.MemoryView:
		to = v.Mem.Word(addr + objects.MemoryBuffer)
	case t.Name == objects.ManagedBuffer:
		to = v.Mem.Word(addr + exporter)
	}
	return to, to != 0
}

// chain follows a view to the owner of the memory, and files all objects that lie between.
func (v *Viewing) chain(addr uint64) {
	var links []uint64
	at := addr
	for range maxChain {
		t := v.ObjectType(at)
		if t == nil {
			return
		}
		to, ok := v.next(at, t)
		if !ok {
			break
		}
		links = append(links, at)
		at = to
	}
	g := v.group(at)
	if g == nil {
		return
	}
	for i, from := range links {
		if v.linked[from] {
			return // and all behind it
		}
		v.linked[from] = true
		to := at
		if i+1 < len(links) {
			to = links[i+1]
		}
		g.holds[to]++
		one := link{addr: from}
		one.used, one.copies = v.extentOf(from)
		g.links = append(g.links, one)
	}
}

// group is the memory that an object has, nil if it has none that is worth it.
func (v *Viewing) group(owner uint64) *viewed {
	if g, ok := v.of[owner]; ok {
		return g
	}
	g := &viewed{owner: owner, holds: map[uint64]int64{}}
	if t := v.ObjectType(owner); t != nil {
		g.kind = t.Name
		g.addr, g.size = v.dataOf(owner, t)
	}
	if g.size < leastBase {
		g = nil
	}
	v.of[owner] = g
	return g
}

// dataOf is the memory that an object has for itself.
func (v *Viewing) dataOf(addr uint64, t *objects.Type) (at, size uint64) {
	word := func(offset uint64) uint64 { return v.Mem.Word(addr + offset) }
	of := v.Lineage(t)
	switch {
	case t.Shape == objects.ShapeArray && v.OwnsData(addr):
		at, size = word(objects.ArrayData), v.ReadArray(addr).Bytes
	case of.Origin == "bytearray", of.Origin == "array.array":
		at, size = v.ItemBuffer(addr, of)
	case t.Name == "bytes":
		at, size = addr, min(word(uint64(v.Heap.VarSize)), objects.UserSpace) // in the object itself
	}
	if _, known := v.Sizes.Buffer(at, size); !known {
		return 0, 0
	}
	return at, size
}

// extentOf returns how many bytes of its memory a view has, and how many a copy of it takes.
func (v *Viewing) extentOf(addr uint64) (used, copies uint64) {
	const length = 72 // PyMemoryViewObject.view.len
	t := v.ObjectType(addr)
	switch {
	case t == nil:
	case t.Shape == objects.ShapeArray:
		a := v.ReadArray(addr)
		if !a.Known {
			return objects.UserSpace, objects.UserSpace // not known
		}
		return v.distinct(addr, a), a.Bytes
	case t.Name == objects.MemoryView:
		size := min(v.Mem.Word(addr+length), objects.UserSpace)
		return size, size
	}
	return 0, 0
}

// distinct is how many bytes the elements of an array are, those that a stride of 0 repeats counted once.
func (v *Viewing) distinct(addr uint64, a objects.ArrayFields) (bytes uint64) {
	bytes = a.Bytes
	at := v.Mem.Word(addr + objects.ArrayStrides)
	v.Mem.Words(at, uint64(len(a.Shape)), func(i, stride uint64) bool {
		if n := uint64(a.Shape[i]); stride == 0 && n > 1 {
			bytes /= n
		}
		return true
	})
	return bytes
}

// referencesOf returns the reference count of an object: the survey's note, or the present one.
func (v *Viewing) referencesOf(addr uint64) int64 {
	if one := v.Notes.At(addr); one != nil {
		return int64(one.References)
	}
	return v.References(addr)
}

// weigh reports whether nothing but views hold memory, as far as their counts show.
func (v *Viewing) weigh(g *viewed) (f Held, ok bool) {
	if g == nil {
		return f, false
	}
	if g.storage {
		return v.weighStorage(g)
	}
	others := v.referencesOf(g.owner) - g.holds[g.owner]
	if others < 0 || others > 1 {
		return f, false // it has a name of its own, or another object has it
	}
	f = Held{View: event.View{Address: g.addr, Size: event.Bytes(g.size), Type: g.kind}, holds: g.holds}
	for _, one := range g.links {
		outside := v.referencesOf(one.addr) - g.holds[one.addr]
		switch {
		case outside == 0 && g.holds[one.addr] > 0:
			continue // only other views have it
		case outside <= 0 || one.copies == 0:
			return f, false
		}
		f.Targets = append(f.Targets, Target{View: one.addr, used: one.used, copies: one.copies})
	}
	if !slices.ContainsFunc(f.Targets, func(t Target) bool { return t.copies < g.size/2 }) {
		return f, false
	}
	// it may be a part of the object that has the views: a frame that was sliced keeps the frame that it is a slice of
	if others > 0 {
		f.Targets = append(f.Targets, Target{View: g.owner, isHidden: true})
	}
	return f, true
}

// worth reports whether views use so little of memory that copies are worth it: less than half. Copies are made before
// the memory goes, so this takes at most half as much again for a moment, and more goes than stays.
func (f *Held) worth() bool {
	return len(f.Viewers) > 0 && f.Used > 0 && f.Copies < f.Size/2 && f.Size-f.Copies >= leastBase
}

// ByRoot returns the same by the nodes with a name that lead there: the most memory of each.
func ByRoot(w *walk.Walker, p *paths.Writer) map[int32]Held {
	var all map[int32]Held
	for _, f := range All(w, p) {
		for i := range f.Targets {
			if f.Targets[i].node < 0 {
				continue
			}
			if all == nil {
				all = map[int32]Held{}
			}
			if n := p.RootNode(f.Targets[i].node); all[n].Size < f.Size {
				all[n] = f
			}
		}
	}
	return all
}
