package holders

import (
	"cmp"
	"slices"
)

// Reading a page costs four times as much by itself as among its neighbours (a call each). So pages that are known to
// be needed are read early, as many in one call as lie side by side. No others are read, which might not be there yet.

const (
	runPages   = 16           // that are read at a time
	aheadPages = fewPages / 2 // that are read before they are needed
)

// inOrder calls yield with the index of each address that is not 0, in the order of the addresses: their pages are read
// as many at a time as may be.
func (m *memory) inOrder(addrs []uint64, yield func(i int)) {
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
			pages = appendPage(pages, addrs[order[count]])
		}
		m.ahead(pages)
		for _, i := range order[:count] {
			yield(int(i))
		}
		order = order[count:]
	}
}

// appendPage appends the page of an address to those of the ones before it.
func appendPage(pages []uint64, addr uint64) []uint64 {
	page := addr / pageSize
	if n := len(pages); addr < lowestAddress || addr >= userSpace || n > 0 && pages[n-1] == page {
		return pages
	}
	return append(pages, page)
}

// ahead reads pages that will be asked for soon, in the order of their numbers; at most about half of those that are
// kept. Its earlier results do not hold any more.
func (m *memory) ahead(pages []uint64) {
	if m.pages == nil {
		return
	}
	m.last, m.lastAt = nil, 0
	for i := 0; i < len(pages) && m.total < m.limit; {
		if !m.wants(pages[i]) {
			i++
			continue
		}
		end, room := i+1, m.files.pagemap != nil && m.files.isRoom(pages[i]*pageSize)
		for end < len(pages) && end-i < runPages && pages[end] == pages[i]+uint64(end-i) && m.wants(pages[end]) &&
			(m.files.pagemap == nil || m.files.isRoom(pages[end]*pageSize) == room) {
			end++
		}
		if room {
			if end = i + m.files.present(pages[i]*pageSize, end-i); end == i {
				i++ // it is left for when it is asked for
				continue
			}
		}
		i += m.readRun(pages[i], end-i)
	}
}

// wants reports whether a page may be read ahead: it is not kept, and not of a file.
func (m *memory) wants(n uint64) bool { return !m.has(n) && !m.files.has(n*pageSize, 1) }

// has reports whether a page is kept, which it is a while longer then.
func (m *memory) has(n uint64) bool {
	first := int(n%m.sets) * ways
	for i := first; i < first+ways; i++ {
		if k := &m.kept[i]; k.number == n {
			k.state |= asked
			return true
		}
	}
	return false
}

// readRun reads pages that lie side by side, up to the first that cannot be read: that one is left for when it is asked
// for. It returns the number of pages that it is done with.
func (m *memory) readRun(n uint64, count int) (done int) {
	if m.run == nil {
		m.run = make([]byte, runPages*pageSize)
	}
	got, _ := m.r.ReadAt(m.run[:count*pageSize], int64(n*pageSize))
	for ; done < got/pageSize; done++ {
		at := n + uint64(done)
		i := m.giveUp(at % m.sets)
		m.kept[i] = keptPage{at, asked}
		copy(m.at(i), m.run[done*pageSize:])
	}
	if done < count {
		done++ // a read that fails costs as much
	}
	m.total += int64(done) * pageSize
	return done
}
