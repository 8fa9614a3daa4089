package holders

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Bounds of a search for memory of libraries.
const (
	maxForeignHops  = 2         // small pieces from an object to a large one
	maxOwnPieces    = 1 << 12   // small pieces of one object
	maxForeignBytes = 256 << 20 // that are read, beside the survey's
	foreignTime     = time.Second / 2
)

// foreignSearch finds the memory of libraries' objects once every object has been measured.
type foreignSearch struct {
	*survey
	claims map[uint64]claim // large pieces
	object uint64
	seen   map[uint64]bool // pieces of the object
	until  time.Duration   // of the processor
	steps  int
	isOver bool
}

// claim is a large piece that an object leads to.
type claim struct {
	object uint64 // 0 for more than one
	size   uint64
}

// findForeign gives objects of libraries the memory that only they lead to. It has bytes and a time of its own: where
// these are over, no object gets any, and the survey goes on.
func (s *survey) findForeign() {
	if s.sizes == nil {
		return
	}
	f := &s.sizes.foreign
	f.collects = false
	if len(f.objects) <= maxForeign && len(f.buffers) <= maxLargeBuffers && !s.done() {
		slices.Sort(f.buffers)
		began, total, limit := ProcessorTime(), s.mem.total, s.mem.limit
		s.mem.limit = total + maxForeignBytes
		search := foreignSearch{survey: s, claims: map[uint64]claim{}, until: began + foreignTime}
		for i := 0; i < len(f.objects) && !search.over(); i++ {
			search.from(f.objects[i])
		}
		if !search.over() {
			search.settle()
		}
		s.mem.limit, s.mem.err = limit+s.mem.total-total, nil
		s.until += ProcessorTime() - began
	}
	f.objects, f.buffers = nil, nil
}

// over reports whether the search has had its bytes or its time.
func (f *foreignSearch) over() bool {
	if f.steps++; f.steps%stepsToLook == 0 {
		f.isOver = f.isOver || ProcessorTime() > f.until || f.ctx.Err() != nil
	}
	return f.isOver || f.mem.err != nil
}

// from finds the large pieces that one object leads to.
func (f *foreignSearch) from(addr uint64) {
	t := f.objectType(addr)
	if t == nil {
		return
	}
	f.object, f.seen = addr, map[uint64]bool{}
	f.words(addr+16, min(t.basic, maxBasic)-16, maxForeignHops)
}

// words follows the words of an object or a piece.
func (f *foreignSearch) words(at, bytes uint64, hops int) {
	var next []Block
	f.mem.words(at, bytes/8, func(_, word uint64) bool {
		if size := f.pieceSize(word); size == 0 || f.seen[word] || f.objectType(word) != nil || f.isCounted(word) {
		} else if f.seen[word] = true; size >= leastLarge {
			f.claim(word, size)
		} else if hops > 0 && len(f.seen) < maxOwnPieces {
			next = append(next, Block{word, size})
		}
		return !f.over()
	})
	for _, one := range next {
		f.words(one.Address, one.Size, hops-1)
	}
}

// isCounted reports whether a piece is an object of PyTorch's or Arrow's: the memory behind these is counted by what is
// known of their classes.
func (f *foreignSearch) isCounted(addr uint64) bool {
	class := f.class(f.mem.word(addr))
	return strings.HasPrefix(class, "N3c10") || strings.HasPrefix(class, "N2at") ||
		strings.HasPrefix(class, "N5torch") || strings.Contains(class, "N5arrow")
}

// claim takes in that an object leads to a large piece.
func (f *foreignSearch) claim(addr, size uint64) {
	buffers := f.sizes.foreign.buffers
	if first, _ := slices.BinarySearch(buffers, addr); first < len(buffers) && buffers[first]-addr < size {
		return
	}
	one := claim{f.object, size}
	if before, taken := f.claims[addr]; taken && before.object != f.object {
		one.object = 0
	}
	f.claims[addr] = one
}

// settle adds the pieces to the objects' sizes.
func (f *foreignSearch) settle() {
	of := map[uint64][]Block{}
	for addr, one := range f.claims {
		if one.object != 0 {
			of[one.object] = append(of[one.object], Block{addr, one.size})
		}
	}
	for object, pieces := range of {
		slices.SortFunc(pieces, func(a, b Block) int { return cmp.Compare(a.Address, b.Address) })
		pieces = slices.CompactFunc(pieces, func(a, b Block) bool { return b.Address-a.Address < a.Size })
		id, ok := f.index.get(object, f.addrs)
		if !ok {
			continue
		}
		of[object] = pieces
		bytes := f.notes.bytes(id)
		for _, p := range pieces {
			bytes += p.Size
		}
		f.notes.noted[id].bytes = uint32(min(bytes, tooLarge))
		if bytes >= tooLarge {
			f.notes.large[id] = bytes
		}
	}
	f.sizes.foreign.of = of
}
