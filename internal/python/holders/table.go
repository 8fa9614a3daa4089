package holders

// table finds nodes by their address: open addressing, no deletion. A place holds an index and some bits of the
// address's hash, which mostly save a look at the address itself: four bytes in all.
type table struct {
	slots []uint32 // index + 1 in the lower bits, 0 for empty
	used  int
}

// maxIndex is the highest index that a table can hold.
const (
	indexBits = 24
	maxIndex  = 1<<indexBits - 2
)

// slot returns the first place for an address, and the bits that a place has of its hash.
func (t *table) slot(addr uint64) (at uint64, tag uint32) {
	h := (addr >> 3) * 0x9e3779b97f4a7c15
	h ^= h >> 32
	return h & uint64(len(t.slots)-1), uint32(h>>24) &^ (1<<indexBits - 1)
}

// get returns the index under an address.
func (t *table) get(addr uint64, addrs []uint64) (int32, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	i, tag := t.slot(addr)
	for ; ; i = (i + 1) & uint64(len(t.slots)-1) {
		s := t.slots[i]
		if s == 0 {
			return 0, false
		}
		if n := s & (1<<indexBits - 1); s^tag == n && addrs[n-1] == addr {
			return int32(n - 1), true
		}
	}
}

// put adds an index under an address that is not there yet.
func (t *table) put(addr uint64, n int32, addrs []uint64) {
	if 3*(t.used+1) > 2*len(t.slots) {
		old := t.slots
		t.slots = make([]uint32, max(1<<12, 2*len(old)))
		for _, o := range old {
			if o != 0 {
				o &= 1<<indexBits - 1
				t.insert(addrs[o-1], o)
			}
		}
	}
	t.insert(addr, uint32(n)+1)
	t.used++
}

func (t *table) insert(addr uint64, n uint32) {
	i, tag := t.slot(addr)
	for t.slots[i] != 0 {
		i = (i + 1) & uint64(len(t.slots)-1)
	}
	t.slots[i] = n | tag
}
