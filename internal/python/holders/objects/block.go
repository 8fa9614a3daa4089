package objects

import (
	"cmp"

	"ipytracer/internal/python/cpython"
)

// PageSize is the size of a page on every machine. The machine's own pages may be larger, by a power of two: a page of
// PageSize lies in one of these, and can be read as a whole or not at all.
const PageSize = 4 << 10

// The addresses at which a process can have objects.
const (
	LowestAddress = 64 << 10 // vm.mmap_min_addr
	UserSpace     = cpython.UserSpace
)

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

// searchBlocks returns the index of the first block that begins at or above an address, and whether the block begins at
// the address.
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
