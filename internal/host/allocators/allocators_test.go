package allocators

import (
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"ipytracer/internal/hostile"
)

// words is the memory of a process, with the words that are not 0 by address. It can be read up to a limit.
type words struct {
	at    map[uint64]uint64
	pages map[uint64]bool // numbers of pages with words; made at the first read
	left  int
}

func (w *words) CopyResident(at uint64, buf []byte) {
	clear(buf)
	w.left -= len(buf)
	if w.pages == nil {
		w.pages = map[uint64]bool{}
		for at := range w.at {
			w.pages[at>>12] = true
		}
	}
	for i := 0; i+8 <= len(buf); i += 8 {
		if addr := at + uint64(i); w.pages[addr>>12] {
			binary.LittleEndian.PutUint64(buf[i:], w.at[addr])
		} else {
			i = int(min(addr|4095, at+uint64(len(buf))-1)-at) &^ 7
		}
	}
}

func (w *words) Over() bool { return w.left <= 0 }
func (w *words) Late() bool { return w.left <= 0 }
func (w *words) Stop()      { w.left = 0 }

func (w *words) put(at uint64, values ...uint64) {
	for i, v := range values {
		w.at[at+8*uint64(i)] = v
	}
}

const start, limit = 0x7f0000000000, 1 << 30

// jemallocOf lays out a slab with 2 of 4 blocks of 4 KiB in use, a large block, and dirty pages, with records at three
// addresses, as jemalloc does in one of its forms.
func jemallocOf(form jemallocFields, page uint) *words {
	const records = start + 256
	bits := (48 - page + 1) / 2
	leaf := uint64(start + 2048)
	end := leaf + 8<<bits
	size := (end - start + baseAlign - 1) &^ (baseAlign - 1)
	w := &words{at: map[uint64]uint64{}, left: limit}
	w.put(start, size, 0, noArena, end, start+size-end)
	add := func(i int, pages, of, class, free, state uint64, slab uint64, offset uint64) {
		at, first := uint64(records+128*i), start+of<<page
		fields := slab<<12 | state<<form.state | class<<form.class | free<<form.free
		w.put(at, fields, first+offset, pages<<page|3)
		word := at | slab | class<<48
		if form.leafState != 0 {
			word |= state << 2
		}
		index := first >> page & (1<<bits - 1)
		w.put(leaf+8*index, word)
		w.put(leaf+8*(index+pages-1), word)
	}
	add(0, 4, 4096, 28, 2<<(page-12), 0, 1, 0) // 28: 4 KiB
	add(1, 9, 4100, 40, 0, 0, 0, 64)           // 40: 32 KiB, in any place of the first page
	add(2, 16, 4109, jemallocClasses, 0, 1, 0, 0)
	for i := range uint64(8) { // of former slabs: no leaf has them
		w.put(records+128*(3+i), 1<<12, start+(4097+2*i)<<page, 4<<page)
	}
	return w
}

// TestJemallocForms: the records of jemalloc 5.2 and 5.3, with pages of each size, are understood.
func TestJemallocForms(t *testing.T) {
	for _, form := range jemallocs {
		for _, page := range []uint{12, 14, 16} {
			w := jemallocOf(form, page)
			var got []Extent
			for _, e := range Find(w, []Mapping{{start, start + 8192<<page}}) {
				if e.Start >= start+4096<<page {
					got = append(got, e)
				}
			}
			at := func(page0 uint64) uint64 { return start + page0<<page }
			blocks := 4<<(page-12) - 2<<(page-12)
			want := []Extent{
				{at(4096), at(4100), uint64(blocks) * 4096, false, Jemalloc},
				{at(4100), at(4109), 32 << 10, false, Jemalloc}, {at(4109), at(4125), 0, true, Jemalloc},
			}
			if !slices.Equal(got, want) {
				t.Errorf("state at bit %d, pages of %d bits: %+v, want %+v", form.state, page, got, want)
			}
		}
	}
}

// mimallocOf lays out a segment with its header, a page with 3 of 10 blocks of 4 KiB in use, a page without a block in
// use, a large block, and free slices.
func mimallocOf(form mimallocForm, old bool) *words {
	count := uint64(maxSlices)
	if old {
		count *= 2
	}
	w := &words{at: map[uint64]uint64{}, left: limit}
	array := start + uint64(form.array)
	own := uint64(1)
	if int(count)*form.entry+form.array > sliceSize {
		own = 2
	}
	w.put(array-40, count, own, 0, count, 0x7fff12345678)
	if old {
		w.put(array-40, count, own, 0, 0x7fff12345678, count)
	}
	slice := uint64(0)
	add := func(slices, reserved, used, size uint64) {
		at := array + slice*uint64(form.entry)
		w.put(at, slices, 0)
		w.at[at+8] = reserved<<16 | reserved<<32
		w.at[at+24], w.at[at+32], w.at[at+40] = size<<32|used, 0, 0
		if form.entry > 80 {
			w.at[at+24], w.at[at+32], w.at[at+40] = 0, used, size
		}
		if slices > 1 {
			w.put(at+(slices-1)*uint64(form.entry), (slices-1)*uint64(form.entry)<<32)
		}
		slice += slices
	}
	add(own, 0, 0, 1)
	add(1, 10, 3, 4096)
	add(1, 20, 0, 1024)
	add(5, 1, 1, 5*sliceSize-8)
	add(count-slice, 0, 0, 0)
	return w
}

// TestMimallocForms: the segments of mimalloc 2.0 to 2.2 are understood.
func TestMimallocForms(t *testing.T) {
	for _, c := range []struct {
		form mimallocForm
		old  bool
	}{
		{mimallocForm{264, 80, mimallocs[0]}, true}, {mimallocForm{280, 80, mimallocs[0]}, false},
		{mimallocForm{336, 96, mimallocs[1]}, false},
	} {
		w := mimallocOf(c.form, c.old)
		got := Find(w, []Mapping{{start - 4096, start + 2*segmentAlign}})
		own, all := uint64(1), uint64(maxSlices)
		if c.old {
			own, all = 2, 2*maxSlices
		}
		at := func(slice uint64) uint64 { return start + slice*sliceSize }
		want := []Extent{
			{at(0), at(own), own * sliceSize, false, Mimalloc}, {at(own), at(own + 1), 3 * 4096, false, Mimalloc},
			{at(own + 1), at(own + 2), 0, true, Mimalloc}, {at(own + 2), at(own + 7), 5*sliceSize - 8, false, Mimalloc},
			{at(own + 7), at(all), 0, true, Mimalloc},
		}
		if !slices.Equal(got, want) {
			t.Errorf("array at %d: %+v, want %+v", c.form.array, got, want)
		}
		w = mimallocOf(c.form, c.old)
		w.at[start+uint64(c.form.array)+(own+2)*uint64(c.form.entry)]++ // a page that overlaps the free slices
		if got := Find(w, []Mapping{{start, start + 2*segmentAlign}}); len(got) > 0 {
			t.Errorf("array at %d: a segment that contradicts itself: %+v", c.form.array, got)
		}
	}
}

// FuzzFind: extents of any memory are in order, do not overlap, and have no more in use than they have, and reading
// them takes no more than the limit.
func FuzzFind(f *testing.F) {
	for _, w := range []*words{jemallocOf(jemallocs[0], 12), mimallocOf(mimallocForm{280, 80, mimallocs[0]}, false)} {
		var seed []byte
		for _, at := range slices.Sorted(maps.Keys(w.at)) {
			seed = binary.LittleEndian.AppendUint32(seed, uint32(at-start))
			seed = binary.LittleEndian.AppendUint64(seed, w.at[at])
		}
		f.Add(seed)
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, data []byte) {
		const limit = 16 << 20
		w := &words{at: map[uint64]uint64{}, left: limit}
		for ; len(data) >= 12; data = data[12:] {
			w.at[start+uint64(binary.LittleEndian.Uint32(data)&^7)] = binary.LittleEndian.Uint64(data[4:])
		}
		last := uint64(0)
		for _, e := range Find(w, []Mapping{{start, start + 64<<20}, {start + 128<<20, start + 160<<20}}) {
			if e.Start < last || e.End <= e.Start {
				t.Errorf("%+v after %#x", e, last)
			}
			last = e.End
		}
		if w.left < -4<<20 {
			t.Errorf("%d bytes were read", limit-w.left)
		}
	})
}
