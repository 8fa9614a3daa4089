package holders

import (
	"testing"

	"ipytracer/internal/python/holders/objects"
)

// TestMemoryOfAGraphGoesWithTheLoss: memory that a graph has saved goes with the name of the loss, as a lower bound. It
// does not where code in C++ has a node or a tensor as well, where more references were found than it says, and where a
// node is not like one.
func TestMemoryOfAGraphGoesWithTheLoss(t *testing.T) {
	const bytes, original = 1 << 20, 1 << 16
	type parts struct{ saved, node, counts, meta uint64 }
	for name, c := range map[string]struct {
		spoil func(f torch, p parts)
		goes  bool
	}{
		"a loss":                        {func(torch, parts) {}, true},
		"a node that others have":       {func(f torch, p parts) { f.Put(p.counts+8, 1<<32|2) }, false},
		"a tensor that others have":     {func(f torch, p parts) { f.Put(p.saved+8, 2) }, false},
		"more references than it says":  {func(f torch, p parts) { f.Put(p.saved+8, 0) }, false},
		"no node":                       {func(f torch, p parts) { f.Put(p.node+8, p.node+8) }, false},
		"a name of another std::string": {func(f torch, p parts) { f.Put(p.meta+8, 0) }, false},
		"a node that leads to itself": {func(f torch, p parts) {
			edges := f.malloc(40, map[int]uint64{0: p.node, 8: p.counts})
			for i, at := range []uint64{edges, edges + 24, edges + 24} {
				f.Put(p.node+96+8*uint64(i), at)
			}
			f.Put(p.counts+8, 1<<32|2)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, plain *fake) {
				f := newTorch(plain)
				storage := f.storageOf(f.Block, bytes)
				f.Put(storage+40, f.Block) // PyTorch frees it
				_, saved := f.tensor(storage)
				f.Put(saved+64, 0)
				f.Type("torch._C.TensorBase", 64, 0, 0)
				loss, impl := f.tensor(f.storageOf(f.Block+2*bytes, 4))
				f.Put(loss+8, f.Types["torch._C.TensorBase"])
				words := map[int]uint64{}
				for at := range 520 {
					words[at] = 0
				}
				words[0], words[392], words[448] = f.class("N5torch8autograd9generated12MulBackward0E"), saved, original
				node := f.malloc(520, words)
				counts := f.malloc(40, map[int]uint64{0: f.class("St19_Sp_counted_deleterIPN5torch8autograd4NodeE"),
					8: 1<<32 | 1})
				f.Put(node+8, node)
				f.Put(node+16, counts)
				meta := f.Word(impl + 32)
				f.Put(meta+8, meta+24)
				f.Put(meta+48, node)
				f.Put(meta+56, counts)
				c.spoil(f, parts{saved, node, counts, meta})
				f.Main("loss", loss)
				v := f.listing(t, objects.Limits{})["loss"]
				if (v.Device >= bytes) != c.goes || v.Device > 2*bytes || v.Exact && c.goes {
					t.Errorf("%+v", v)
				}
			})
		})
	}
}
