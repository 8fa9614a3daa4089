package objects

import "cmp"

// Block is a piece of memory, by its address and size in bytes. It need not be memory of the CPU's.
type Block struct{ Address, Size uint64 }

// CompareBlock compares a block with an address.
func CompareBlock(b Block, addr uint64) int { return cmp.Compare(b.Address, addr) }

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
