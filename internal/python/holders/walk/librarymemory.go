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
	maxForeignHops  = 2               // small pieces from an object to a large one
	maxOwnPieces    = 1 << 12         // small pieces of one object
	maxForeignBytes = 256 << 20       // bytes that the search reads, beside the survey's
	foreignTime     = time.Second / 2 // of the processor
)

// foreignSearch finds the memory of libraries' objects, after the census has measured every object.
type foreignSearch struct {
	*census
	claims map[uint64]claim // large pieces, by address
	object uint64           // the object that the search is at
	seen   map[uint64]bool  // pieces that this object leads to
	until  time.Duration    // the ProcessorTime at which the search stops
	steps  int
	isOver bool
}

// claim is a large piece that an object leads to.
type claim struct {
	object uint64 // 0 if several objects lead to the piece
	size   uint64
}

// findForeign adds to objects of libraries the memory that only they lead to. The search has limits of its own for
// bytes and time: if it hits one, no object gets any memory, and the survey goes on.
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
			search.claimFrom(f.Objects[i])
		}
		if !search.Over() {
			search.assignPieces()
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

// claimFrom claims the large pieces that one object leads to.
func (f *foreignSearch) claimFrom(addr uint64) {
	t := f.ObjectType(addr)
	if t == nil {
		return
	}
	f.object, f.seen = addr, map[uint64]bool{}
	f.claimWords(addr+16, min(t.Basic, objects.MaxBasic)-16, maxForeignHops)
}

// claimWords claims the large pieces to which the words of an object or a piece lead, directly or through at most hops
// small pieces.
func (f *foreignSearch) claimWords(at, bytes uint64, hops int) {
	var small []objects.Block
	f.Mem.Words(at, bytes/8, func(_, word uint64) bool {
		size := f.PieceSize(word)
		if size == 0 || f.seen[word] || f.ObjectType(word) != nil || f.isCounted(word) {
			return !f.Over()
		}
		f.seen[word] = true
		if size >= objects.LeastLarge {
			f.claim(word, size)
		} else if hops > 0 && len(f.seen) < maxOwnPieces {
			small = append(small, objects.Block{Address: word, Size: size})
		}
		return !f.Over()
	})
	for _, piece := range small {
		f.claimWords(piece.Address, piece.Size, hops-1)
	}
}

// isCounted reports whether a piece is an object of PyTorch's or Arrow's. The layouts of these are known, and the
// memory behind them is counted by that.
func (f *foreignSearch) isCounted(addr uint64) bool {
	class := f.Class(f.Mem.Word(addr))
	return strings.HasPrefix(class, "N3c10") || strings.HasPrefix(class, "N2at") ||
		strings.HasPrefix(class, "N5torch") || strings.Contains(class, "N5arrow")
}

// claim notes that the object leads to a large piece, unless the piece has a buffer of a known object in it.
func (f *foreignSearch) claim(addr, size uint64) {
	buffers := f.Sizes.Foreign.Buffers
	if first, _ := slices.BinarySearch(buffers, addr); first < len(buffers) && buffers[first]-addr < size {
		return
	}
	c := claim{f.object, size}
	if before, taken := f.claims[addr]; taken && before.object != f.object {
		c.object = 0
	}
	f.claims[addr] = c
}

// assignPieces adds the pieces with a single object to that object's size.
func (f *foreignSearch) assignPieces() {
	piecesOf := map[uint64][]objects.Block{}
	for addr, c := range f.claims {
		if c.object != 0 {
			piecesOf[c.object] = append(piecesOf[c.object], objects.Block{Address: addr, Size: c.size})
		}
	}
	for object, pieces := range piecesOf {
		slices.SortFunc(pieces, func(a, b objects.Block) int { return cmp.Compare(a.Address, b.Address) })
		pieces = slices.CompactFunc(pieces, func(a, b objects.Block) bool { return b.Address-a.Address < a.Size })
		id, ok := f.Index.Get(object, f.Addrs)
		if !ok {
			continue
		}
		piecesOf[object] = pieces
		bytes := f.notes.Bytes(id)
		for _, p := range pieces {
			bytes += p.Size
		}
		f.notes.Noted[id].Bytes = uint32(min(bytes, objects.TooLarge))
		if bytes >= objects.TooLarge {
			f.notes.Large[id] = bytes
		}
	}
	f.Sizes.Foreign.Pieces = piecesOf
}
