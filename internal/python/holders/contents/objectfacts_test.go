package contents

import (
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/holders/holderstest"
	"ipytracer/internal/python/holders/objects"
)

// objectsOf makes an array of references.
func (f arrayMaker) objectsOf(at uint64, lengths, strides []int64) uint64 {
	return f.ndarray(at, f.descr('O', '|', 17, 8), lengths, strides)
}

// TestObjectsOfAnAttacker: whatever references lead to, the facts about objects come to an end, and say what is known.
func TestObjectsOfAnAttacker(t *testing.T) {
	const n = 4096
	f := arrayMaker{holderstest.New(13)}
	long := f.Str("endless")
	f.Put(long+uint64(f.Heap.StrLength), 1<<62)
	away := f.Str("elsewhere")
	f.Put(away+uint64(f.Heap.StrLength), 1<<30)
	number := f.Object("int", 1<<60, 0)
	cases := map[string]struct {
		object  uint64
		stride  int64
		length  int64
		kind    string // "" for no facts
		missing int64
	}{
		"nothing":        {0, 8, n, "None", n},
		"nowhere":        {0x6000_0000_0000, 8, n, "other", 0},
		"Linux":          {1 << 63, 8, n, "other", 0},
		"not aligned":    {f.Str("x") + 3, 8, n, "other", 0},
		"an endless str": {long, 8, n, "str", 0},
		"a str beyond":   {away, 8, n, "str", 0},
		"a vast int":     {number, 8, n, "int", 0},
		"freed":          {f.Alloc(64), 8, n, "other", 0},
		"all the same":   {f.Str("x"), 0, 1 << 40, "", 0},
		"too many":       {f.Str("x"), 8, 1 << 60, "", 0},
	}
	for name, test := range cases {
		data := f.Alloc(8 * n)
		for i := range uint64(n) {
			f.Put(data+8*i, test.object)
		}
		array := f.objectsOf(data, []int64{test.length}, []int64{test.stride})
		got := factsOf(inspecting(t, f.Python, f.Memory(), nil), array, objects.Whole)
		if (got == nil) != (test.kind == "") {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		want := []event.ContentsKind{{Kind: test.kind, Count: n}}
		if got != nil && (!slices.Equal(got.Kinds, want) || got.Missing != test.missing || got.Distinct > 1 ||
			got.Objects != 1 || got.DistinctBytes > 1<<10) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestManyObjects: objects and values beyond the bounds are not counted wrongly, and long arrays are looked at in part.
func TestManyObjects(t *testing.T) {
	f := arrayMaker{holderstest.New(13)}
	var data uint64
	fill := func(n int, object func(i int) uint64) uint64 {
		data = f.Alloc(8 * n)
		for i := range n {
			f.Put(data+uint64(8*i), object(i))
		}
		return f.objectsOf(data, []int64{int64(n)}, []int64{8})
	}
	texts := []uint64{f.Str("a"), f.Str("bcd"), f.Str("a")}
	long := fill(mostObjects+2*objectsRun, func(i int) uint64 { return texts[i%3] })
	in := inspecting(t, f.Python, f.Memory(), nil)
	in.Sizes.Mapped = []objects.Block{{Address: holderstest.Base, Size: 1 << 30}}
	got := factsOf(in, long, objects.Whole)
	if got == nil || got.Seen > mostObjects || got.Seen < objectsRun || got.Objects != 3 ||
		got.Distinct != 2 ||
		got.ObjectBytes != 0 || got.DistinctBytes == 0 || got.Longest != 3 || !got.ASCII {
		t.Errorf("a long array: %+v", got)
	}
	spread := map[uint64]bool{}
	for _, n := range []uint64{1, 2, 7, 977, 1024} {
		clear(spread)
		for k := range n {
			spread[k*stepThrough(n)%n] = true
		}
		if uint64(len(spread)) != n {
			t.Errorf("%d of %d places are looked at", len(spread), n)
		}
	}
}
