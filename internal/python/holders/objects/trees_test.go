package objects

import (
	"testing"

	"ipytracer/internal/python/holders/holderstest"
)

// TestAbsurdTree: sizes with a product that does not fit are none.
func TestAbsurdTree(t *testing.T) {
	f := holderstest.New(11)
	f.Type(TreeType, 16+8*5, 0, 0)
	for _, c := range []struct {
		room, stride uint64
		known        bool
	}{{100, 2, true}, {1 << 32, 1 << 29, false}, {1 << 31, 1 << 32, false}, {1 << 24, 1 << 37, false}} {
		nodes, values := f.Alloc(64)+16, f.Alloc(64)+16
		f.Put(nodes-8, 56*c.room)
		f.Put(values-8, max(8*c.room*c.stride, 4096))
		tree := f.Object(TreeType, min(c.room, 50), c.room, nodes, values, c.stride)
		s := Sizer{Reader: reading(t, f, f.Memory()), Sizes: &Sizes{
			Mapped: []Block{{Address: holderstest.Base, Size: UserSpace - holderstest.Base}}}}
		if err := s.LearnTypes(); err != nil {
			t.Fatal(err)
		}
		if _, known := treeSize(&s, tree, s.ObjectType(tree)); known != c.known {
			t.Errorf("%+v: known %t", c, known)
		}
	}
}
