package notebook

// HeapMost is the size from which glibc maps each block by itself (DEFAULT_MMAP_THRESHOLD_MAX of glibc 2.36). A smaller
// block goes to malloc's heap once a block of at least its size was freed. Linux gets back only the end of the heap.
const HeapMost = 32 << 20

// InHole reports whether the chosen sites have their memory at the highest moment in holes of malloc's heap: in memory
// that the process had mapped before. Resident memory does not fall when this memory is freed.
func InHole(n *Notebook, chosen func(*Site) bool) bool {
	var blocks, maps, otherMaps int64
	for s, bytes := range n.Peak.Live {
		switch {
		case s.Meter == mapped && chosen(s):
			maps += bytes
		case s.Meter == mapped && len(s.Stack) > 0:
			otherMaps += bytes
		case s.Meter != mapped && chosen(s):
			blocks += bytes
		}
	}
	return n.Meter == "cpu.resident" && otherMaps > 0 && blocks < HeapMost && maps < blocks/2
}

// InHeap reports whether the chosen sites may have their memory at the highest moment in malloc's heap: by the end of
// the statement made, a block of about their size or larger was freed.
func InHeap(n *Notebook, made *Statement, chosen func(*Site) bool) bool {
	if n.Meter != "cpu.resident" || made.Moment == nil {
		return false
	}
	block := int64(0)
	for site, bytes := range made.Moment.Made {
		if chosen(site) && n.Peak.Live[site] > 0 {
			block = max(block, bytes/max(1, made.Moment.Count[site]))
		}
	}
	if block == 0 { // the statement's blocks are not known
		block = n.Peak.Bytes(chosen)
	}
	return block > 0 && block < HeapMost && largestFreed(n, made) >= block/freedShare
}

// freedShare allows for the fact that only the mean size of a site's blocks is known: one block may be four times as
// large.
const freedShare = 4

// largestFreed returns the largest mean size of blocks that were freed up to a statement's end, of the sizes below
// HeapMost. Since then malloc puts blocks of this size into its heap.
func largestFreed(n *Notebook, last *Statement) (most int64) {
	for _, m := range n.Moments {
		if m.Order > last.Order {
			break
		}
		for site, made := range m.Made {
			if count := m.Count[site]; count > 0 && m.Kept[site] < made && made/count < HeapMost {
				most = max(most, made/count)
			}
		}
	}
	return most
}

// MovesOthers reports whether freeing the memory of the chosen sites behind a statement would move later arrays into
// malloc's heap: glibc maps a block of less than 32 MiB by itself only until a block of at least its size is freed. The
// heap keeps up to twice that size of freed memory.
func MovesOthers(n *Notebook, last *Statement, chosen func(*Site) bool) bool {
	block, total := int64(0), int64(0)
	for site, bytes := range n.Peak.Live {
		if chosen(site) && site.Meter != mapped && site.Statement != nil && site.Statement.Moment != nil {
			m := site.Statement.Moment
			block = max(block, m.Made[site]/max(1, m.Count[site]))
			total += bytes
		}
	}
	if n.Meter != "cpu.resident" || block == 0 || block >= HeapMost {
		return false
	}
	for _, m := range n.Moments {
		if m.Order <= last.Order {
			continue
		}
		moved := int64(0)
		for site, made := range m.Made {
			mean := made / max(1, m.Count[site])
			if site.Meter != mapped && !chosen(site) && mean >= mmapThreshold && mean <= block {
				moved += made
			}
		}
		if moved > total/20 {
			return true
		}
	}
	return false
}

// mmapThreshold is the size from which glibc maps a block by itself at first (DEFAULT_MMAP_THRESHOLD_MIN).
const mmapThreshold = 128 << 10
