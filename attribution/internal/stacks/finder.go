package stacks

import "math/bits"

// finder is a hash index of a list, with open addressing. It takes 5 to 11 bytes an item and has no pointers, so the
// garbage collector does not scan it. The hash must be seeded, so that a target cannot make its items collide, and good
// in its upper bits.
type finder struct {
	places []uint32 // places in the list, from 1; 0 is a free entry. The length is a power of two
	used   int      // number of entries that are not free
}

// find returns the place of an item in the list, from 0. matches reports whether a place has the wanted item.
func (x *finder) find(hash uint64, matches func(place uint32) bool) (place uint32, known bool) {
	if len(x.places) == 0 {
		return 0, false
	}
	mask := uint64(len(x.places) - 1)
	for i := hash >> bits.LeadingZeros64(mask); x.places[i] != 0; i = (i + 1) & mask {
		if at := x.places[i] - 1; matches(at) {
			return at, true
		}
	}
	return 0, false
}

// add adds the item at a place of the list. The item must not be in the finder yet. hashOf returns the hash of the item
// at any place.
func (x *finder) add(at uint32, hashOf func(at uint32) uint64) {
	const least, fullFourths = 64, 3
	if 4*(x.used+1) > fullFourths*len(x.places) {
		old := x.places
		x.places = make([]uint32, max(least, 2*len(old)))
		for _, place := range old {
			if place != 0 {
				x.put(place, hashOf(place-1))
			}
		}
	}
	x.put(at+1, hashOf(at))
	x.used++
}

func (x *finder) put(place uint32, hash uint64) {
	mask := uint64(len(x.places) - 1)
	i := hash >> bits.LeadingZeros64(mask)
	for x.places[i] != 0 {
		i = (i + 1) & mask
	}
	x.places[i] = place
}
