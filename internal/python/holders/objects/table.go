package objects

// Index is a hash table from addresses to their indexes in a slice of addresses, which callers pass to each method. It
// has open addressing, and no deletion. A slot of four bytes has an index and some bits of the address's hash, so that
// mostly the address itself need not be compared.
type Index struct {
	Slots []uint32 // index + 1 in the lower bits, 0 for empty
	Used  int
}

// MaxIndex is the highest index that a table can hold.
const (
	indexBits = 24
	MaxIndex  = 1<<indexBits - 2
)

// slot returns the first slot for an address, and the bits of the address's hash that a slot has.
func (t *Index) slot(addr uint64) (at uint64, tag uint32) {
	h := (addr >> 3) * 0x9e3779b97f4a7c15
	h ^= h >> 32
	return h & uint64(len(t.Slots)-1), uint32(h>>24) &^ (1<<indexBits - 1)
}

// Get returns the index of an address; ok is false if it has none.
func (t *Index) Get(addr uint64, addrs []uint64) (index int32, ok bool) {
	if len(t.Slots) == 0 {
		return 0, false
	}
	i, tag := t.slot(addr)
	for ; ; i = (i + 1) & uint64(len(t.Slots)-1) {
		s := t.Slots[i]
		if s == 0 {
			return 0, false
		}
		if n := s & (1<<indexBits - 1); s^tag == n && addrs[n-1] == addr {
			return int32(n - 1), true
		}
	}
}

// Put adds the index of an address that has none yet.
func (t *Index) Put(addr uint64, n int32, addrs []uint64) {
	if isTooFull := 3*(t.Used+1) > 2*len(t.Slots); isTooFull {
		old := t.Slots
		t.Slots = make([]uint32, max(1<<12, 2*len(old)))
		for _, o := range old {
			if o != 0 {
				o &= 1<<indexBits - 1
				t.insert(addrs[o-1], o)
			}
		}
	}
	t.insert(addr, uint32(n)+1)
	t.Used++
}

// insert puts n, which is an index + 1, into the first free slot for an address.
func (t *Index) insert(addr uint64, n uint32) {
	i, tag := t.slot(addr)
	for t.Slots[i] != 0 {
		i = (i + 1) & uint64(len(t.Slots)-1)
	}
	t.Slots[i] = n | tag
}
