package holders

import (
	"slices"
	"testing"
	"time"

	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/holderstest"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// walked has a walk of a made-up process looked at.
func walked(t *testing.T, f *holderstest.Python, look func(w *walk.Walker)) {
	t.Helper()
	defer objects.OnThread()()
	limits := objects.Limits{Time: 10 * time.Minute}
	limits.Defaults()
	found := walk.Findings{Heap: f.Heap, Mem: objects.NewMemory(f.Memory(), limits.Bytes)}
	defer found.Mem.Close()
	if err := found.Count(t.Context(), limits, func() bool { return true }); err != nil {
		t.Fatal(err)
	}
	defer found.Release()
	w := found.Walker(t.Context(), nil, limits)
	defer w.Free()
	finder := walk.NewFinder(w)
	finder.SeeksArrays = true
	w.VisitFor(finder)
	walk.Roots{Walker: w}.FollowAll(w.Modules(), true)
	look(w)
}

// TestReferrersAreBounded: of an array that very many objects refer to, not one reference each is noted.
func TestReferrersAreBounded(t *testing.T) {
	f := holderstest.New(11)
	array := f.Array()
	items := slices.Repeat([]uint64{array}, 1000)
	var lists []uint64
	for range 100 {
		lists = append(lists, f.List(items...))
	}
	f.Program([]uint64{f.Str("x"), array, f.Str("all"), f.List(lists...), f.Str("other"), f.List(array)}, nil)
	walked(t, f, func(w *walk.Walker) {
		v := &viewing{Walker: w}
		p := newReferring(w)
		p.referrers(v, []Held{{targets: []target{{View: array}}}})
		if len(p.others) != 1 || len(p.others[array]) != maxReferrers ||
			cap(p.others[array]) > 2*maxReferrers {
			t.Errorf("%d references to %d objects", len(p.others[array]), len(p.others))
		}
	})
}

// TestOwnPlacesCountOnce: IPython's own references are counted once each, whether an instance has its attributes in a
// dict (always up to Python 3.10) or beside it.
func TestOwnPlacesCountOnce(t *testing.T) {
	for _, minor := range []int{9, 10, 11, 12, 13} {
		f := holderstest.New(minor)
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
		walked(t, f, func(w *walk.Walker) {
			w.Shell.Hook = hook
			p := newReferring(w)
			if own := p.own[array]; own != 1 || len(p.outputs[array]) != 1 || len(p.names[array]) != 1 {
				t.Errorf("Python 3.%d: %d references of IPython's own, outputs %v, names %v", minor, own,
					p.outputs[array], p.names[array])
			}
		})
	}
}
