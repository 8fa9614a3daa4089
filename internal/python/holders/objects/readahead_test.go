package objects

import (
	"bytes"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// countedReads counts reads.
type countedReads struct {
	io.ReaderAt
	calls, most int // most bytes of a call
}

func (c *countedReads) ReadAt(buf []byte, off int64) (int, error) {
	c.calls++
	c.most = max(c.most, len(buf))
	return c.ReaderAt.ReadAt(buf, off)
}

// TestAddressesComeInOrder: addresses come in their order, each once, and the reads give the memory's contents, also
// beside pages that are missing, and where a process names addresses that none can have. Pages that lie side by side
// are read together, and only those that are asked for.
func TestAddressesComeInOrder(t *testing.T) {
	h := newHoled(KeptPages)
	from := &countedReads{ReaderAt: h}
	m := NewMemory(from, 1<<40)
	defer m.Close()
	m.KeepFew()
	random := rand.New(rand.NewPCG(7, 8))
	addrs := []uint64{0, 8, UserSpace, ^uint64(0) &^ 7}
	asked := map[uint64]bool{}
	for range 20_000 {
		addr := LowestAddress + random.Uint64N(uint64(len(h)/2)-8)&^7
		if addr/PageSize%8 == 3 {
			continue // these are not asked for
		}
		addrs = append(addrs, addr)
		asked[addr/PageSize] = true
	}
	var seen []uint64
	m.InOrder(addrs, func(i int) {
		seen = append(seen, addrs[i])
		if got, want := m.part(addrs[i], 8), h.want(addrs[i], 8); addrs[i] >= LowestAddress && addrs[i] < UserSpace &&
			!bytes.Equal(got, want) {
			t.Fatalf("%#x: % x, want % x", addrs[i], got, want)
		}
	})
	if len(seen) != len(addrs)-1 || !slices.IsSorted(seen) {
		t.Errorf("%d of %d addresses, in order: %t", len(seen), len(addrs)-1, slices.IsSorted(seen))
	}
	// One page of seven is missing: it ends a call, and is asked for once more.
	if from.calls > len(asked)*2/3 || from.most > runPages*PageSize || m.Total > int64(len(asked)*PageSize)*5/4 {
		t.Errorf("%d calls for %d pages, of at most %d bytes, %d pages countedReads", from.calls, len(asked),
			from.most, m.Total/PageSize)
	}
	for _, k := range m.Kept {
		if k.Number != 0 && !asked[k.Number] {
			t.Fatalf("page %#x was read, nobody asked for it", k.Number)
		}
	}
}

// TestAheadEnds: reading ahead keeps to the limit of reads.
func TestAheadEnds(t *testing.T) {
	from := &countedReads{ReaderAt: newHoled(600)}
	m := NewMemory(from, 20*PageSize)
	defer m.Close()
	var addrs []uint64
	for page := range uint64(500) {
		addrs = append(addrs, LowestAddress+page*PageSize)
	}
	m.InOrder(addrs, func(i int) { m.Word(addrs[i]) })
	if pages := m.Total / PageSize; pages > 20+runPages || m.Err != errBytes {
		t.Errorf("%d pages were read with a limit of 20: %v", pages, m.Err)
	}
}
