package holders

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// counted counts reads.
type counted struct {
	io.ReaderAt
	calls, most int // most bytes of a call
}

func (c *counted) ReadAt(buf []byte, off int64) (int, error) {
	c.calls++
	c.most = max(c.most, len(buf))
	return c.ReaderAt.ReadAt(buf, off)
}

// TestAhead: addresses come in their order, each once, and the reads give the memory's contents, also beside pages that
// are missing, and where a process names addresses that none can have. Pages that lie side by side are read together,
// and only those that are asked for.
func TestAhead(t *testing.T) {
	h := newHoled(keptPages)
	from := &counted{ReaderAt: h}
	m := newMemory(from, 1<<40)
	defer m.close()
	m.few()
	random := rand.New(rand.NewPCG(7, 8))
	addrs := []uint64{0, 8, userSpace, ^uint64(0) &^ 7}
	asked := map[uint64]bool{}
	for range 20_000 {
		addr := lowestAddress + random.Uint64N(uint64(len(h)/2)-8)&^7
		if addr/pageSize%8 == 3 {
			continue // these are not asked for
		}
		addrs = append(addrs, addr)
		asked[addr/pageSize] = true
	}
	var seen []uint64
	m.inOrder(addrs, func(i int) {
		seen = append(seen, addrs[i])
		if got, want := m.part(addrs[i], 8), h.want(addrs[i], 8); addrs[i] >= lowestAddress && addrs[i] < userSpace &&
			!bytes.Equal(got, want) {
			t.Fatalf("%#x: % x, want % x", addrs[i], got, want)
		}
	})
	if len(seen) != len(addrs)-1 || !slices.IsSorted(seen) {
		t.Errorf("%d of %d addresses, in order: %t", len(seen), len(addrs)-1, slices.IsSorted(seen))
	}
	// One page of seven is missing: it ends a call, and is asked for once more.
	if from.calls > len(asked)*2/3 || from.most > runPages*pageSize || m.total > int64(len(asked)*pageSize)*5/4 {
		t.Errorf("%d calls for %d pages, of at most %d bytes, %d pages counted", from.calls, len(asked),
			from.most, m.total/pageSize)
	}
	for _, k := range m.kept {
		if k.number != 0 && !asked[k.number] {
			t.Fatalf("page %#x was read, nobody asked for it", k.number)
		}
	}
}

// TestAheadEnds: reading ahead keeps to the limit of reads.
func TestAheadEnds(t *testing.T) {
	from := &counted{ReaderAt: newHoled(600)}
	m := newMemory(from, 20*pageSize)
	defer m.close()
	var addrs []uint64
	for page := range uint64(500) {
		addrs = append(addrs, lowestAddress+page*pageSize)
	}
	m.inOrder(addrs, func(i int) { m.word(addrs[i]) })
	if pages := m.total / pageSize; pages > 20+runPages || m.err != errBytes {
		t.Errorf("%d pages were read with a limit of 20: %v", pages, m.err)
	}
}

// TestWalkReadsLittle: a survey's notes of arrays and of modules are not read again.
func TestWalkReadsLittle(t *testing.T) {
	const arrays = 300
	eachVersion(t, func(t *testing.T, f *fake) {
		const made = 0x7100_0000_0000
		var all []uint64
		for i := range uint64(arrays) { // each on a page of its own, with its axes on another one
			all = append(all, f.ownArray(made+i<<20, 1<<17, 1))
			f.alloc(2 * pageSize)
		}
		f.program([]uint64{f.str("all"), f.list(all...)},
			[]uint64{f.str("kept"), f.list(f.ownArray(made-1<<30, 1<<20, 8))})
		s, err := newSurvey(context.Background(), f.h, f.memory(), Process{}, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		s.mem.forget()
		before := s.mem.total
		limits := s.limits()
		limits.Unseen = true
		r, err := s.findOnce(context.Background(), []Block{{f.block, 4096}}, limits)
		if err != nil || !r.Complete || len(r.Unseen) != arrays+1 {
			t.Fatalf("%d arrays, complete: %t, %v", len(r.Unseen), r.Complete, err)
		}
		walked := s.mem.total // describing them reads
		w := s.walker(context.Background(), []Block{{f.block, 4096}}, limits)
		defer w.free()
		s.mem.forget()
		found := seeking(w)
		w.reserve(s.notes.containers)
		finish(found)
		if pages := (s.mem.total - walked) / pageSize; len(found.unseen) != arrays+1 || pages > arrays/4 {
			t.Errorf("%d pages were read to find %d arrays that had been noted (%d with their paths)", pages,
				len(found.unseen), (walked-before)/pageSize)
		}
	})
}
