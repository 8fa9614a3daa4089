package instruments

import (
	"slices"

	"ipytracer/internal/code/libc"
	"ipytracer/internal/ledger"
)

// OfHeap places programs on functions of an allocator, the exits first: an entry without them is a call that never
// ends.
func OfHeap(found []libc.Function, glibc bool) []ledger.Placement {
	enter, leave := ledger.Placement{Program: ledger.HeapEnter}, ledger.Placement{Program: ledger.HeapLeave}
	late := ledger.Placement{Program: ledger.HeapLeaveLate}
	type exit struct{ offset, cookie uint64 }
	seen := map[exit]bool{} // functions may share their ends
	for _, f := range found {
		add(&enter, f.Entry.FileOffset, ledger.HeapCall(uint8(f.Operation), f.Entry.Pushed, glibc))
		if !f.Complete {
			late.Offsets = append(late.Offsets, f.Start.FileOffset)
			continue
		}
		for _, r := range f.Leaves {
			if one := (exit{r.FileOffset, wayOut(r)}); !seen[one] {
				seen[one] = true
				add(&leave, one.offset, one.cookie)
			}
		}
	}
	return used(late, leave, enter)
}

// OfPools places programs on the pools of Arrow. Frees come first: a block with a missed free stays. Then come exits:
// an entry without them is a call that never ends.
func OfPools(s libc.PoolSites) []ledger.Placement {
	freeing, returning := ledger.Placement{Program: ledger.PoolFreeing}, ledger.Placement{Program: ledger.PoolReturning}
	allocating, reallocating := ledger.Placement{Program: ledger.PoolAllocating},
		ledger.Placement{Program: ledger.PoolReallocating}
	for _, f := range s.Free {
		add(&freeing, f.Entry.FileOffset, ledger.At(f.Entry.Emulated, 0))
	}
	for _, kind := range []struct {
		functions []libc.PoolFunction
		into      *ledger.Placement
	}{{s.Allocate, &allocating}, {s.Reallocate, &reallocating}} {
		for _, f := range kind.functions {
			add(kind.into, f.Entry.FileOffset, ledger.At(f.Entry.Emulated, ledger.PoolCall(f.Entry.Pushed)))
			for _, r := range f.Leaves {
				add(&returning, r.FileOffset, ledger.At(r.Emulated, wayOut(r)))
			}
		}
	}
	return []ledger.Placement{freeing, returning, allocating, reallocating}
}

// OfCalls places programs behind a C library's requests for memory.
func OfCalls(c libc.Calls) []ledger.Placement {
	maps, remaps := ledger.Placement{Program: ledger.MmapReturned}, ledger.Placement{Program: ledger.MremapReturned}
	for _, site := range c.Mmap {
		maps.Offsets = append(maps.Offsets, site.FileOffset)
	}
	for _, site := range c.Mremap {
		remaps.Offsets = append(remaps.Offsets, site.FileOffset)
	}
	return used(maps, remaps)
}

// used returns the placements that have places.
func used(all ...ledger.Placement) []ledger.Placement {
	return slices.DeleteFunc(all, func(p ledger.Placement) bool { return len(p.Offsets) == 0 })
}
