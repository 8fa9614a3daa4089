package walk

// pieces are the pieces of malloc's memory that objects of libraries refer to.
type pieces struct {
	met     map[uint64]bool // pieces that were looked into, by address
	awaited map[uint64]bool // pieces of far, by address
	far     []chunk         // pieces far from their objects, which are looked into later
	most    int             // the largest size of met, and of awaited
}

func newPieces(most int) pieces {
	return pieces{met: map[uint64]bool{}, awaited: map[uint64]bool{}, most: most}
}

// chunk is a piece of memory that malloc gave out, on the way from an object of Python's.
type chunk struct {
	addr, size uint64
	node       int32 // of the object of Python's
	hops       uint8 // from the object, up to nearHops + 1
	plain      bool  // the kind of the piece is not known: only references to objects of Python's are looked for
	storage    bool  // the piece is a c10::StorageImpl
	numbers    span  // words that are no references
}

// span is the part [from, to) of an object, in bytes from its beginning; the zero value is empty.
type span struct{ from, to int }

// nearHops is the depth to which an object's memory is looked into at once: a tensor refers to its implementation,
// which refers to a storage, which refers to the block. More distant memory, such as gradients and the values that a
// graph has saved for backward, may be nearer to other objects. So it waits until every object that the roots lead to
// has been looked into.
const nearHops = 2

// isNew reports whether a piece of memory has not been looked into, and notes that it is looked into now.
func (p *pieces) isNew(addr uint64) bool {
	if p.met[addr] || len(p.met) >= p.most {
		return false
	}
	p.met[addr] = true
	return true
}

// isDue reports whether to look into a piece that is hops away from its object. A near piece is looked into now, if it
// has not been. A far piece is looked into later, if it does not wait already: meanwhile another object may turn out to
// be nearer to it.
func (p *pieces) isDue(addr uint64, hops uint8) bool {
	if hops <= nearHops {
		return p.isNew(addr)
	}
	if p.met[addr] || p.awaited[addr] || len(p.awaited) >= p.most {
		return false
	}
	p.awaited[addr] = true
	return true
}
