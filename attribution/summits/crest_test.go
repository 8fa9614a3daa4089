package summits

import (
	"math/rand/v2"
	"testing"

	"ipytracer/event"
)

// TestCrest compares the crest of random histories with copies of all blocks: at the end of the segment in which the
// tree was highest, or where resident memory last fell from its highest value there.
func TestCrest(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		now, freed := map[Key]event.Bytes{}, map[Key]event.Bytes{}
		var here, top map[Key]event.Bytes
		crest, best, value := NewCrest(), event.Bytes(0), event.Bytes(0)
		high, fell := event.Bytes(0), event.Bytes(0)
		with := func() map[Key]event.Bytes {
			all := map[Key]event.Bytes{}
			for k, b := range now {
				all[k] += b
			}
			for k, b := range freed {
				all[k] += b
			}
			return all
		}
		for range 400 {
			k := Key{event.Meter(random.IntN(3)), uint64(random.IntN(9))}
			switch random.IntN(8) {
			case 0, 1, 2:
				by := event.Bytes(random.IntN(1000) + 1)
				now[k] += by
				freed = map[Key]event.Bytes{}
				crest.Moves(k, by)
				value += by
				high = max(high, value)
			case 3, 4:
				if now[k] == 0 {
					continue
				}
				by := event.Bytes(random.Int64N(int64(now[k])) + 1)
				now[k] -= by
				freed[k] += by
				crest.Moves(k, -by)
			case 5, 6:
				if value == high && value > fell {
					here, fell = with(), value
					crest.Falls(value)
				}
				value -= event.Bytes(random.Int64N(int64(value/2 + 1)))
			case 7: // the tree has other processes, too
				if high > fell {
					here = map[Key]event.Bytes{}
					for k, b := range now {
						here[k] = b
					}
				}
				isTop := high+event.Bytes(random.IntN(100)) > best
				if isTop {
					best, top = high, here
				}
				crest.Ends(high, isTop)
				high, fell = value, 0
			}
		}
		since, ok := crest.Since()
		if !ok {
			t.Fatal("lost")
		}
		for meter := range 3 {
			for stack := range 9 {
				k := Key{event.Meter(meter), uint64(stack)}
				if got := now[k] - since[k]; top != nil && got != top[k] {
					t.Fatalf("seed %d, %v: %d at the crest, want %d", seed, k, got, top[k])
				}
			}
		}
	}
}

// TestCrestIsLost checks that a crest with too many stacks, or one that has missed some, says so.
func TestCrestIsLost(t *testing.T) {
	c := NewCrest()
	for stack := range uint64(maxSince + 2) {
		c.Moves(Key{event.NumPy, stack}, 1)
	}
	if _, ok := c.Since(); ok {
		t.Error("it remembers more stacks than it may")
	}
	c.Falls(1)
	c.Ends(1, true)
	var none *Crest
	if _, ok := none.Since(); ok {
		t.Error("there is no crest")
	}
}

// TestTree checks that a summit is replaced only by a higher one.
func TestTree(t *testing.T) {
	var tree Tree
	level := func(bytes event.Bytes) func([]Level) []Level {
		return func(all []Level) []Level { return append(all, Level{7, bytes}) }
	}
	for _, one := range []struct {
		high event.Bytes
		want bool
	}{{0, false}, {10, true}, {10, false}, {9, false}, {11, true}} {
		if got := tree.Rises(event.Resident, one.high, level(one.high)); got != one.want {
			t.Errorf("%d: %v", one.high, got)
		}
	}
	tree.Rises(event.Mapped, 5, level(5))
	if all := tree.All(); len(all) != 2 || all[0].Meter > all[1].Meter {
		t.Errorf("%+v", all)
	}
	for _, s := range tree.All() {
		if len(s.Of) != 1 || s.Of[0].Bytes != s.Peak {
			t.Errorf("%+v", s)
		}
	}
}
