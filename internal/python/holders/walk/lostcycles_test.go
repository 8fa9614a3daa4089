package walk

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/holderstest"
	"ipytracer/internal/python/holders/objects"
)

// TestLostCycles: of cycles without a root, those are lost that lead through an array of objects, and what only they
// lead to. What an array that a cycle leads to has alone is not.
func TestLostCycles(t *testing.T) {
	holderstest.EachVersion(t, func(t *testing.T, f *holderstest.Python) {
		made := uint64(0)
		var blocks []objects.Block
		data := func() uint64 {
			made++
			blocks = append(blocks, objects.Block{Address: 0x7100_0000_0000 + made<<16, Size: 4096})
			return f.Object("numpy.ndarray", blocks[made-1].Address, 1, 0, 0, 0, 0, 0, 0)
		}
		f.Type("Cells", 80, 0, cpython.FlagHeapType|cpython.FlagGC)
		f.Put(f.Types["Cells"]+cpython.TypeBase, f.Types["numpy.ndarray"])
		f.Put(f.Types["Cells"]+cpython.TypeTraverse, 0x1234)
		set := func(list uint64, i int, to uint64) { f.Put(f.Word(list+uint64(f.Heap.ListItems))+uint64(8*i), to) }
		direct := f.List(0, data())
		set(direct, 0, f.Objects("numpy.ndarray", direct, 0))
		hangs := f.Refs(f.List(0, data()), 2)
		set(hangs, 0, hangs)
		far := f.List(0, hangs)
		own := f.Objects("Cells", far)
		set(far, 0, f.List(own))
		outside := f.List(data())
		plain := f.List(0, f.Objects("numpy.ndarray", outside))
		set(plain, 0, plain)
		f.Collect(direct, hangs, far, f.Word(f.Word(far+uint64(f.Heap.ListItems))), own, outside, plain)
		f.Main("a", f.List())
		walked(t, f, blocks, func(w finished) {
			holders := w.holders()
			want := []event.Garbage{event.GarbageLost, event.GarbageLost, event.GarbageWaits}
			for i, h := range holders {
				if h.Kind != event.HeldByCycle || h.Garbage != want[i] && (i < 2 || h.Garbage != event.GarbageOff) ||
					(h.Lost == nil) != (i == 2) {
					t.Errorf("%d: %+v, want %s", i, h, want[i])
				}
			}
			if t.Failed() {
				return
			}
			if l := holders[0].Lost; l.Address != direct || l.Type != "list" || l.More ||
				!slices.Equal(l.Cuts, []event.Cut{{Path: "[0]", Type: "numpy.ndarray", Fill: true}}) {
				t.Errorf("%+v, want the list at %#x", l, direct)
			}
			if l := holders[1].Lost; !slices.Equal(l.Cuts, []event.Cut{{Path: "[0]", Type: "Cells", Fill: true}}) {
				t.Errorf("%+v", l)
			}
		})
	})
}

// TestLostAtRandom compares with what the collector does, on random graphs of lists and of arrays of objects: it frees
// lists to which it sees every reference there is, until it finds none, and reference counts free the rest.
func TestLostAtRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	seen := map[bool]int{}
	for range 300 {
		f := holderstest.New(11)
		n := 2 + r.IntN(9)
		to := make([][]int, n)
		refs := make([]int, n)
		for v := range to {
			for range r.IntN(3) {
				u := r.IntN(n)
				to[v] = append(to[v], u)
				refs[u]++
			}
		}
		isArray, addrs := make([]bool, n), make([]uint64, n)
		blocks := make([]objects.Block, n)
		var lists []uint64
		for v := range to {
			blocks[v] = objects.Block{Address: 0x7100_0000_0000 + uint64(v)<<16, Size: 4096}
			items := make([]uint64, len(to[v])+1)
			items[len(to[v])] = f.Object("numpy.ndarray", blocks[v].Address, 1, 0, 0, 0, 0, 0, 0)
			if isArray[v] = r.IntN(3) == 0; isArray[v] {
				addrs[v] = f.Objects("numpy.ndarray", items...)
			} else {
				addrs[v] = f.List(items...)
				lists = append(lists, addrs[v])
			}
			f.Refs(addrs[v], uint64(refs[v]))
		}
		for v := range to {
			at := f.Word(addrs[v] + 16)
			if !isArray[v] {
				at = f.Word(addrs[v] + uint64(f.Heap.ListItems))
			}
			for i, u := range to[v] {
				f.Put(at+uint64(8*i), addrs[u])
			}
		}
		f.Collect(lists...)
		f.Main("a", f.List())
		graph := slices.Clone(to)
		gone := collectedOf(to, refs, isArray)
		walked(t, f, blocks, func(w finished) {
			for v, h := range w.holders() {
				if h.Kind != event.HeldByCycle || refs[v] == 0 {
					continue // the collector knows nothing that leads there, or nothing does at all
				}
				if (h.Garbage == event.GarbageLost) == gone[v] {
					t.Errorf("%d of %v, arrays %v: %s, gone %t", v, graph, isArray, h.Garbage, gone[v])
				}
				seen[gone[v]]++
			}
		})
	}
	if seen[false] < 100 || seen[true] < 100 {
		t.Errorf("seen: %v", seen)
	}
}

// collectedOf returns the objects that collections free, by the collector's own rules.
func collectedOf(to [][]int, references []int, isArray []bool) (gone []bool) {
	gone = make([]bool, len(to))
	refs := slices.Clone(references)
	var free func(v int)
	free = func(v int) {
		gone[v] = true
		all := to[v]
		to[v] = nil
		for _, u := range all {
			if refs[u]--; refs[u] == 0 && !gone[u] {
				free(u)
			}
		}
	}
	for v := range to {
		if refs[v] == 0 && !gone[v] {
			free(v)
		}
	}
	for again := true; again; {
		again = false
		live := liveIn(to, refs, isArray, gone)
		for v := range to {
			if !gone[v] && !isArray[v] && !live[v] {
				again = true
				gone[v] = true
			}
		}
		for v := range to { // what is collected lets go of what it refers to
			if gone[v] {
				for _, u := range to[v] {
					refs[u]--
				}
				to[v] = nil
			}
		}
		for v := range to {
			if !gone[v] && refs[v] == 0 {
				free(v)
			}
		}
	}
	return gone
}

// liveIn returns the lists that a collection takes for objects in use: those to which it does not see every reference,
// and what they lead to.
func liveIn(to [][]int, refs []int, isArray, gone []bool) (live []bool) {
	left := slices.Clone(refs)
	for v := range to {
		for _, u := range to[v] {
			if !gone[v] && !isArray[v] {
				left[u]--
			}
		}
	}
	var queue []int
	live = make([]bool, len(to))
	for v := range to {
		if !gone[v] && !isArray[v] && left[v] > 0 {
			live[v], queue = true, append(queue, v)
		}
	}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, u := range to[v] {
			if !live[u] && !isArray[u] {
				live[u], queue = true, append(queue, u)
			}
		}
	}
	return live
}
