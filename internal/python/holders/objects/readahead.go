package objects

import (
	"cmp"
	"slices"
)

// A page that is read by itself, in a call of its own, costs four times as much as a page that is read with its
// neighbours. So pages that are known to be needed are read early, as many in one call as lie side by side. No other
// page is read: it might not be in memory yet.

// aheadPages is the number of pages that are read before they are needed.
const aheadPages = fewPages / 2

// InOrder calls yield with the index of each address that is not 0, in the order of the addresses, so that many pages
// are read in one call.
func (m *Memory) InOrder(addrs []uint64, yield func(i int)) {
	order := make([]int32, 0, len(addrs))
	for i, addr := range addrs {
		if addr != 0 {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(addrs[a], addrs[b]), cmp.Compare(a, b)) })
	var pages []uint64
	for len(order) > 0 {
		count := 0
		for pages = pages[:0]; count < len(order) && len(pages) < aheadPages; count++ {
			pages = AppendPage(pages, addrs[order[count]])
		}
		m.Ahead(pages)
		for _, i := range order[:count] {
			yield(int(i))
		}
		order = order[count:]
	}
}

// AppendPage appends the page of an address, unless it is the last of the pages already.
func AppendPage(pages []uint64, addr uint64) []uint64 {
	page := addr / PageSize
	if n := len(pages); addr < LowestAddress || addr >= UserSpace || n > 0 && pages[n-1] == page {
		return pages
	}
	return append(pages, page)
}

// Ahead reads pages that will be asked for soon. Their numbers are in order, and are at most half as many as the pages
// that are kept. Results of earlier reads do not hold any more.
func (m *Memory) Ahead(pages []uint64) {
	if m.pages == nil {
		return
	}
	m.last, m.lastAt = nil, 0
	for i := 0; i < len(pages) && m.Total < m.Limit; {
		if !m.wants(pages[i]) {
			i++
			continue
		}
		count := m.runLength(pages[i:])
		if m.mayBeUntouched(pages[i]) {
			if count = m.Files.present(pages[i]*PageSize, count); count == 0 {
				i++ // it is read when it is asked for
				continue
			}
		}
		i += m.readRun(pages[i], count)
	}
}

// runLength returns how many of the first pages one call reads: they lie side by side, each is wanted, and all or none
// may be untouched. At least one page is given, and the first is wanted.
func (m *Memory) runLength(pages []uint64) int {
	mayBeUntouched := m.mayBeUntouched(pages[0])
	for i := 1; i < min(len(pages), runPages); i++ {
		adjoins := pages[i] == pages[0]+uint64(i)
		if !adjoins || !m.wants(pages[i]) || m.mayBeUntouched(pages[i]) != mayBeUntouched {
			return i
		}
	}
	return min(len(pages), runPages)
}

// mayBeUntouched reports whether a page must be looked up in the pagemap before it is read.
func (m *Memory) mayBeUntouched(page uint64) bool {
	return m.Files.Pagemap != nil && m.Files.isLargeMapping(page*PageSize)
}

// wants reports whether a page may be read ahead: it is not kept, and not of a file.
func (m *Memory) wants(n uint64) bool { return !m.isKept(n) && !m.Files.hasFile(n*PageSize, 1) }

// isKept reports whether a page is kept. A kept page counts as asked for, so it is kept longer.
func (m *Memory) isKept(n uint64) bool {
	first := int(n%m.Sets) * Ways
	for i := first; i < first+Ways; i++ {
		if k := &m.Kept[i]; k.Number == n {
			k.state |= asked
			return true
		}
	}
	return false
}

// readRun reads count pages from page n on, up to the first that cannot be read. It returns the number of pages that it
// read, and counts the failed read as one more.
func (m *Memory) readRun(n uint64, count int) (done int) {
	if m.run == nil {
		m.run = make([]byte, runPages*PageSize)
	}
	got, _ := m.Source.ReadAt(m.run[:count*PageSize], int64(n*PageSize))
	for ; done < got/PageSize; done++ {
		at := n + uint64(done)
		i := m.victim(at % m.Sets)
		m.Kept[i] = keptPage{at, asked}
		copy(m.contents(i), m.run[done*PageSize:])
	}
	if done < count {
		done++ // a read that fails costs as much
	}
	m.Total += int64(done) * PageSize
	return done
}
