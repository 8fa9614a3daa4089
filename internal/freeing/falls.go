package freeing

import (
	"slices"

	"ipytracer/event"
)

// An entry includes malloc_trim if that gives back at least so many bytes, and a part of the entry's memory (the
// reciprocal).
const (
	leastTrimmed = 1 << 20
	trimmedPart  = 20
)

// falling adds up the resident memory that entries give back if a user runs them in order. Memory that one entry frees,
// or that malloc returns with it, does not count again in a later entry.
type falling struct {
	*freer
	released    []int       // owners
	was         event.Share // what they held
	returned    event.Bytes // pages that malloc has returned
	mayFreeMore bool        // an entry may have given malloc more than is known since it last returned its pages
}

// setFalls sets by how much resident memory falls with each entry. It leaves out entries that free next to no resident
// memory.
func (f *freer) setFalls(promises []Promise) (out []Promise) {
	if !f.look.Resides {
		return promises
	}
	total := falling{freer: f}
	for _, p := range promises {
		if total.add(&p) {
			out = append(out, p)
		}
	}
	return out
}

// add adds an entry and sets its figures. It returns false for an entry that frees next to no resident memory.
func (f *falling) add(p *Promise) bool {
	before := len(f.released)
	for _, o := range p.owners {
		if !slices.Contains(f.released, o) {
			f.released = append(f.released, o)
		}
	}
	now := f.sum(f.released)
	resident := now.Resident + mapped(&now.Share) - f.was.Resident - mapped(&f.was)
	if resident+event.Bytes(p.Device) < leastFreed {
		f.released = f.released[:before]
		return false
	}
	falls, trims := max(now.Frees-f.was.Frees, 0), max(now.Trims-f.was.Trims, 0) // recordings are hostile
	f.was = now.Share
	stays := max(resident-falls-trims, 0)
	if trims >= max(leastTrimmed, resident/trimmedPart) {
		trims = max(f.look.Trim+now.Trims-f.returned, 0) // malloc_trim returns all free memory, not only that of p
		f.returned += trims
		p.Trimmed, p.Type = true, releasingCode(f.ownersOf(p.owners), p.collects, true)
		p.Exact, f.mayFreeMore = p.Exact && !f.mayFreeMore, false
	} else if !p.Exact {
		f.mayFreeMore = true
	}
	whole := f.sum(p.owners)
	p.InMemory, p.Maps = new(int64(whole.Resident)), MapsOf(whole.Maps)
	p.Resident, p.Trims = new(int64(falls)), new(int64(trims))
	if p.Exact { // else p may free more memory than is known
		p.Stays = int64(stays)
	}
	return true
}

// ownersOf returns the owners with the given indexes.
func (f *freer) ownersOf(indexes []int) (out []event.Owner) {
	for _, o := range indexes {
		out = append(out, f.look.Owners[o])
	}
	return out
}
