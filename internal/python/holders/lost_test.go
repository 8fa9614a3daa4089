package holders

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
)

// objects makes an array of objects.
func (f *fake) objects(typ string, all ...uint64) uint64 {
	descr, dims, data := f.alloc(64), f.alloc(8), f.alloc(8*len(all))
	f.mem[descr+24-fakeMemory] = objects.KindObject
	f.put(dims, uint64(len(all)))
	for i, one := range all {
		f.put(data+uint64(8*i), one)
	}
	return f.object(typ, data, 1, dims, 0, 0, descr, 4, 0)
}

// TestLostCycles: of cycles without a root, those are lost that lead through an array of objects, and what only they
// lead to. What an array that a cycle leads to has alone is not.
func TestLostCycles(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		made := uint64(0)
		var blocks []objects.Block
		data := func() uint64 {
			made++
			blocks = append(blocks, objects.Block{Address: 0x7100_0000_0000 + made<<16, Size: 4096})
			return f.object("numpy.ndarray", blocks[made-1].Address, 1, 0, 0, 0, 0, 0, 0)
		}
		f.typ("Cells", 80, 0, cpython.FlagHeapType|cpython.FlagGC)
		f.put(f.types["Cells"]+cpython.TypeBase, f.types["numpy.ndarray"])
		f.put(f.types["Cells"]+cpython.TypeTraverse, 0x1234)
		set := func(list uint64, i int, to uint64) { f.put(f.word(list+uint64(f.h.ListItems))+uint64(8*i), to) }
		direct := f.list(0, data())
		set(direct, 0, f.objects("numpy.ndarray", direct, 0))
		hangs := f.refs(f.list(0, data()), 2)
		set(hangs, 0, hangs)
		far := f.list(0, hangs)
		own := f.objects("Cells", far)
		set(far, 0, f.list(own))
		outside := f.list(data())
		plain := f.list(0, f.objects("numpy.ndarray", outside))
		set(plain, 0, plain)
		f.collect(direct, hangs, far, f.word(f.word(far+uint64(f.h.ListItems))), own, outside, plain)
		f.main("a", f.list())
		f.walked(t, blocks, func(w finished) {
			r := w.result()
			want := []event.Garbage{event.GarbageLost, event.GarbageLost, event.GarbageWaits}
			for i, h := range r.Holders {
				if h.Kind != event.HeldByCycle || h.Garbage != want[i] && (i < 2 || h.Garbage != event.GarbageOff) ||
					(h.Lost == nil) != (i == 2) {
					t.Errorf("%d: %+v, want %s", i, h, want[i])
				}
			}
			if t.Failed() {
				return
			}
			if l := r.Holders[0].Lost; l.Address != direct || l.Type != "list" || l.More ||
				!slices.Equal(l.Cuts, []event.Cut{{Path: "[0]", Type: "numpy.ndarray", Fill: true}}) {
				t.Errorf("%+v, want the list at %#x", l, direct)
			}
			if l := r.Holders[1].Lost; !slices.Equal(l.Cuts, []event.Cut{{Path: "[0]", Type: "Cells", Fill: true}}) {
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
		f := newFake(11)
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
			items[len(to[v])] = f.object("numpy.ndarray", blocks[v].Address, 1, 0, 0, 0, 0, 0, 0)
			if isArray[v] = r.IntN(3) == 0; isArray[v] {
				addrs[v] = f.objects("numpy.ndarray", items...)
			} else {
				addrs[v] = f.list(items...)
				lists = append(lists, addrs[v])
			}
			f.refs(addrs[v], uint64(refs[v]))
		}
		for v := range to {
			at := f.word(addrs[v] + 16)
			if !isArray[v] {
				at = f.word(addrs[v] + uint64(f.h.ListItems))
			}
			for i, u := range to[v] {
				f.put(at+uint64(8*i), addrs[u])
			}
		}
		f.collect(lists...)
		f.main("a", f.list())
		graph := slices.Clone(to)
		gone := collectedOf(to, refs, isArray)
		f.walked(t, blocks, func(w finished) {
			for v, h := range w.result().Holders {
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
