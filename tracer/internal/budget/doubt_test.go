package budget

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"
	"testing"

	"ipytracer/internal/ledger"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/tracer/internal/tracee"
)

// heap is memory as glibc's malloc lays it out, from an address on.
type heap struct {
	start uint64
	words []byte
}

func (h *heap) ReadAt(p []byte, at int64) (int, error) {
	i := at - int64(h.start)
	if i < 0 || i+int64(len(p)) > int64(len(h.words)) {
		return 0, io.EOF
	}
	return copy(p, h.words[i:]), nil
}

func (h *heap) put(at, word uint64) { binary.LittleEndian.PutUint64(h.words[at-h.start:], word) }

// block puts a chunk at an address for so many bytes; the next chunk says whether it is in use.
func (h *heap) block(at, size uint64, inUse bool) {
	chunk := (size + 8 + 15) &^ 15
	h.put(at-8, chunk|prevInUse)
	next := uint64(0)
	if inUse {
		next = prevInUse
	}
	h.put(at-16+chunk+8, 64|next)
}

func TestJudgeArrays(t *testing.T) {
	h := &heap{start: 0x10000, words: make([]byte, 0x40000)}
	const alive, freed, other, nobody, sure, made, smaller, old, unmapped = 0x11010, 0x13010, 0x15010, 0x17010, 0x19010,
		0x1b010, 0x1d010, 0x1f010, 0x90010
	h.block(alive, 2000, true)
	h.block(freed, 2000, false)
	h.block(other, 3000, true) // now an array of 3000 bytes
	h.block(nobody, 2000, true)
	h.block(sure, 2000, true)
	h.block(made, 5000, true)
	h.block(smaller, 2000, true)
	h.block(old, 7000, true)
	const gone = 0x21010
	h.block(gone, 9000, true) // now the block of another caller
	known := []ledger.Array{
		{Address: alive, Size: 2000, Doubt: true}, {Address: freed, Size: 2000, Doubt: true},
		{Address: other, Size: 2000, Doubt: true},
		{Address: nobody, Size: 2000, Doubt: true}, {Address: sure, Size: 2000},
		{Address: smaller, Size: 2000, Doubt: true},
		{Address: gone, Size: 2000, Doubt: true}, {Address: unmapped, Size: 1 << 20, Doubt: true},
	}
	found := []objects.Block{{Address: alive, Size: 2000}, {Address: other, Size: 3000}, {Address: sure, Size: 2000},
		{Address: made, Size: 5000},
		{Address: smaller, Size: 1600}, {Address: old, Size: 7000}}
	before := func(b objects.Block) bool { return b.Address == old }
	got, left := judgeArrays(found, known, readHeaders(h, 4096), before)
	slices.SortStableFunc(got, func(a, b verdict) int { return cmp.Compare(a.address, b.address) })
	want := []verdict{{alive, 2000, 2000}, {freed, 2000, 0}, {other, 2000, 0}, {other, 0, 3000},
		{made, 0, 5000},
		{smaller, 2000, 2000}, {gone, 2000, 0}, {unmapped, 1 << 20, 0}}
	if !slices.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
	if left != 2000+400 {
		t.Errorf("%d bytes are left in doubt", left)
	}
	// If a live block has another allocator's header, headers prove nothing.
	h.put(alive-8, 0)
	got, left = judgeArrays(found, known, readHeaders(h, 4096), before)
	for _, v := range got {
		if v.found == 0 && v.address != unmapped && v.address != other {
			t.Errorf("%x is said to have gone", v.address)
		}
	}
	if left != 3*2000+400 {
		t.Errorf("%d bytes are left in doubt, with another allocator", left)
	}
}

func TestArraysBefore(t *testing.T) {
	late := &tracee.Target{Late: true}
	at := func(address uint64) objects.Block { return objects.Block{Address: address, Size: 2} }
	if !arraysBefore(late)(at(1)) {
		t.Error("nobody has looked: any array may be from before")
	}
	late.Before = unknownArrays([]objects.Block{{Address: 1, Size: 2}, {Address: 5, Size: 2}},
		[]ledger.Array{{Address: 5, Size: 2}})
	if !arraysBefore(late)(at(1)) || arraysBefore(late)(at(5)) || arraysBefore(late)(at(7)) ||
		arraysBefore(&tracee.Target{})(at(1)) || arraysBefore(late)(objects.Block{Address: 1, Size: 3}) {
		t.Errorf("before: %v", late.Before)
	}
}
