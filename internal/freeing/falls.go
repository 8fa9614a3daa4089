package freeing

import (
	"slices"

	"ipytracer/event"
)

// Bounds of the memory that malloc keeps, to be worth a line of code: bytes, and the reciprocal of a part of the entry.
const (
	leastTrimmed = 1 << 20
	trimmedPart  = 20
)

// falling sums the memory that entries give back when they are typed in order. Memory that an entry frees, or that
// malloc returns with it, does not count again in later entries.
type falling struct {
	*freer
	gone     []int       // owners
	was      event.Share // what they held
	returned event.Bytes // pages that malloc has returned
	unseen   bool        // an entry may have given malloc more than is known since it last returned its pages
}

// fall sets by how much resident memory falls with each entry. It leaves out entries with next to nothing in memory.
func (f *freer) fall(all []Promise) (out []Promise) {
	if !f.of.Resides {
		return all
	}
	so := falling{freer: f}
	for _, p := range all {
		if so.take(&p) {
			out = append(out, p)
		}
	}
	return out
}

// take takes in an entry; false where it has next to nothing in memory.
func (f *falling) take(p *Promise) bool {
	before := len(f.gone)
	for _, o := range p.owners {
		if !slices.Contains(f.gone, o) {
			f.gone = append(f.gone, o)
		}
	}
	now := f.sum(f.gone)
	in := now.Resident + mapped(&now.Share) - f.was.Resident - mapped(&f.was)
	if in+event.Bytes(p.Device) < leastFreed {
		f.gone = f.gone[:before]
		return false
	}
	falls, trims := max(now.Frees-f.was.Frees, 0), max(now.Trims-f.was.Trims, 0) // a recording can say anything
	f.was = now.Share
	stays := max(in-falls-trims, 0)
	if trims >= max(leastTrimmed, in/trimmedPart) {
		trims = max(f.of.Trim+now.Trims-f.returned, 0) // all that is free by then, whoever had it
		f.returned += trims
		p.Trimmed, p.Type = true, typed(f.ownersOf(p.owners), p.collects, true)
		p.Exact, f.unseen = p.Exact && !f.unseen, false
	} else if !p.Exact {
		f.unseen = true
	}
	whole := f.sum(p.owners)
	p.InMemory, p.Maps = new(int64(whole.Resident)), MapsOf(whole.Maps)
	p.Resident, p.Trims = new(int64(falls)), new(int64(trims))
	if p.Exact { // else memory that nobody sees may lie beside it, and go with it
		p.Stays = int64(stays)
	}
	return true
}

// ownersOf returns owners by their indexes.
func (f *freer) ownersOf(all []int) (out []event.Owner) {
	for _, o := range all {
		out = append(out, f.of.Owners[o])
	}
	return out
}
