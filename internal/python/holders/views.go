package holders

// This file finds memory that only views hold: slices of arrays, of tensors, of tables of Arrow's. It says which
// objects must be copied for the memory to go, and under which names they are.

import (
	"cmp"
	"maps"
	"slices"

	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// allViews returns memory that only views hold, by address. The walk must be over, and must still have the survey's
// notes.
func allViews(w *walk.Walker, p *walk.PathWriter) (found []Held) {
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
	v.places = newReferring(w)
	v.places.referrers(v, candidates)
	for _, held := range candidates {
		if len(found) < maxKept && v.canCopy(&held) {
			found = append(found, held)
		}
	}
	slices.SortFunc(found, func(a, b Held) int { return cmp.Compare(a.Address, b.Address) })
	return found
}

// viewsByRoot returns, for each root that leads to memory that only views hold, the largest such piece of memory.
func viewsByRoot(w *walk.Walker, p *walk.PathWriter) map[int32]Held {
	var largest map[int32]Held
	for _, held := range allViews(w, p) {
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

// referrers aims the targets of the candidates, and notes in others the objects that refer to the targets, as far as
// the survey noted references.
func (p *referring) referrers(v *viewing, candidates []Held) {
	w := v.Walker
	wanted := make([]uint64, len(w.Notes.Noted)/64+1)
	mark := func(addr uint64) {
		if id, ok := w.Notes.Index.Get(addr, w.Notes.Addrs); ok {
			wanted[id/64] |= 1 << (id % 64)
		}
	}
	for i := range candidates {
		for j := range candidates[i].targets {
			target := &candidates[i].targets[j]
			v.aim(target)
			mark(target.object)
		}
	}
	for id := range w.Notes.Noted {
		note := &w.Notes.Noted[id]
		if note.First == objects.Unnoted || w.Notes.TypeOf(int32(id)) == nil || p.isCounted(w, int32(id)) {
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
