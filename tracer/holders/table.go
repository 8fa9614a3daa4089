package holders

// table finds nodes by their address: open addressing, no deletion. It holds indices, four bytes each.
type table struct {
	slots []int32 // index + 1, 0 for empty
	used  int
}

func (t *table) slot(addr uint64) uint64 {
	h := (addr >> 3) * 0x9e3779b97f4a7c15
	return (h ^ h>>32) & uint64(len(t.slots)-1)
}

// get returns the index under an address.
func (t *table) get(addr uint64, nodes []node) (int32, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	for i := t.slot(addr); ; i = (i + 1) & uint64(len(t.slots)-1) {
		switch n := t.slots[i]; {
		case n == 0:
			return 0, false
		case nodes[n-1].addr == addr:
			return n - 1, true
		}
	}
}

// put adds an index under an address that is not there yet.
func (t *table) put(addr uint64, n int32, nodes []node) {
	if 2*(t.used+1) > len(t.slots) {
		old := t.slots
		t.slots = make([]int32, max(1<<12, 2*len(old)))
		for _, o := range old {
			if o != 0 {
				t.insert(nodes[o-1].addr, o)
			}
		}
	}
	t.insert(addr, n+1)
	t.used++
}

func (t *table) insert(addr uint64, n int32) {
	i := t.slot(addr)
	for t.slots[i] != 0 {
		i = (i + 1) & uint64(len(t.slots)-1)
	}
	t.slots[i] = n
}
