package holders

import (
	"cmp"
	"slices"
)

// blockTable has the blocks that are asked for, and the nodes that have them.
type blockTable struct {
	blocks          []Block  // by address
	found           []int32  // the node that has each block, or -1
	maybe           []int32  // a node that seems to, or -1
	asked           []uint64 // how many bytes of each block a tensor asked for; 0 if not known
	left            int      // blocks without a node
	lowest, highest uint64
	all             func() // called when none is left
}

func newBlockTable(blocks []Block) blockTable {
	b := blockTable{blocks: slices.Clone(blocks)}
	slices.SortFunc(b.blocks, func(a, b Block) int { return cmp.Compare(a.Address, b.Address) })
	b.blocks = slices.CompactFunc(b.blocks, func(a, b Block) bool { return a.Address == b.Address })
	b.found = slices.Repeat([]int32{-1}, len(b.blocks))
	b.maybe = slices.Clone(b.found)
	b.asked = make([]uint64, len(b.blocks))
	b.left = len(b.blocks)
	if n := len(b.blocks); n > 0 {
		b.lowest, b.highest = b.blocks[0].Address, b.blocks[n-1].Address+b.blocks[n-1].Size
	}
	return b
}

// blockAt returns the index of the block that an address lies in, -1 for none.
func (b *blockTable) blockAt(addr uint64) int {
	i, exact := slices.BinarySearchFunc(b.blocks, addr, compareBlock)
	if exact {
		return i
	}
	if i > 0 && addr-b.blocks[i-1].Address < b.blocks[i-1].Size {
		return i - 1
	}
	return -1
}

// mayPointAt notes that a node with words of unknown meaning has a pointer to a block's beginning. It counts if no
// other node has the block.
func (b *blockTable) mayPointAt(node int32, addr uint64) bool {
	i, exact := slices.BinarySearchFunc(b.blocks, addr, compareBlock)
	if exact && b.maybe[i] < 0 {
		b.maybe[i] = node
	}
	return exact
}

// pointsAt notes that a node has a pointer: within a block, or exactly to one's beginning.
func (b *blockTable) pointsAt(node int32, addr uint64, within bool) bool {
	if addr < b.lowest || addr > b.highest {
		return false
	}
	i := b.blockAt(addr)
	if i < 0 || !within && b.blocks[i].Address != addr {
		return false
	}
	if b.found[i] < 0 {
		b.found[i] = node
		if b.left--; b.left == 0 {
			b.all()
		}
	}
	return true
}

// storageAsks notes how many bytes of a block a storage was asked for, if that is possible.
func (b *blockTable) storageAsks(block, bytes uint64) {
	if i := b.blockAt(block); i >= 0 && bytes > 0 && bytes <= b.blocks[i].Size {
		b.asked[i] = bytes
	}
}
