package holders

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/holders/objects"
)

// TestLeavesOfLargeLists has texts that two large lists share, that one has alone, and that something else has as well.
// They are no objects to look at, so a limit far below their number ends nothing.
func TestLeavesOfLargeLists(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		const count, size = 5000, 500
		both, alone, held := make([]uint64, count), make([]uint64, count), make([]uint64, count)
		for i := range count {
			both[i], alone[i], held[i] = f.Refs(f.bigText(size), 2), f.Refs(f.bigText(size), 2),
				f.Refs(f.bigText(size), 2)
		}
		twice := append(slices.Clone(alone), alone...)
		f.Main("a", f.List(both...), "b", f.List(both...), "c", f.List(twice...), "d", f.List(held...))
		l, err := list(context.Background(), f.Heap, f.Memory(), everything, objects.Limits{Objects: 1000})
		if err != nil || !l.Complete || l.Objects > 1000 {
			t.Fatalf("%d objects, complete %v: %v", l.Objects, l.Complete, err)
		}
		const each = count * size
		got := map[string][2]int64{}
		for _, v := range l.Names {
			got[v.Name] = [2]int64{int64(v.Bytes), int64(v.Reaches)}
		}
		for name, alone := range map[string]bool{"a": false, "b": false, "c": true, "d": false} {
			if (got[name][0] > each) != alone || got[name][1] < each || got[name][1] > 3*each/2 {
				t.Errorf("%s: alone %d, reaches %d", name, got[name][0], got[name][1])
			}
		}
		pair := 0
		for _, s := range l.Shares {
			if len(s.Owners) == 2 && int64(s.Bytes) > each && int64(s.Bytes) < 3*each/2 {
				pair++
			}
		}
		if pair != 1 {
			t.Errorf("shares: %+v", l.Shares)
		}
	})
}

// TestScatteredTexts: a list that has its texts in another order than memory has them reads each page of theirs few
// times, not once for each text.
func TestScatteredTexts(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		const count, length = 40_000, 350
		texts, before := make([]uint64, count), len(f.Mem)
		for i := range texts {
			texts[i] = f.Refs(f.Str(strings.Repeat("x", length)), 1)
		}
		pages := int64(len(f.Mem)-before) / objects.PageSize
		random := rand.New(rand.NewPCG(1, 2))
		random.Shuffle(count, func(i, k int) { texts[i], texts[k] = texts[k], texts[i] })
		f.Main("a", f.List(texts...))
		l, err := list(context.Background(), f.Heap, f.Memory(), everything, objects.Limits{})
		if err != nil || !l.Complete {
			t.Fatalf("complete %v: %v", l.Complete, err)
		}
		if read := l.Read / objects.PageSize; read < pages || read > 5*pages {
			t.Errorf("%d pages were read, of %d", read, pages)
		}
		if i := slices.IndexFunc(l.Names, func(v event.Variable) bool { return v.Name == "a" }); i < 0 ||
			l.Names[i].Bytes < count*length {
			t.Errorf("%+v", l.Names)
		}
	})
}
