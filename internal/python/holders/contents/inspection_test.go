package contents

import (
	"encoding/binary"
	"io"
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/holders/holderstest"
	"ipytracer/internal/python/holders/objects"
)

// arrayMaker makes arrays in a fake process.
type arrayMaker struct{ *holderstest.Python }

func (f arrayMaker) words(all ...int64) uint64 {
	at := f.Alloc(8 * len(all))
	for i, v := range all {
		f.Put(at+uint64(8*i), uint64(v))
	}
	return at
}

// descr makes a dtype of NumPy 2.
func (f arrayMaker) descr(kind, order byte, number, size uint64) uint64 {
	at := f.Alloc(64)
	f.Mem[at+24-holderstest.Base], f.Mem[at+26-holderstest.Base] = kind, order
	f.Put(at+28, number) // behind it are bytes that do not matter
	f.Put(at+40, size)
	return at
}

// ndarray makes an array.
func (f arrayMaker) ndarray(data, descr uint64, lengths, strides []int64) uint64 {
	return f.Object("numpy.ndarray", data, uint64(len(lengths)), f.words(lengths...), f.words(strides...), 0, descr, 4,
		0)
}

// inspecting is an inspector of a fake process.
func inspecting(t *testing.T, f *holderstest.Python, from io.ReaderAt, pagemap io.ReaderAt) *Inspector {
	t.Helper()
	t.Cleanup(objects.OnThread()) // a reader is bounded by the processor time of its thread
	s := sizing(t, f, 8<<20)
	return NewInspector(s, &objects.ResidentMemory{Memory: from,
		FilePages: objects.FilePages{Pagemap: pagemap}})
}

// sizing returns a sizer of a made-up process that has mapped so many bytes.
func sizing(t *testing.T, f *holderstest.Python, mapped uint64) *objects.Sizer {
	t.Helper()
	var limits objects.Limits
	limits.Defaults()
	mem := objects.NewMemory(f.Memory(), limits.Bytes)
	t.Cleanup(mem.Close)
	r := objects.NewReader(f.Heap, objects.NewBudget(t.Context(), mem, limits))
	if err := r.LearnTypes(); err != nil {
		t.Fatal(err)
	}
	return &objects.Sizer{Reader: r, Sizes: &objects.Sizes{NumPy: 2, Lineages: map[*objects.Type]objects.Lineage{},
		Mapped: []objects.Block{{Address: holderstest.Base, Size: mapped}}}}
}

// factsOf reads an array.
func factsOf(in *Inspector, array uint64, row int64) *event.Contents {
	var out *event.Contents
	if place, ok := in.placer.Array(array, row); ok {
		in.want("x", &out, place, 0)
	}
	in.Inspect()
	in.wanted = nil
	clear(in.same)
	return out
}

const elementsOfFake = 1 << 18

// fakeArrays is a process with 256 Ki numbers of 8 bytes, which count from 0 on.
func fakeArrays() (f arrayMaker, data uint64) {
	f = arrayMaker{holderstest.New(13)}
	data = f.Alloc(8 * elementsOfFake)
	for i := range uint64(elementsOfFake) {
		f.Put(data+8*i, i)
	}
	return f, data
}

// TestContentsOfAnAttacker: whatever an array's header claims, its facts are about elements that it has, or there are
// none.
func TestContentsOfAnAttacker(t *testing.T) {
	const n, all = elementsOfFake, elementsOfFake - 1
	f, data := fakeArrays()
	int64s := f.descr('i', '<', 7, 8)
	cases := map[string]struct {
		array    uint64
		row      int64
		elements int64 // 0 for no facts
		high     string
	}{
		"honest":        {f.ndarray(data, int64s, []int64{n}, []int64{8}), objects.Whole, n, "262143"},
		"two axes":      {f.ndarray(data, int64s, []int64{512, 512}, []int64{4096, 8}), objects.Whole, n, "262143"},
		"the last row":  {f.ndarray(data, int64s, []int64{512, 512}, []int64{4096, 8}), 511, 512, "262143"},
		"a column":      {f.ndarray(data, int64s, []int64{512, 512}, []int64{8, 4096}), 0, 512, "261632"},
		"backwards":     {f.ndarray(data+8*all, int64s, []int64{n}, []int64{-8}), objects.Whole, n, "262143"},
		"far rows":      {f.ndarray(data, int64s, []int64{2, 4}, []int64{8 * n / 2, 8}), objects.Whole, 8, "131075"},
		"2^62 elements": {f.ndarray(data, int64s, []int64{1 << 62}, []int64{8}), objects.Whole, 0, ""},
		"2^64 elements": {f.ndarray(data, int64s, []int64{1 << 32, 1 << 32}, []int64{8 << 32, 8}), objects.Whole, 0,
			""},
		"no elements":     {f.ndarray(data, int64s, []int64{0}, []int64{8}), objects.Whole, 0, ""},
		"less than none":  {f.ndarray(data, int64s, []int64{-1}, []int64{8}), objects.Whole, 0, ""},
		"one beyond":      {f.ndarray(data, int64s, []int64{8 << 20}, []int64{8}), objects.Whole, 0, ""},
		"overlapping":     {f.ndarray(data, int64s, []int64{512, 512}, []int64{8, 8}), objects.Whole, 0, ""},
		"closer than 8":   {f.ndarray(data, int64s, []int64{n}, []int64{4}), objects.Whole, 0, ""},
		"all the same":    {f.ndarray(data, int64s, []int64{1 << 40}, []int64{0}), objects.Whole, 0, ""},
		"before it":       {f.ndarray(data, int64s, []int64{n}, []int64{-8}), objects.Whole, 0, ""},
		"least stride":    {f.ndarray(data, int64s, []int64{2}, []int64{-1 << 63}), objects.Whole, 0, ""},
		"greatest stride": {f.ndarray(data, int64s, []int64{2, 2}, []int64{1<<63 - 1, 8}), 1, 0, ""},
		"no such row":     {f.ndarray(data, int64s, []int64{512, 512}, []int64{4096, 8}), 512, 0, ""},
		"a row of one":    {f.ndarray(data, int64s, []int64{n}, []int64{8}), 0, 0, ""},
		"three gaps": {f.ndarray(data, int64s, []int64{4, 4, 4}, []int64{1 << 14, 1 << 10, 16}), objects.Whole, 0,
			""},
		"data of nobody": {f.ndarray(0x6000_0000_0000, int64s, []int64{n}, []int64{8}), objects.Whole, 0, ""},
		"data of Linux":  {f.ndarray(1<<63, int64s, []int64{n}, []int64{8}), objects.Whole, 0, ""},
		"no data":        {f.ndarray(0, int64s, []int64{n}, []int64{8}), objects.Whole, 0, ""},
		"no dtype":       {f.ndarray(data, 0x6000_0000_0000, []int64{n}, []int64{8}), objects.Whole, 0, ""},
		"swapped bytes":  {f.ndarray(data, f.descr('i', '>', 7, 8), []int64{n}, []int64{8}), objects.Whole, 0, ""},
		"of size 0":      {f.ndarray(data, f.descr('i', '<', 7, 0), []int64{n}, []int64{8}), objects.Whole, 0, ""},
		"of size 3":      {f.ndarray(data, f.descr('i', '<', 7, 3), []int64{n}, []int64{3}), objects.Whole, 0, ""},
		"vast texts": {f.ndarray(data, f.descr('U', '<', 19, 1<<30), []int64{n}, []int64{1 << 30}), objects.Whole,
			0, ""},
		"a user's dtype": {f.ndarray(data, f.descr('i', '<', 300, 8), []int64{n}, []int64{8}), objects.Whole, 0, ""},
		"many axes": {f.Object("numpy.ndarray", data, 1<<31-1, data, data, 0, int64s, 4, 0), objects.Whole, 0,
			""},
		"axes of nobody": {f.Object("numpy.ndarray", data, 2, 1<<62, 1<<62, 0, int64s, 4, 0), objects.Whole, 0, ""},
		"no array":       {0x6000_0000_0000, objects.Whole, 0, ""},
	}
	in := inspecting(t, f.Python, f.Memory(), nil)
	for name, test := range cases {
		got := factsOf(in, test.array, test.row)
		switch {
		case (got == nil) != (test.elements == 0):
			t.Errorf("%s: %+v", name, got)
		case got != nil && (got.Elements != test.elements || got.Seen != test.elements || got.Max != test.high):
			t.Errorf("%s: %+v, want %d elements up to %s", name, got, test.elements, test.high)
		}
	}
}

// moving is memory that changes with each read.
type moving struct {
	io.ReaderAt
	reads  int
	change func(reads int)
}

func (m *moving) ReadAt(p []byte, at int64) (int, error) {
	m.reads++
	m.change(m.reads)
	return m.ReaderAt.ReadAt(p, at)
}

// TestContentsOfAMovingArray: there are no facts about an array that has become another one while it was read.
func TestContentsOfAMovingArray(t *testing.T) {
	for name, at := range map[string]uint64{
		"type": 8, "data": 16, "axes": 24, "dimensions": 32, "strides": 40, "dtype": 56,
	} {
		f, data := fakeArrays()
		array := f.ndarray(data, f.descr('i', '<', 7, 8), []int64{elementsOfFake}, []int64{8})
		memory := f.Memory()
		from := &moving{ReaderAt: memory, change: func(int) {}}
		in := inspecting(t, f.Python, from, nil)
		place, ok := in.placer.Array(array, objects.Whole)
		if !ok {
			t.Fatal("no place")
		}
		var out *event.Contents
		in.want("x", &out, place, 0)
		before := from.reads
		from.change = func(reads int) {
			if reads == before+2 { // the second chunk
				word := memory.Bytes[array+at-holderstest.Base:]
				binary.LittleEndian.PutUint64(word, binary.LittleEndian.Uint64(word)+8)
			}
		}
		if in.Inspect(); out != nil {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// TestContentsWhileElementsChange: facts about elements that change are about values that they had, and come to an end.
func TestContentsWhileElementsChange(t *testing.T) {
	f, data := fakeArrays()
	array := f.ndarray(data, f.descr('i', '<', 7, 8), []int64{elementsOfFake}, []int64{8})
	memory := f.Memory()
	from := &moving{ReaderAt: memory, change: func(reads int) {
		memory.Bytes[data+uint64(8*reads)-holderstest.Base]++
	}}
	got := factsOf(inspecting(t, f.Python, from, nil), array, objects.Whole)
	if got == nil || got.Seen != elementsOfFake || got.Max != "262143" {
		t.Errorf("%+v", got)
	}
}

// holes is memory with a part that cannot be read.
type holes struct {
	io.ReaderAt
	from, to uint64
}

func (h holes) ReadAt(p []byte, at int64) (int, error) {
	if uint64(at) < h.to && uint64(at)+uint64(len(p)) > h.from {
		return 0, io.ErrUnexpectedEOF
	}
	return h.ReaderAt.ReadAt(p, at)
}

// TestContentsWithHoles: elements that cannot be read are left out, and the facts say so.
func TestContentsWithHoles(t *testing.T) {
	f, data := fakeArrays()
	array := f.ndarray(data, f.descr('i', '<', 7, 8), []int64{elementsOfFake}, []int64{8})
	got := factsOf(inspecting(t, f.Python, holes{f.Memory(), data, data + objects.PageSize}, nil), array, objects.Whole)
	if got == nil || got.Seen != elementsOfFake/2 || got.Min != "131072" || got.Ascending {
		t.Errorf("%+v", got)
	}
	got = factsOf(inspecting(t, f.Python, holes{f.Memory(), data, data + 8*elementsOfFake}, nil), array, objects.Whole)
	if got != nil {
		t.Errorf("nothing can be read: %+v", got)
	}
	longer := f.ndarray(data, f.descr('i', '<', 7, 8), []int64{7 << 17}, []int64{8})
	got = factsOf(inspecting(t, f.Python, f.Memory(), nil), longer, objects.Whole)
	if got == nil || got.Elements != 7<<17 || got.Seen > elementsOfFake {
		t.Errorf("an array that ends before its last element: %+v", got)
	}
}

// pageTable is a pagemap with one state for all pages but some.
type pageTable struct {
	state uint64
	but   map[uint64]uint64 // by number
}

func (p pageTable) ReadAt(to []byte, at int64) (int, error) {
	for i := 0; i+8 <= len(to); i += 8 {
		state, other := p.but[uint64(at+int64(i))/8]
		if !other {
			state = p.state
		}
		binary.LittleEndian.PutUint64(to[i:], state)
	}
	return len(to), nil
}

// TestUntouchedPagesAreNotRead: pages that were never touched are zeros and stay so; those that are swapped stay out.
func TestUntouchedPagesAreNotRead(t *testing.T) {
	f, data := fakeArrays()
	array := f.ndarray(data, f.descr('i', '<', 7, 8), []int64{elementsOfFake}, []int64{8})
	first, last := data/objects.PageSize+1, (data+8*elementsOfFake)/objects.PageSize-1
	pages := map[uint64]uint64{}
	for n := first; n <= last; n++ {
		pages[n] = 0
	}
	from := holes{f.Memory(), first * objects.PageSize, (last + 1) * objects.PageSize}
	in := inspecting(t, f.Python, from, pageTable{objects.PagePresent, pages})
	got := factsOf(in, array, objects.Whole)
	if got == nil || got.Seen != elementsOfFake || got.Zeros < int64(last-first)*objects.PageSize/8 {
		t.Errorf("%+v", got)
	}
	in.placer.touched.Files = []objects.Block{{Address: holderstest.Base, Size: 8 << 20}}
	if got := factsOf(in, array, objects.Whole); got != nil {
		t.Errorf("pages of a file that are not in memory: %+v", got)
	}
	in.placer.touched.Files = nil
	pages[first+1] = objects.PageSwapped
	if got := factsOf(in, array, objects.Whole); got == nil || got.Seen != elementsOfFake/2 {
		t.Errorf("a page that is swapped: %+v", got)
	}
}

// TestLargeArraysAreSampledEvenly: where the budget is too small for an array, parts of it are read that are spread
// evenly.
func TestLargeArraysAreSampledEvenly(t *testing.T) {
	f, data := fakeArrays()
	for _, strides := range [][]int64{{8, 0}, {16, 8}} {
		lengths := []int64{elementsOfFake}
		if strides[1] != 0 {
			lengths = []int64{elementsOfFake / 2, 1}
		} else {
			strides = strides[:1]
		}
		array := f.ndarray(data, f.descr('i', '<', 7, 8), lengths, strides)
		in := inspecting(t, f.Python, f.Memory(), nil)
		in.left = 4 * elementsSample
		got := factsOf(in, array, objects.Whole)
		if got == nil || got.Seen != 4*elementsSample/int64(strides[0]) || got.Min != "0" ||
			len(got.Max) != 6 ||
			got.Max < "200000" || got.Ascending {
			t.Errorf("%+v", got)
		}
	}
	in := inspecting(t, f.Python, f.Memory(), nil)
	in.left = 0
	array := f.ndarray(data, f.descr('i', '<', 7, 8), []int64{elementsOfFake}, []int64{8})
	if got := factsOf(in, array, objects.Whole); got != nil {
		t.Errorf("without a budget: %+v", got)
	}
}

// TestPartsCoverArrays: the parts of an array have each of its elements once.
func TestPartsCoverArrays(t *testing.T) {
	for _, p := range []place{
		{row: 8, rows: 1}, {row: 3<<20 + 24, rows: 1}, {row: 8, step: 16, rows: 300_001},
		{row: 80, step: 1 << 19, rows: 7}, {row: 4096, step: 2 << 20, rows: 3}, {row: 1 << 20, step: 1 << 20, rows: 2},
	} {
		p.typ = elementType{kind: 'i', size: 8}
		for _, size := range []uint64{elementsChunk, elementsSample} {
			of, read := partsOf(&p, size), uint64(0)
			for i := range of.count {
				if p.rows == 1 {
					read += min(of.bytes, p.row-i*of.bytes)
				} else {
					read += min(of.rows, p.rows-i*of.rows) * p.row
				}
			}
			if read != p.row*p.rows || of.bytes > max(size, p.row) {
				t.Errorf("%+v: %+v reads %d", p, of, read)
			}
		}
	}
	if got := pack(nil, []byte("ab..cd..ef"), 2, 4); !slices.Equal(got, []byte("abcdef")) {
		t.Errorf("%s", got)
	}
}
