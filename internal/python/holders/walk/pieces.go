package walk

// pieces are the pieces of memory that objects of libraries have of their own.
type pieces struct {
	met     map[uint64]bool // that were looked into
	awaited map[uint64]bool // further away, noted to be looked into later
	far     []chunk
	most    int // of each of these
}

func newPieces(most int) pieces {
	return pieces{met: map[uint64]bool{}, awaited: map[uint64]bool{}, most: most}
}

// chunk is a piece of memory that malloc gave out, on the way from an object of Python's.
type chunk struct {
	addr, size uint64
	node       int32 // the object
	hops       uint8 // from there, up to nearHops + 1
	plain      bool  // its kind is not known: only references to objects of Python's are looked for
	storage    bool  // it is a c10::StorageImpl
	numbers    span  // words that are no references
}

// span is a part of an object, in bytes from its beginning; the zero value is none.
type span struct{ from, to int }

// nearHops is the depth to which an object's own memory is looked into at once: a tensor refers to its
// implementation, that to a storage, that to the block. Other objects may hold more distant memory more directly,
// such as gradients and the values that a graph has saved for backward: it waits until every object that the roots
// lead to has been looked into.
const nearHops = 2

// isNew reports whether a piece of memory has not been visited. It notes that it is visited now.
func (p *pieces) isNew(addr uint64) bool {
	if p.met[addr] || len(p.met) >= p.most {
		return false
	}
	p.met[addr] = true
	return true
}

// takes reports whether a piece of memory is to be looked into that has been reached so many hops from its object: one
// that is nearby at once, if it has not been. One further away is only noted: until its turn comes, another object may
// turn out to have it nearby.
func (p *pieces) takes(addr uint64, hops uint8) bool {
	if hops <= nearHops {
		return p.isNew(addr)
	}
	if p.met[addr] || p.awaited[addr] || len(p.awaited) >= p.most {
		return false
	}
	p.awaited[addr] = true
	return true
}
