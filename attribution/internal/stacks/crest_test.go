package stacks

import (
	"math/rand/v2"
	"testing"

	"ipytracer/event"
)

// history is a random history of a process, with copies of all of its blocks at the moments that a crest remembers.
type history struct {
	*rand.Rand
	crest          *Crest
	now, freed     map[MeterStack]event.Bytes
	here, top      map[MeterStack]event.Bytes
	value, high    event.Bytes // of resident memory
	fell, best     event.Bytes
	meters, stacks int
}

// TestCrestAgainstCopiesOfAllBlocks compares the crest of random histories with copies of all blocks: at the end of the
// segment in which the tree was highest, or where resident memory last fell from its highest value there.
func TestCrestAgainstCopiesOfAllBlocks(t *testing.T) {
	for seed := range uint64(300) {
		h := &history{Rand: rand.New(rand.NewPCG(seed, 1)), crest: NewCrest(), now: map[MeterStack]event.Bytes{},
			freed: map[MeterStack]event.Bytes{}, meters: 3, stacks: 9}
		for range 400 {
			h.step()
		}
		since, ok := h.crest.Since()
		if !ok {
			t.Fatal("lost")
		}
		for meter := range h.meters {
			for stack := range h.stacks {
				k := MeterStack{event.Meter(meter), uint64(stack)}
				if got := h.now[k] - since[k]; h.top != nil && got != h.top[k] {
					t.Fatalf("seed %d, %v: %d at the crest, want %d", seed, k, got, h.top[k])
				}
			}
		}
	}
}

// step allocates, frees, falls or ends the segment.
func (h *history) step() {
	k := MeterStack{event.Meter(h.IntN(h.meters)), uint64(h.IntN(h.stacks))}
	switch h.IntN(8) {
	case 0, 1, 2:
		by := event.Bytes(h.IntN(1000) + 1)
		h.now[k] += by
		h.freed = map[MeterStack]event.Bytes{}
		h.crest.Add(k, by)
		h.value += by
		h.high = max(h.high, h.value)
	case 3, 4:
		if h.now[k] > 0 {
			by := event.Bytes(h.Int64N(int64(h.now[k])) + 1)
			h.now[k] -= by
			h.freed[k] += by
			h.crest.Add(k, -by)
		}
	case 5, 6:
		if h.value == h.high && h.value > h.fell {
			h.here, h.fell = h.blocks(h.freed), h.value
			h.crest.NoteFall(h.value)
		}
		h.value -= event.Bytes(h.Int64N(int64(h.value/2 + 1)))
	case 7:
		h.end()
	}
}

// end ends the segment. The tree has other processes, too.
func (h *history) end() {
	if h.high > h.fell {
		h.here = h.blocks(nil)
	}
	isTop := h.high+event.Bytes(h.IntN(100)) > h.best
	if isTop {
		h.best, h.top = h.high, h.here
	}
	h.crest.EndSegment(h.high, isTop)
	h.high, h.fell = h.value, 0
}

// blocks returns a copy of the blocks, with some more.
func (h *history) blocks(more map[MeterStack]event.Bytes) map[MeterStack]event.Bytes {
	all := map[MeterStack]event.Bytes{}
	for _, of := range []map[MeterStack]event.Bytes{h.now, more} {
		for k, bytes := range of {
			all[k] += bytes
		}
	}
	return all
}

// TestCrestIsLost checks that a crest with too many stacks, or one that has missed some, says so.
func TestCrestIsLost(t *testing.T) {
	c := NewCrest()
	for stack := range uint64(maxSince + 2) {
		c.Add(MeterStack{event.NumPy, stack}, 1)
	}
	if _, ok := c.Since(); ok {
		t.Error("it remembers more stacks than it may")
	}
	c.NoteFall(1)
	c.EndSegment(1, true)
	var none *Crest
	if _, ok := none.Since(); ok {
		t.Error("there is no crest")
	}
}
