// Package allocators finds what jemalloc and mimalloc have given out and what they keep, in a process's memory. That is
// hostile: an extent counts only if all that the allocator wrote about it agrees.
package allocators

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Allocator is an allocator other than glibc's.
type Allocator uint8

// The allocators.
const (
	Jemalloc Allocator = iota
	Mimalloc
)

// Memory is the memory of a process.
type Memory interface {
	// CopyResident reads the memory at an address into buf. Pages that are not resident are zeros in it.
	CopyResident(at uint64, buf []byte)
	// Over reports whether a limit of bytes or time was hit. It may look at the time only now and then; Late does each
	// time.
	Over() bool
	Late() bool
	// Stop says that not everything was looked at. Over is true from then on.
	Stop()
}

// Mapping is a private mapping with resident pages.
type Mapping struct{ Start, End uint64 }

// Extent is a piece of an allocator's memory.
type Extent struct {
	Start, End uint64
	Used       uint64 // the bytes in it that the allocator has given out, or has its own data in
	Free       bool   // the allocator would give its pages back if asked
	Of         Allocator
}

// Find returns the extents of all allocators in mappings, which are in order. The extents are by address and do not
// overlap.
func Find(memory Memory, mappings []Mapping) []Extent {
	s := &search{memory, mappings}
	all := append(findJemalloc(s), findMimalloc(s)...)
	slices.SortStableFunc(all, func(a, b Extent) int { return cmp.Compare(a.Start, b.Start) })
	end := uint64(0)
	return slices.DeleteFunc(all, func(e Extent) bool {
		if e.Start < end || e.End <= e.Start {
			return true
		}
		end = e.End
		return false
	})
}

// search looks for the memory of one allocator.
type search struct {
	memory   Memory
	mappings []Mapping
}

// isMapped reports whether an address is in a mapping.
func (s *search) isMapped(addr uint64) bool {
	i, _ := slices.BinarySearchFunc(s.mappings, addr, func(m Mapping, addr uint64) int {
		if m.End <= addr {
			return -1
		}
		return 1
	})
	return i < len(s.mappings) && s.mappings[i].Start <= addr
}

// span is the range of addresses [start, end).
type span struct{ start, end uint64 }

// eachPart shows the memory of a span in parts of at most 64 KiB, until a limit is hit. If show returns an address,
// the next part begins there.
func (s *search) eachPart(of span, show func(at uint64, data []byte) (next uint64)) {
	buf := make([]byte, 64<<10)
	for at := of.start; at < of.end && !s.memory.Late() && !s.memory.Over(); {
		data := buf[:min(of.end-at, uint64(len(buf)))]
		s.memory.CopyResident(at, data)
		if next := show(at, data); next > at {
			at = next
		} else {
			at += uint64(len(data))
		}
	}
}

// word returns the word with an index in bytes.
func word(data []byte, i int) uint64 { return binary.LittleEndian.Uint64(data[8*i:]) }
