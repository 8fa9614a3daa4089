package walk

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"ipytracer/internal/python/holders/objects"
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
	*census
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
func (s *census) findForeign() {
	if s.Sizes == nil {
		return
	}
	f := &s.Sizes.Foreign
	f.Collects = false
	if len(f.Objects) <= objects.MaxForeign && len(f.Buffers) <= objects.MaxLargeBuffers && !s.Done() {
		slices.Sort(f.Buffers)
		began, total, limit := objects.ProcessorTime(), s.Mem.Total, s.Mem.Limit
		s.Mem.Limit = total + maxForeignBytes
		search := foreignSearch{census: s, claims: map[uint64]claim{}, until: began + foreignTime}
		for i := 0; i < len(f.Objects) && !search.Over(); i++ {
			search.from(f.Objects[i])
		}
		if !search.Over() {
			search.settle()
		}
		s.Mem.Limit, s.Mem.Err = limit+s.Mem.Total-total, nil
		s.Until += objects.ProcessorTime() - began
	}
	f.Objects, f.Buffers = nil, nil
}

// Over reports whether the search has had its bytes or its time.
func (f *foreignSearch) Over() bool {
	if f.steps++; f.steps%objects.StepsToLook == 0 {
		f.isOver = f.isOver || objects.ProcessorTime() > f.until || f.Ctx.Err() != nil
	}
	return f.isOver || f.Mem.Err != nil
}

// from finds the large pieces that one object leads to.
func (f *foreignSearch) from(addr uint64) {
	t := f.ObjectType(addr)
	if t == nil {
		return
	}
	f.object, f.seen = addr, map[uint64]bool{}
	f.words(addr+16, min(t.Basic, objects.MaxBasic)-16, maxForeignHops)
}

// words follows the words of an object or a piece.
func (f *foreignSearch) words(at, bytes uint64, hops int) {
	var next []objects.Block
	f.Mem.Words(at, bytes/8, func(_, word uint64) bool {
		if size := f.PieceSize(word); size == 0 || f.seen[word] || f.ObjectType(word) != nil || f.isCounted(word) {
		} else if f.seen[word] = true; size >= objects.LeastLarge {
			f.claim(word, size)
		} else if hops > 0 && len(f.seen) < maxOwnPieces {
			next = append(next, objects.Block{Address: word, Size: size})
		}
		return !f.Over()
	})
	for _, one := range next {
		f.words(one.Address, one.Size, hops-1)
	}
}

// isCounted reports whether a piece is an object of PyTorch's or Arrow's: the memory behind these is counted by what is
// known of their classes.
func (f *foreignSearch) isCounted(addr uint64) bool {
	class := f.Class(f.Mem.Word(addr))
	return strings.HasPrefix(class, "N3c10") || strings.HasPrefix(class, "N2at") ||
		strings.HasPrefix(class, "N5torch") || strings.Contains(class, "N5arrow")
}

// claim takes in that an object leads to a large piece.
func (f *foreignSearch) claim(addr, size uint64) {
	buffers := f.Sizes.Foreign.Buffers
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
	of := map[uint64][]objects.Block{}
	for addr, one := range f.claims {
		if one.object != 0 {
			of[one.object] = append(of[one.object], objects.Block{Address: addr, Size: one.size})
		}
	}
	for object, pieces := range of {
		slices.SortFunc(pieces, func(a, b objects.Block) int { return cmp.Compare(a.Address, b.Address) })
		pieces = slices.CompactFunc(pieces, func(a, b objects.Block) bool { return b.Address-a.Address < a.Size })
		id, ok := f.Index.Get(object, f.Addrs)
		if !ok {
			continue
		}
		of[object] = pieces
		bytes := f.notes.Bytes(id)
		for _, p := range pieces {
			bytes += p.Size
		}
		f.notes.Noted[id].Bytes = uint32(min(bytes, objects.TooLarge))
		if bytes >= objects.TooLarge {
			f.notes.Large[id] = bytes
		}
	}
	f.Sizes.Foreign.Of = of
}
