package objects

import (
	"cmp"
	"slices"
)

// Reading a page costs four times as much by itself as among its neighbours (a call each). So pages that are known to
// be needed are read early, as many in one call as lie side by side. No others are read, which might not be there yet.

// aheadPages is the number of pages that are read before they are needed.
const aheadPages = fewPages / 2

// InOrder calls yield with the index of each address that is not 0, in the order of the addresses: their pages are read
// as many at a time as may be.
func (m *Memory) InOrder(addrs []uint64, yield func(i int)) {
	order := make([]int32, 0, len(addrs))
	for i, addr := range addrs {
		if addr != 0 {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(addrs[a], addrs[b]) })
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

// Ahead reads pages that will be asked for soon, in the order of their numbers: at most about half as many as are kept.
// Results of earlier reads do not hold any more.
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
		end, room := i+1, m.Files.Pagemap != nil && m.Files.isRoom(pages[i]*PageSize)
		for end < len(pages) && end-i < runPages && pages[end] == pages[i]+uint64(end-i) && m.wants(pages[end]) &&
			(m.Files.Pagemap == nil || m.Files.isRoom(pages[end]*PageSize) == room) {
			end++
		}
		if room {
			if end = i + m.Files.present(pages[i]*PageSize, end-i); end == i {
				i++ // it is left for when it is asked for
				continue
			}
		}
		i += m.readRun(pages[i], end-i)
	}
}

// wants reports whether a page may be read ahead: it is not kept, and not of a file.
func (m *Memory) wants(n uint64) bool { return !m.has(n) && !m.Files.has(n*PageSize, 1) }

// has reports whether a page is kept, which it is a while longer then.
func (m *Memory) has(n uint64) bool {
	first := int(n%m.Sets) * Ways
	for i := first; i < first+Ways; i++ {
		if k := &m.Kept[i]; k.Number == n {
			k.state |= asked
			return true
		}
	}
	return false
}

// readRun reads pages that lie side by side, up to the first that cannot be read: that one is left for when it is asked
// for. It returns the number of pages that it is done with.
func (m *Memory) readRun(n uint64, count int) (done int) {
	if m.run == nil {
		m.run = make([]byte, runPages*PageSize)
	}
	got, _ := m.Source.ReadAt(m.run[:count*PageSize], int64(n*PageSize))
	for ; done < got/PageSize; done++ {
		at := n + uint64(done)
		i := m.giveUp(at % m.Sets)
		m.Kept[i] = keptPage{at, asked}
		copy(m.at(i), m.run[done*PageSize:])
	}
	if done < count {
		done++ // a read that fails costs as much
	}
	m.Total += int64(done) * PageSize
	return done
}
