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
	maxWeighed = 1 << 12  // pieces of memory that are traced back to their names
)

// viewing finds memory that only views of it hold. It looks at a survey's notes and at the nodes that a walk has
// reached, so it needs both.
type viewing struct {
	*walk.Walker
	paths   *paths.Writer
	places  places
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
	v := &viewing{Walker: w, paths: p, of: map[uint64]*viewed{}, linked: map[uint64]bool{},
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
	v.places = newPlaces(w)
	v.places.referrers(v, some)
	for _, one := range some {
		if len(all) < maxKept && v.reached(&one) {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b Held) int { return cmp.Compare(a.Address, b.Address) })
	return all
}

// Held is memory that only views hold, with the objects that must be copied.
type Held struct {
	event.View
	targets []target
	objects []uint64 // of the Viewers
	holds   map[uint64]int64
}

// gather files every view by the owner of its memory.
func (v *viewing) gather() {
	count := 0
	for id := range v.Notes.Noted {
		typ, addr := v.Notes.TypeOf(int32(id)), v.Notes.Addrs[id]
		if typ == nil || v.cut() {
			continue
		}
		switch {
		case typ.Shape == objects.ShapeArray:
			if v.OwnsData(addr) || count >= maxViews {
				continue
			}
			count++
			v.chain(addr)
		case typ.Name == objects.MemoryView:
			if count < maxViews {
				count++
				v.chain(addr)
			}
		case typ.Native && v.IsTensor(typ):
			if count < maxViews {
				count++
				v.tensor(addr, typ)
			}
		case typ.Arrow:
			if count < maxViews {
				count++
				v.arrows.take(addr, typ)
			}
		}
	}
}

// cut reports whether the walk has stopped.
func (v *viewing) cut() bool { return v.Stopped != nil || v.Mem.Err != nil }

// next returns the object that a view holds: another view, or the owner of the memory; ok is false for none.
// PyMemoryViewObject.mbuf, _PyManagedBufferObject.master.obj (3.9 to 3.15).
func (v *viewing) next(addr uint64, typ *objects.Type) (to uint64, ok bool) {
	const exporter = 40
	switch {
	case typ.Shape == objects.ShapeArray && !v.OwnsData(addr):
		to = v.Mem.Word(addr + objects.ArrayBase)
	case typ.Name == objects.MemoryView:
		to = v.Mem.Word(addr + objects.MemoryBuffer)
	case typ.Name == objects.ManagedBuffer:
		to = v.Mem.Word(addr + exporter)
	}
	return to, to != 0
}

// chain follows a view to the owner of the memory, and files all objects that lie between.
func (v *viewing) chain(addr uint64) {
	var links []uint64
	at := addr
	for range maxChain {
		typ := v.ObjectType(at)
		if typ == nil {
			return
		}
		to, ok := v.next(at, typ)
		if !ok {
			break
		}
		links = append(links, at)
		at = to
	}
	base := v.group(at)
	if base == nil {
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
		base.holds[to]++
		one := link{addr: from}
		one.used, one.copies = v.extentOf(from)
		base.links = append(base.links, one)
	}
}

// group returns the memory of an object; nil if the object has none, or too little to be worth a look.
func (v *viewing) group(owner uint64) *viewed {
	if base, ok := v.of[owner]; ok {
		return base
	}
	base := &viewed{owner: owner, holds: map[uint64]int64{}}
	if typ := v.ObjectType(owner); typ != nil {
		base.kind = typ.Name
		base.addr, base.size = v.dataOf(owner, typ)
	}
	if base.size < leastBase {
		base = nil
	}
	v.of[owner] = base
	return base
}

// dataOf returns the memory that an object has for itself.
func (v *viewing) dataOf(addr uint64, typ *objects.Type) (at, size uint64) {
	word := func(offset uint64) uint64 { return v.Mem.Word(addr + offset) }
	of := v.Lineage(typ)
	switch {
	case typ.Shape == objects.ShapeArray && v.OwnsData(addr):
		at, size = word(objects.ArrayData), v.ReadArray(addr).Bytes
	case of.Origin == "bytearray", of.Origin == "array.array":
		at, size = v.ItemBuffer(addr, of)
	case typ.Name == "bytes":
		at, size = addr, min(word(uint64(v.Heap.VarSize)), objects.UserSpace) // in the object itself
	}
	if _, known := v.Sizes.Buffer(at, size); !known {
		return 0, 0
	}
	return at, size
}

// extentOf returns how many bytes of the memory a view uses, and how many a copy of the view takes.
func (v *viewing) extentOf(addr uint64) (used, copies uint64) {
	const length = 72 // PyMemoryViewObject.view.len
	typ := v.ObjectType(addr)
	switch {
	case typ == nil:
	case typ.Shape == objects.ShapeArray:
		a := v.ReadArray(addr)
		if !a.Known {
			return objects.UserSpace, objects.UserSpace // not known
		}
		return v.distinct(addr, a), a.Bytes
	case typ.Name == objects.MemoryView:
		size := min(v.Mem.Word(addr+length), objects.UserSpace)
		return size, size
	}
	return 0, 0
}

// distinct returns how many bytes the elements of an array take. Elements that a stride of 0 repeats count once.
func (v *viewing) distinct(addr uint64, a objects.ArrayFields) (bytes uint64) {
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
func (v *viewing) referencesOf(addr uint64) int64 {
	if one := v.Notes.At(addr); one != nil {
		return int64(one.References)
	}
	return v.References(addr)
}

// weigh reports whether nothing but views hold memory, as far as their counts show.
func (v *viewing) weigh(base *viewed) (held Held, ok bool) {
	if base == nil {
		return held, false
	}
	if base.storage {
		return v.weighStorage(base)
	}
	others := v.referencesOf(base.owner) - base.holds[base.owner]
	if others < 0 || others > 1 {
		return held, false // it has a name of its own, or another object has it
	}
	held = Held{View: event.View{Address: base.addr, Size: event.Bytes(base.size), Type: base.kind}, holds: base.holds}
	for _, one := range base.links {
		outside := v.referencesOf(one.addr) - base.holds[one.addr]
		switch {
		case outside == 0 && base.holds[one.addr] > 0:
			continue // only other views have it
		case outside <= 0 || one.copies == 0:
			return held, false
		}
		held.targets = append(held.targets, target{View: one.addr, used: one.used, copies: one.copies})
	}
	if !slices.ContainsFunc(held.targets, func(target target) bool { return target.copies < base.size/2 }) {
		return held, false
	}
	// the owner may be a part of the object that has the views: a sliced frame keeps the frame that it is a slice of
	if others > 0 {
		held.targets = append(held.targets, target{View: base.owner, isHidden: true})
	}
	return held, true
}

// worth reports whether copies are worth their cost: the views must use less than half of the memory. Copies are made
// before the memory goes, so for a moment they take at most half as much again. In the end more memory goes than stays.
func (held *Held) worth() bool {
	return len(held.Viewers) > 0 && held.Used > 0 && held.Copies < held.Size/2 && held.Size-held.Copies >= leastBase
}

// ByRoot returns the memory that only views hold, by the root that leads to it. Of each root it returns the largest
// piece.
func ByRoot(w *walk.Walker, p *paths.Writer) map[int32]Held {
	var all map[int32]Held
	for _, held := range All(w, p) {
		for i := range held.targets {
			if held.targets[i].node < 0 {
				continue
			}
			if all == nil {
				all = map[int32]Held{}
			}
			if n := p.RootNode(held.targets[i].node); all[n].Size < held.Size {
				all[n] = held
			}
		}
	}
	return all
}
