package instruments

import (
	"slices"

	"ipytracer/internal/code/libc"
	"ipytracer/internal/code/machine"
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
		enter.Offsets = append(enter.Offsets, f.Entry.FileOffset)
		enter.Cookies = append(enter.Cookies, ledger.HeapCall(uint8(f.Operation), f.Entry.Pushed, glibc))
		if !f.Complete {
			late.Offsets = append(late.Offsets, f.Start.FileOffset)
			continue
		}
		for _, r := range f.Leaves {
			one := exit{r.FileOffset, ledger.WayOut(r.Pushed, uint8(r.Result), r.Condition.Mask, r.Condition.Value)}
			if !seen[one] {
				seen[one] = true
				leave.Offsets, leave.Cookies = append(leave.Offsets, one.offset), append(leave.Cookies, one.cookie)
			}
		}
	}
	return slices.DeleteFunc([]ledger.Placement{late, leave, enter},
		func(p ledger.Placement) bool { return len(p.Offsets) == 0 })
}

// OfPools places programs on the pools of Arrow. Frees come first: a block with a missed free stays. Then come exits:
// an entry without them is a call that never ends.
func OfPools(s libc.PoolSites) []ledger.Placement {
	freeing, returning := ledger.Placement{Program: ledger.PoolFreeing}, ledger.Placement{Program: ledger.PoolReturning}
	allocating, reallocating := ledger.Placement{Program: ledger.PoolAllocating},
		ledger.Placement{Program: ledger.PoolReallocating}
	for _, f := range s.Free {
		freeing.Offsets, freeing.Cookies = append(freeing.Offsets, f.Entry.FileOffset),
			append(freeing.Cookies, ledger.At(f.Entry.Emulated, 0))
	}
	for _, kind := range []struct {
		functions []libc.PoolFunction
		into      *ledger.Placement
	}{{s.Allocate, &allocating}, {s.Reallocate, &reallocating}} {
		for _, f := range kind.functions {
			kind.into.Offsets = append(kind.into.Offsets, f.Entry.FileOffset)
			kind.into.Cookies = append(kind.into.Cookies, ledger.At(f.Entry.Emulated, ledger.PoolCall(f.Entry.Pushed)))
			for _, r := range f.Leaves {
				returning.Offsets = append(returning.Offsets, r.FileOffset)
				returning.Cookies = append(returning.Cookies,
					ledger.At(r.Emulated, ledger.WayOut(r.Pushed, uint8(r.Result), r.Condition.Mask,
						r.Condition.Value)))
			}
		}
	}
	return []ledger.Placement{freeing, returning, allocating, reallocating}
}

// OfCalls places programs behind a C library's requests for memory.
func OfCalls(c libc.Calls) (placements []ledger.Placement) {
	add := func(p ledger.Program, sites []machine.Site) {
		if len(sites) == 0 {
			return
		}
		one := ledger.Placement{Program: p}
		for _, site := range sites {
			one.Offsets = append(one.Offsets, site.FileOffset)
		}
		placements = append(placements, one)
	}
	add(ledger.MmapReturned, c.Mmap)
	add(ledger.MremapReturned, c.Mremap)
	return placements
}
