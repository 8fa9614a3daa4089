package objects

import "cmp"

// Block is a piece of memory, by its address and size in bytes. It need not be memory of the CPU's.
type Block struct{ Address, Size uint64 }

// BlockAt returns the index of the block that an address lies in, -1 for none. Blocks are in the order of addresses.
func BlockAt(blocks []Block, addr uint64) int {
	i, begins := searchBlocks(blocks, addr)
	if !begins {
		i--
	}
	if i < 0 || !begins && addr-blocks[i].Address >= blocks[i].Size {
		return -1
	}
	return i
}

// hasWhole reports whether so much memory from an address on lies in one block.
func hasWhole(blocks []Block, addr, size uint64) bool {
	i := BlockAt(blocks, addr)
	return i >= 0 && addr-blocks[i].Address < blocks[i].Size && size <= blocks[i].Size-(addr-blocks[i].Address)
}

// searchBlocks finds an address among blocks in their order.
func searchBlocks(blocks []Block, addr uint64) (int, bool) {
	low, high := 0, len(blocks)
	for low < high {
		mid := (low + high) / 2
		switch c := cmp.Compare(blocks[mid].Address, addr); {
		case c == 0:
			return mid, true
		case c < 0:
			low = mid + 1
		default:
			high = mid
		}
	}
	return low, false
}
