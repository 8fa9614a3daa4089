package holders

import (
	"testing"

	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/views"
)

// TestOwnPlacesCountOnce: IPython's own references are counted once each, whether an instance has its attributes in a
// dict (always up to Python 3.10) or beside it.
func TestOwnPlacesCountOnce(t *testing.T) {
	for _, minor := range []int{9, 10, 11, 12, 13} {
		f := newFake(minor)
		array := f.Array()
		attributes := f.Dict(f.Str("_"), array, f.Str("__"), f.Str("other"))
		const basic = 24
		if minor <= 10 {
			f.Type("Hook", basic, 0, cpython.FlagHeapType)
			f.Put(f.Types["Hook"]+cpython.TypeDictOffset, 16)
		} else {
			f.Type("Hook", basic, 0, cpython.FlagHeapType|cpython.FlagManagedDict)
		}
		hook := f.Object("Hook", attributes)
		if minor > 10 {
			f.Put(hook-24, attributes)
		}
		f.Program([]uint64{f.Str("x"), array}, nil)
		f.walked(t, nil, func(w finished) {
			w.Shell.Hook = hook
			p := views.NewPlaces(w.Walker)
			if own := p.Own[array]; own != 1 || len(p.Outputs[array]) != 1 || len(p.Names[array]) != 1 {
				t.Errorf("Python 3.%d: %d references of IPython's own, outputs %v, names %v", minor, own,
					p.Outputs[array], p.Names[array])
			}
		})
	}
}
