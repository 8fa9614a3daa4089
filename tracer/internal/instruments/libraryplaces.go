package instruments

import (
	"slices"

	"ipytracer/internal/code/cuda"
	"ipytracer/internal/code/libc"
	"ipytracer/internal/code/machine"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/numpy"
)

// OfHeap returns the placements on the functions of an allocator. The exits come first: with an entry alone, a call
// would never end.
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
			if place := (exit{r.FileOffset, wayOut(r)}); !seen[place] {
				seen[place] = true
				add(&leave, place.offset, place.cookie)
			}
		}
	}
	return withPlaces(late, leave, enter)
}

// ofPools returns the placements on the pools of Arrow. Frees come first: a block whose free is missed would stay.
// Exits come before entries: with an entry alone, a call would never end.
func ofPools(s libc.PoolSites) []ledger.Placement {
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

// ofCalls places programs behind a C library's requests for memory.
func ofCalls(c libc.Calls) []ledger.Placement {
	maps, remaps := ledger.Placement{Program: ledger.MmapReturned}, ledger.Placement{Program: ledger.MremapReturned}
	for _, site := range c.Mmap {
		maps.Offsets = append(maps.Offsets, site.FileOffset)
	}
	for _, site := range c.Mremap {
		remaps.Offsets = append(remaps.Offsets, site.FileOffset)
	}
	return withPlaces(maps, remaps)
}

// withPlaces returns the placements that have places.
func withPlaces(placements ...ledger.Placement) []ledger.Placement {
	return slices.DeleteFunc(placements, func(p ledger.Placement) bool { return len(p.Offsets) == 0 })
}

// ofLibrary returns the programs that serve each group on a library.
func ofLibrary(s cuda.Sites) map[ledger.Group][]ledger.Placement {
	placement := func(p ledger.Program, site cuda.Site) []ledger.Placement {
		if site.Symbol == "" {
			return nil
		}
		return []ledger.Placement{{Program: p, Offsets: []uint64{site.Offset},
			Cookies: []uint64{ledger.At(site.Emulated, 0)}}}
	}
	out := map[ledger.Group][]ledger.Placement{}
	switch s.Kind {
	case cuda.Driver:
		enter, leave := ledger.Placement{Program: ledger.CUDAEnter}, ledger.Placement{Program: ledger.CUDALeave}
		for _, site := range s.Driver {
			add(&enter, site.Offset, site.Cookie)
			leave.Offsets = append(leave.Offsets, site.Offset)
		}
		// returns first: an entry without its return is a call that never ends
		out[ledger.GroupDriver] = []ledger.Placement{leave, enter}
	case cuda.Runtime:
		enter := ledger.Placement{Program: ledger.RuntimeEnter}
		for _, site := range s.Runtime {
			add(&enter, site.Offset, site.Cookie)
		}
		out[ledger.GroupDriver] = []ledger.Placement{enter}
	case cuda.Torch:
		if s.Report.Symbol != "" {
			out[ledger.GroupTorch] = append(placement(ledger.TorchReport, s.Report),
				placement(ledger.TorchRefused, s.Refused)...)
		}
		if s.Tensors.Present() { // frees first: a block with a missed free stays
			out[ledger.GroupTorchCPU] = slices.Concat(placement(ledger.TensorFreed, s.Tensors.Freed),
				placement(ledger.TensorMade, s.Tensors.Made), placement(ledger.TensorRefused, s.Tensors.NoRoom))
		}
	case cuda.Loader:
		out[ledger.GroupLoader] = placement(ledger.LibraryChanged, s.Loader)
	}
	return out
}

// ofArrays returns the programs that serve the places in NumPy.
func ofArrays(sites numpy.Sites) []ledger.Placement {
	handlers := ledger.Placement{Program: ledger.NumPyHandler}
	for _, site := range sites.Handlers {
		add(&handlers, site.FileOffset, ledger.HandlerPlace(word(site.Block), int64(sites.Handler-site.Address)))
	}
	placement := func(p ledger.Program, sites []numpy.Site) ledger.Placement {
		out := ledger.Placement{Program: p}
		for _, site := range sites {
			size, times := ledger.Nowhere, ledger.Nowhere
			if site.HasSize || site.MaybeSize {
				size = word(site.Size)
			}
			if site.HasTimes {
				times = word(site.Times)
			}
			add(&out, site.FileOffset, ledger.At(site.Emulated, ledger.ArrayPlace(word(site.Block), size, times)))
		}
		return out
	}
	return []ledger.Placement{ // ends first: a beginning without its end is never over
		handlers,
		placement(ledger.NumPyResized, sites.Resized), placement(ledger.NumPyResizing, sites.Resizing),
		placement(ledger.NumPyFreed, sites.Freed), placement(ledger.NumPyMade, sites.Made),
	}
}

func word(p machine.Place) ledger.Word {
	if p.OnStack {
		return ledger.OnStack + ledger.Word(p.Above/8)
	}
	return ledger.Word(p.Register)
}
