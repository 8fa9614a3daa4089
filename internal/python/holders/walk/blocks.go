package walk

import (
	"cmp"
	"slices"

	"ipytracer/internal/python/holders/objects"
)

// blockTable has the blocks that are asked for, and the nodes that have them.
type blockTable struct {
	Blocks          []objects.Block // by address
	Found           []int32         // for each block, the node that has it, or -1
	Maybe           []int32         // for each block, a node that seems to have it, or -1
	Asked           []uint64        // for each block, the bytes that a tensor asked for, 0 if not known
	left            int             // number of blocks that are -1 in Found
	lowest, highest uint64          // the addresses that the blocks lie between
	onAllFound      func()          // called when left becomes 0
}

// NewBlockTable returns the table of blocks, none of which has a node yet.
func NewBlockTable(blocks []objects.Block) blockTable {
	b := blockTable{Blocks: slices.Clone(blocks)}
	slices.SortFunc(b.Blocks, func(a, b objects.Block) int { return cmp.Compare(a.Address, b.Address) })
	b.Blocks = slices.CompactFunc(b.Blocks, func(a, b objects.Block) bool { return a.Address == b.Address })
	b.Found = slices.Repeat([]int32{-1}, len(b.Blocks))
	b.Maybe = slices.Clone(b.Found)
	b.Asked = make([]uint64, len(b.Blocks))
	b.left = len(b.Blocks)
	if n := len(b.Blocks); n > 0 {
		b.lowest, b.highest = b.Blocks[0].Address, b.Blocks[n-1].Address+b.Blocks[n-1].Size
	}
	return b
}

// mayPointAt notes that a node has a word of unknown meaning with the address of a block. It reports whether a block
// begins at the address.
func (b *blockTable) mayPointAt(node int32, addr uint64) bool {
	i := objects.BlockAt(b.Blocks, addr)
	exact := i >= 0 && b.Blocks[i].Address == addr
	if exact && b.Maybe[i] < 0 {
		b.Maybe[i] = node
	}
	return exact
}

// pointsAt notes that a node has a pointer, and reports whether it points at a block. within allows pointers into the
// middle of a block.
func (b *blockTable) pointsAt(node int32, addr uint64, within bool) bool {
	if addr < b.lowest || addr > b.highest {
		return false
	}
	i := objects.BlockAt(b.Blocks, addr)
	if i < 0 || !within && b.Blocks[i].Address != addr {
		return false
	}
	if b.Found[i] < 0 {
		b.Found[i] = node
		if b.left--; b.left == 0 {
			b.onAllFound()
		}
	}
	return true
}

// storageAsks notes how many bytes of a block a storage was asked for. It leaves out impossible sizes.
func (b *blockTable) storageAsks(block, bytes uint64) {
	if i := objects.BlockAt(b.Blocks, block); i >= 0 && bytes > 0 && bytes <= b.Blocks[i].Size {
		b.Asked[i] = bytes
	}
}
