package walk

import (
	"reflect"
	"testing"

	"ipytracer/internal/python/holders/holderstest"
	"ipytracer/internal/python/holders/objects"
)

// TestReplay: a walk that takes a survey's noted steps finds the same as one that reads the memory itself.
func TestReplay(t *testing.T) {
	holderstest.EachVersion(t, func(t *testing.T, f *holderstest.Python) {
		blocks := []objects.Block{{Address: f.Block, Size: 4096}}
		walked(t, f, blocks, func(noted finished) {
			if len(noted.Notes.Steps) == 0 {
				t.Fatal("no steps were noted")
			}
			w := NewWalker(t.Context(), f.Heap, noted.Mem, blocks, noted.Limits)
			w.Notes = &objects.Notes{}
			if err := w.LearnTypes(); err != nil {
				t.Fatal(err)
			}
			direct := finish(w)
			if a, b := noted.holders(), direct.holders(); !reflect.DeepEqual(a, b) {
				t.Errorf("noted: %+v\nread: %+v", a, b)
			}
			seen := map[uint64]bool{}
			for _, addr := range noted.Addrs {
				seen[addr] = true
			}
			for n, addr := range direct.Addrs {
				if !seen[addr] && direct.Nodes[n].Kind != KindCycle {
					t.Errorf("the object at %#x was not reached", addr)
				}
			}
		})
	})
}
