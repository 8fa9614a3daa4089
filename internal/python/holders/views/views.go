// Package views finds memory that only views hold. Views are slices of arrays, of tensors, of tables of Arrow's. The
// package finds which objects must be copied for the memory to go, and under which names they are.
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

// viewing finds memory that only views hold. It needs a survey's notes and the nodes that a walk has reached.
type viewing struct {
	*walk.Walker
	paths   *paths.Writer
	places  places
	of      map[uint64]*viewed        // by the owner of the memory: an object, or a storage of PyTorch's
	linked  map[uint64]bool           // objects that are links already
	tensors map[uint64]objects.Tensor // by their objects
	arrows  sharedGraph
}

// viewed is memory with its views.
type viewed struct {
	owner, addr, size uint64
	kind              string           // the name of the owner's type
	holds             map[uint64]int64 // by object: how many references links have to it
	links             []link
	storage           bool // the owner is a storage of PyTorch's
}

// link is an object that is a view, or that lies between a view and the owner of the memory.
type link struct {
	addr   uint64
	used   uint64 // bytes of the memory that the view uses; 0 for an object in between
	copies uint64 // bytes of a copy of the view; 0 for an object in between
}

// All returns memory that only views hold, by address. The walk must be over, and must still have the survey's notes.
func All(w *walk.Walker, p *paths.Writer) (found []Held) {
	if w.Stopped != nil || w.Sizes == nil || w.Notes == nil {
		return nil
	}
	v := &viewing{Walker: w, paths: p, of: map[uint64]*viewed{}, linked: map[uint64]bool{},
		tensors: map[uint64]objects.Tensor{},
		arrows:  sharedGraph{Walker: w, of: map[uint64]int32{}}}
	v.gather()
	var candidates []Held
	for _, owner := range slices.Sorted(maps.Keys(v.of)) {
		if held, ok := v.weigh(v.of[owner]); ok && len(candidates) < maxWeighed {
			candidates = append(candidates, held)
		}
	}
	candidates = append(candidates, v.arrows.views()...)
	if len(candidates) == 0 {
		return nil
	}
	v.places = newPlaces(w)
	v.places.referrers(v, candidates)
	for _, held := range candidates {
		if len(found) < maxKept && v.canCopy(&held) {
			found = append(found, held)
		}
	}
	slices.SortFunc(found, func(a, b Held) int { return cmp.Compare(a.Address, b.Address) })
	return found
}

// Held is memory that only views hold, with the objects that must be copied.
type Held struct {
	event.View
	targets []target
	objects []uint64         // the addresses of the Viewers
	holds   map[uint64]int64 // see viewed
}

// gather files every view under the owner of its memory.
func (v *viewing) gather() {
	count := 0
	for id := range v.Notes.Noted {
		typ, addr := v.Notes.TypeOf(int32(id)), v.Notes.Addrs[id]
		if typ == nil || v.hasStopped() {
			continue
		}
		switch {
		case typ.Shape == objects.ShapeArray:
			if v.OwnsData(addr) || count >= maxViews {
				continue
			}
			count++
			v.addChain(addr)
		case typ.Name == objects.MemoryView:
			if count < maxViews {
				count++
				v.addChain(addr)
			}
		case typ.Native && v.IsTensor(typ):
			if count < maxViews {
				count++
				v.tensor(addr, typ)
			}
		case typ.Arrow:
			if count < maxViews {
				count++
				v.arrows.addRoot(addr, typ)
			}
		}
	}
}

// hasStopped reports whether the walk has stopped.
func (v *viewing) hasStopped() bool { return v.Stopped != nil || v.Mem.Err != nil }

// next returns the object that a view holds: another view, or the owner of the memory; ok is false for an object that
// is no view. The fields are PyArrayObject.base, PyMemoryViewObject.mbuf, _PyManagedBufferObject.master.obj (3.9 to
// 3.15).
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

// addChain follows a view to the owner of the memory, and files the view, and all objects in between, under the owner.
func (v *viewing) addChain(addr uint64) {
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
	base := v.memoryOf(at)
	if base == nil {
		return
	}
	for i, from := range links {
		if v.linked[from] {
			return // all objects behind it are links already, too
		}
		v.linked[from] = true
		to := at
		if i+1 < len(links) {
			to = links[i+1]
		}
		base.holds[to]++
		used, copies := v.extentOf(from)
		base.links = append(base.links, link{addr: from, used: used, copies: copies})
	}
}

// memoryOf returns the memory that an object owns, nil for less than leastBase bytes.
func (v *viewing) memoryOf(owner uint64) *viewed {
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

// dataOf returns the memory that an object owns, besides its fields.
func (v *viewing) dataOf(addr uint64, typ *objects.Type) (at, size uint64) {
	word := func(offset uint64) uint64 { return v.Mem.Word(addr + offset) }
	lineage := v.Lineage(typ)
	switch {
	case typ.Shape == objects.ShapeArray && v.OwnsData(addr):
		at, size = word(objects.ArrayData), v.ReadArray(addr).Bytes
	case lineage.Origin == "bytearray", lineage.Origin == "array.array":
		at, size = v.ItemBuffer(addr, lineage)
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
			return objects.UserSpace, objects.UserSpace // it is not known: no copy is worth its cost
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
	if note := v.Notes.At(addr); note != nil {
		return int64(note.References)
	}
	return v.References(addr)
}

// weigh returns memory with its targets. ok reports whether only views hold the memory, as far as reference counts
// show.
func (v *viewing) weigh(base *viewed) (held Held, ok bool) {
	if base == nil {
		return held, false
	}
	if base.storage {
		return v.weighStorage(base)
	}
	others := v.referencesOf(base.owner) - base.holds[base.owner]
	if others < 0 || others > 1 {
		return held, false // a name, or another object, holds the owner
	}
	held = Held{View: event.View{Address: base.addr, Size: event.Bytes(base.size), Type: base.kind}, holds: base.holds}
	for _, l := range base.links {
		outside := v.referencesOf(l.addr) - base.holds[l.addr]
		switch {
		case outside == 0 && base.holds[l.addr] > 0:
			continue // only other views hold it
		case outside <= 0 || l.copies == 0:
			return held, false
		}
		held.targets = append(held.targets, target{View: l.addr, used: l.used, copies: l.copies})
	}
	if !slices.ContainsFunc(held.targets, func(target target) bool { return target.copies < base.size/2 }) {
		return held, false
	}
	// the owner may be a part of the object that has the views: a sliced frame keeps the frame from which it was sliced
	if others > 0 {
		held.targets = append(held.targets, target{View: base.owner, isHidden: true})
	}
	return held, true
}

// isWorthwhile reports whether copies are worth their cost: they must take less than half of the memory, because they
// are made before the memory is freed, and must free at least leastBase bytes in the end.
func (held *Held) isWorthwhile() bool {
	return len(held.Viewers) > 0 && held.Used > 0 && held.Copies < held.Size/2 && held.Size-held.Copies >= leastBase
}

// ByRoot returns, for each root that leads to memory that only views hold, the largest such piece of memory.
func ByRoot(w *walk.Walker, p *paths.Writer) map[int32]Held {
	var largest map[int32]Held
	for _, held := range All(w, p) {
		for i := range held.targets {
			if held.targets[i].node < 0 {
				continue
			}
			if largest == nil {
				largest = map[int32]Held{}
			}
			if root := p.RootNode(held.targets[i].node); largest[root].Size < held.Size {
				largest[root] = held
			}
		}
	}
	return largest
}
