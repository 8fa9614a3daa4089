package notebook

// HeapMost is the size of blocks that never lie in malloc's heap (DEFAULT_MMAP_THRESHOLD_MAX of glibc 2.36). A smaller
// block does once one of its size was freed, and then the kernel gets back only the end of the heap.
const HeapMost = 32 << 20

// InHole reports whether the memory of some sites at the highest moment lies in memory that the process had mapped
// before them: in holes of malloc's heap. Resident memory does not fall by it where nothing can use these holes again.
func InHole(n *Notebook, of func(*Site) bool) bool {
	var blocks, maps, known int64
	for s, bytes := range n.Peak.Live {
		switch {
		case s.Meter == mapped && of(s):
			maps += bytes
		case s.Meter == mapped && len(s.Stack) > 0:
			known += bytes
		case s.Meter != mapped && of(s):
			blocks += bytes
		}
	}
	return n.Meter == "cpu.resident" && known > 0 && blocks < HeapMost && maps < blocks/2
}

// InHeap reports whether the memory that some sites have at the highest moment may lie in malloc's heap, because each
// of their blocks is no larger than one that was freed before a statement or in it.
func InHeap(n *Notebook, made *Statement, of func(*Site) bool) bool {
	if n.Meter != "cpu.resident" || made.Moment == nil {
		return false
	}
	block := int64(0)
	for site, bytes := range made.Moment.Made {
		if of(site) && n.Peak.Live[site] > 0 {
			block = max(block, bytes/max(1, made.Moment.Count[site]))
		}
	}
	if block == 0 { // it is not known
		block = n.Peak.Bytes(of)
	}
	return block > 0 && block < HeapMost && freedBy(n, made) >= block/freedShare
}

// freedShare makes up for sizes that are known on average of their site: of its blocks one may be four times as large.
const freedShare = 4

// freedBy returns the size of the largest block that was freed up to a statement's end and that malloc maps alone no
// more since then, on average of its site.
func freedBy(n *Notebook, last *Statement) (most int64) {
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

// MovesOthers reports whether later arrays would go to malloc's heap if the memory of some sites were freed behind a
// statement: glibc maps blocks of less than 32 MiB alone until one of at least their size is freed. What is freed in
// the heap stays there, up to twice that size.
func MovesOthers(n *Notebook, last *Statement, of func(*Site) bool) bool {
	block, all := int64(0), int64(0)
	for site, bytes := range n.Peak.Live {
		if of(site) && site.Meter != mapped && site.Statement != nil && site.Statement.Moment != nil {
			m := site.Statement.Moment
			block, all = max(block, m.Made[site]/max(1, m.Count[site])), all+bytes
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
			one := made / max(1, m.Count[site])
			if site.Meter != mapped && !of(site) && one >= mapsAlone && one <= block {
				moved += made
			}
		}
		if moved > all/20 {
			return true
		}
	}
	return false
}

// mapsAlone is the size from which malloc maps a block alone at first (DEFAULT_MMAP_THRESHOLD_MIN).
const mapsAlone = 128 << 10
