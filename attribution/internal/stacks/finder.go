package stacks

// finder finds items of a list by their hashes. It uses open addressing, takes 5 to 11 bytes an item, and has nothing
// for the garbage collector to scan. A target must not be able to foresee the hash.
type finder struct {
	places []uint32 // in the list, from 1; 0 is free. The length is a power of two
	used   int
}

// find returns the place of an item in the list. is reports whether a place holds the wanted item.
func (x *finder) find(hash uint64, is func(at uint32) bool) (at uint32, known bool) {
	if len(x.places) == 0 {
		return 0, false
	}
	mask := uint64(len(x.places) - 1)
	for i := hash & mask; x.places[i] != 0; i = (i + 1) & mask {
		if at := x.places[i] - 1; is(at) {
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
	i := hash & mask
	for x.places[i] != 0 {
		i = (i + 1) & mask
	}
	x.places[i] = place
}
