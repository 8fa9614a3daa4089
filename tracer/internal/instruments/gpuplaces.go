package instruments

import (
	"slices"

	"ipytracer/internal/code/cuda"
	"ipytracer/internal/ledger"
)

// OfLibrary returns the programs that serve each group on a library.
func OfLibrary(s cuda.Sites) map[ledger.Group][]ledger.Placement {
	one := func(p ledger.Program, site cuda.Site) []ledger.Placement {
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
			out[ledger.GroupTorch] = append(one(ledger.TorchReport, s.Report), one(ledger.TorchRefused, s.Refused)...)
		}
		if s.Tensors.Present() { // frees first: a block with a missed free stays
			out[ledger.GroupTorchCPU] = slices.Concat(one(ledger.TensorFreed, s.Tensors.Freed),
				one(ledger.TensorMade, s.Tensors.Made),
				one(ledger.TensorRefused, s.Tensors.NoRoom))
		}
	case cuda.Loader:
		out[ledger.GroupLoader] = one(ledger.LibraryChanged, s.Loader)
	}
	return out
}
