package instruments

import (
	"ipytracer/internal/code/machine"
	"ipytracer/internal/ledger"
	"ipytracer/internal/python/numpy"
)

// OfArrays returns the programs that serve the places in NumPy.
func OfArrays(sites numpy.Sites) []ledger.Placement {
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
