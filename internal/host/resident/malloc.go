package resident

// The memory of glibc's malloc (malloc/malloc.c, malloc/arena.c; unchanged since 2.26). A heap is a row of chunks; the
// last one, the top, is free. A chunk begins with two words: the size of the chunk before it, which is valid only if
// that chunk is free, and its own size. The lowest bits of its own size are flags: the chunk before is in use, this
// chunk has a mapping of its own, this chunk is not of the main arena.
const (
	inUseBefore = 1
	isMapped    = 2
	flags       = 7
	smallest    = 32       // bytes of the smallest chunk
	chunkHead   = 16       // bytes of the two words
	freeHead    = 48       // sizeof(struct malloc_chunk): what malloc writes into a free chunk
	fastMost    = 128      // the largest chunk that goes to a fast bin
	heapMost    = 64 << 20 // HEAP_MAX_SIZE: heaps of arenas other than the main one begin at its multiples
	stateLeast  = 0x880    // sizeof(struct malloc_state) is between stateLeast and stateMost
	stateMost   = 0x8f0
	arenaTop    = 96 // the offset of malloc_state.top
)

// heap is a heap of malloc's.
type heap struct {
	start, end uint64 // of the mapping
	free       []span // free chunks and the top, without their headers
	whole      []span // whole pages of free chunks, which malloc_trim gives back
	top        span   // whole pages of the top
	// joins: between the last free chunk and the top there are only chunks so small that they may be in malloc's fast
	// bins. If they are, malloc joins them and the last free chunk to the top before it trims.
	joins bool
	pages *chunkPages // nil without Source.Freed
}

// heap walks the chunks of a mapping. ok is false if the mapping is no heap: its chunks do not lead from its beginning
// to its end.
func (x *explainer) heap(m mapping) (h heap, ok bool) {
	if m.name == "[heap]" {
		return x.chunks(m, m.start, m.end)
	}
	if m.start%heapMost != 0 || m.end-m.start > heapMost {
		return h, false
	}
	// heap_info: ar_ptr, prev, size, mprotect_size.
	arena, ok1 := x.word(m.start)
	size, ok2 := x.word(m.start + 16)
	if !ok1 || !ok2 || size == 0 || size > m.end-m.start || size%x.page != 0 || arena%8 != 0 {
		return h, false
	}
	end := m.start + size
	if arena-m.start > 64 { // not the first heap of its arena: chunks begin behind the header
		for _, head := range []uint64{32, 48, 64} {
			if h, ok := x.chunks(m, m.start+head, end); ok {
				return h, true
			}
		}
		return h, false
	}
	if top, ok := x.word(arena + arenaTop); !ok || top < arena || top >= end && top < m.start+heapMost {
		return h, false
	}
	for state := uint64(stateLeast); state <= stateMost; state += 8 {
		if first := (arena + state + 15) &^ 15; first < end {
			if h, ok := x.chunks(m, first, end); ok {
				return h, true
			}
		}
	}
	return h, false
}

// chunks walks from the chunk at first to the end of a heap. ok is false if the chunks do not lead there.
func (x *explainer) chunks(m mapping, first, end uint64) (h heap, ok bool) {
	h.start, h.end = m.start, m.end
	last, isFree, small := uint64(0), false, false
	h.pages = x.newChunkPages(m, first)
	for at := first; ; {
		word, ok := x.word(at + 8)
		size := word &^ flags
		if last != 0 && ok && word&inUseBefore == 0 {
			isFree = true
		}
		if last != 0 && ok {
			h.pages.take(last, at, isFree)
		}
		if last != 0 && isFree {
			h.add(last, at, x.page)
			small = true
		} else if last != 0 {
			small = small && at-last <= fastMost
		}
		isFree = false
		switch {
		case !ok || word&isMapped != 0 || size%16 != 0 || size > end-at:
			return heap{}, false
		case at+size == end && size >= smallest: // the top
			h.free = append(h.free, span{at + chunkHead, end})
			h.top = span{(at + smallest + x.page) &^ (x.page - 1), end}
			h.joins = small
			h.pages.take(at, end, true)
			h.pages.end(m.name == "[heap]")
			return h, true
		case size == chunkHead || size == 0: // the end of a heap that is not the last of its arena
			h.pages.end(true)
			return h, end-at <= smallest
		case size < smallest:
			return heap{}, false
		}
		last = at
		at += size
	}
}

// add adds a free chunk. page is the size of a page in bytes.
func (h *heap) add(start, end, page uint64) {
	h.free = append(h.free, span{start + chunkHead, end})
	if from, to := (start+freeHead+page-1)&^(page-1), end&^(page-1); from < to {
		h.whole = append(h.whole, span{from, to})
	}
}

// mapped returns the size of the block at an address for which malloc has made a mapping of its own, or 0 if there is
// none. Such a block has whole pages, and the first word of its head is 0. Since glibc 2.43 the size in its head does
// not include the head.
func (x *explainer) mapped(at, end uint64) uint64 {
	const least = 64 << 10 // malloc's threshold is 128 KiB, unless somebody lowered it
	before, ok1 := x.word(at)
	word, ok2 := x.word(at + 8)
	size := word &^ flags
	if size%x.page == x.page-chunkHead {
		size += chunkHead
	}
	if at%x.page != 0 || !ok1 || !ok2 || before != 0 || word&flags != isMapped ||
		size < least || size%x.page != 0 || size > end-at {
		return 0
	}
	return size
}
