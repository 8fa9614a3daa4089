package elffile

import (
	"debug/elf"
	"encoding/binary"
	"sort"
	"sync"
	"unsafe"
)

// maxFDEs is how many entries are indexed of a section without a sorted table.
const maxFDEs = 1 << 19

// Frames finds call frame information: the rule that leads from an instruction to its caller (.eh_frame or
// .debug_frame; DWARF 5, section 6.4, and LSB 5.0, section 10.6).
//
// The existing library (delve's pkg/dwarf/frame) is not used: it parses whole sections, some hundred MiB in PyTorch's
// libraries, and panics if a section is damaged. Frames looks up single entries in the file, through the sorted table
// that linkers write (.eh_frame_hdr).
//
// Frames is safe for concurrent use, but not while [Frames.Prepare] runs.
type Frames struct {
	file   *File
	header uint64 // address of .eh_frame_hdr; 0: there is none, or no sorted table in it
	count  uint64 // entries of the sorted table
	// indexed are the entries of the sections without a sorted table, in order of address.
	indexed []indexedEntry
	indexOf map[bool][]byte // the contents of these sections, by whether the section is .debug_frame
	ehFrame uint64          // address of .eh_frame
	marks   []uint64        // addresses of every step-th entry of the sorted table; nil without Prepare
	step    uint64

	reading sync.Mutex         // protects commons
	commons map[uint64]*Common // the common entries that were parsed last, by address
}

// indexedEntry is a range of addresses, with the offset of its entry in the section.
type indexedEntry struct {
	start, end uint64
	at         uint64
	debug      bool // the section is .debug_frame
}

// The format of the sorted table that every linker writes: the count is udata4, an entry a pair of datarel sdata4.
const (
	headerVersion   = 1
	encUData4       = 0x03
	encDataRelSData = 0x3b
)

// ReadFrames finds a file's sorted table, and indexes the sections without one, as far as there is room.
func ReadFrames(f *File, room *Room) *Frames {
	t := &Frames{file: f}
	for _, p := range f.headers.programs {
		if p.kind != elf.PT_GNU_EH_FRAME {
			continue
		}
		var head [12]byte
		if t.file.readSome(p.vaddr, head[:]) == len(head) && head[0] == headerVersion && head[2] == encUData4 &&
			head[3] == encDataRelSData {
			count := uint64(binary.LittleEndian.Uint32(head[8:]))
			if size := (p.size - 12) / 8; p.size >= 12 {
				t.header, t.count = p.vaddr, min(count, size)
			}
		}
	}
	t.indexOf = map[bool][]byte{}
	if t.header == 0 || t.count == 0 {
		if s := f.headers.section(".eh_frame"); s != nil {
			t.ehFrame = s.address
			t.indexSection(".eh_frame", false, room)
		}
	}
	t.indexSection(".debug_frame", true, room) // Go's linker writes only this one
	sort.Slice(t.indexed, func(i, j int) bool { return t.indexed[i].start < t.indexed[j].start })
	return t
}

// indexSection reads a whole section, and adds its entries to the index.
func (t *Frames) indexSection(name string, debug bool, room *Room) {
	s := entrySource{data: t.file.section(name, room), address: t.ehFrame, debug: debug}
	t.indexOf[debug] = s.data
	s.each(func(e Entry, at uint64) bool {
		t.indexed = append(t.indexed, indexedEntry{e.Start, e.End, at, debug})
		return len(t.indexed) < maxFDEs && room.take(uint64(unsafe.Sizeof(indexedEntry{})))
	})
}

// At returns the entry whose range contains an address. ok is false if there is none, or the entry is for the frames of
// signal handlers.
func (t *Frames) At(vaddr uint64) (e Entry, ok bool) {
	e, ok = t.lookup(vaddr)
	return e, ok && !e.Common.Signal
}

func (t *Frames) lookup(vaddr uint64) (Entry, bool) {
	if at, ok := t.search(vaddr); ok {
		if e, ok := t.entry(at); ok && e.Contains(vaddr) {
			return e, true
		}
	}
	i := sort.Search(len(t.indexed), func(i int) bool { return t.indexed[i].start > vaddr })
	if i == 0 || vaddr >= t.indexed[i-1].end {
		return Entry{}, false
	}
	x := t.indexed[i-1]
	s := entrySource{data: t.indexOf[x.debug], address: t.ehFrame, debug: x.debug}
	e, _, ok := s.parse(x.at)
	return e, ok && e.Common != nil
}

// Sizes for reading the sorted table and entries.
const (
	pairSize     = 8         // bytes of an entry of the sorted table
	blockPairs   = 512       // entries of the sorted table that are read at once
	firstBytes   = 256       // bytes that are read at once of a frame entry; most have less than 100
	maxCommons   = 64        // common entries that are kept
	tableHeader  = 12        // bytes in front of the sorted table
	maxMarks     = 1 << 15   // with 512 pairs each, 16 million entries; the largest file seen has 800,000
	prepareChunk = 256 << 10 // bytes that Prepare reads at once
)

// search returns the address of the frame entry that the sorted table has for vaddr.
func (t *Frames) search(vaddr uint64) (at uint64, ok bool) {
	low, high := uint64(0), t.count // the entry is in [low, high), if the table has one
	if n := len(t.marks); n > 0 {
		i := sort.Search(n, func(i int) bool { return t.marks[i] > vaddr })
		if i == 0 {
			return 0, false
		}
		low, high = uint64(i-1)*t.step, min(t.count, uint64(i)*t.step)
	}
	for high-low > blockPairs {
		middle := low + (high-low)/2
		block := t.pairs(middle, 1)
		switch {
		case len(block) < pairSize:
			return 0, false
		case t.pairStart(block, 0) <= vaddr:
			low = middle
		default:
			high = middle
		}
	}
	block := t.pairs(low, high-low)
	i := sort.Search(len(block)/pairSize, func(i int) bool { return t.pairStart(block, i) > vaddr })
	if i == 0 {
		return 0, false
	}
	return t.header + uint64(int64(int32(binary.LittleEndian.Uint32(block[(i-1)*pairSize+4:])))), true
}

// pairs reads n entries of the sorted table from the i-th on, fewer at the end of the segment.
func (t *Frames) pairs(i, n uint64) []byte {
	raw := make([]byte, n*pairSize)
	return raw[:t.file.readSome(t.header+tableHeader+pairSize*i, raw)]
}

// pairStart returns the first address of the range that the i-th entry of a block is for.
func (t *Frames) pairStart(block []byte, i int) uint64 {
	return t.header + uint64(int64(int32(binary.LittleEndian.Uint32(block[i*pairSize:]))))
}

// entry parses the entry at an address of .eh_frame.
func (t *Frames) entry(at uint64) (Entry, bool) {
	raw := make([]byte, firstBytes)
	raw = raw[:t.file.readSome(at, raw)]
	if len(raw) < 8 {
		return Entry{}, false
	}
	length, back := uint64(binary.LittleEndian.Uint32(raw)), uint64(binary.LittleEndian.Uint32(raw[4:]))
	if length < 4 || length > maxEntry || back == 0 {
		return Entry{}, false
	}
	c, ok := t.common(at + 4 - back)
	if !ok {
		return Entry{}, false
	}
	if size := length + 4; uint64(len(raw)) < size {
		raw = make([]byte, size)
		if uint64(t.file.readSome(at, raw)) != size {
			return Entry{}, false
		}
	}
	return parseEntry(raw[8:length+4], at+8, c)
}

// common returns the common entry at an address of .eh_frame. It keeps some, because many entries share one.
func (t *Frames) common(at uint64) (*Common, bool) {
	t.reading.Lock()
	defer t.reading.Unlock()
	if c := t.commons[at]; c != nil {
		return c, true
	}
	head := make([]byte, 8)
	if t.file.readSome(at, head) != len(head) || binary.LittleEndian.Uint32(head[4:]) != 0 {
		return nil, false
	}
	size := uint64(binary.LittleEndian.Uint32(head))
	if size < 4 || size > maxCommon {
		return nil, false
	}
	raw := make([]byte, size-4)
	if t.file.readSome(at+8, raw) != len(raw) {
		return nil, false
	}
	c, ok := parseCommon(raw, false)
	if !ok {
		return nil, false
	}
	if t.commons == nil || len(t.commons) >= maxCommons {
		t.commons = map[uint64]*Common{}
	}
	t.commons[at] = c
	return c, true
}

// Prepare makes the first lookups fast. It reads the bytes that lookups will read, at most limit, so that Linux has
// them in its cache. And it keeps every step-th address of the sorted table: 16 bytes for each 1,000 functions, or 5
// KiB for a gigabyte library with 300,000 functions. Before each read it calls isOver, and returns early if that is
// true.
func (t *Frames) Prepare(limit int64, room *Room, isOver func() bool) {
	chunk := make([]byte, prepareChunk)
	limit = t.mark(chunk, limit, room, isOver)
	s := t.file.headers.section(".eh_frame")
	if s == nil || s.kind == elf.SHT_NOBITS {
		return
	}
	for at := uint64(0); at < s.size && limit > 0 && !isOver(); {
		n := t.file.readSome(s.address+at, chunk[:min(uint64(len(chunk)), s.size-at)])
		if n <= 0 {
			return
		}
		at, limit = at+uint64(n), limit-int64(n)
	}
}

// mark fills t.marks, and returns what is left of limit.
func (t *Frames) mark(chunk []byte, limit int64, room *Room, isOver func() bool) int64 {
	step := max(blockPairs, (t.count+maxMarks-1)/maxMarks)
	if t.header != 0 && t.count > 0 && room.take((t.count/step+1)*8) {
		marks := make([]uint64, 0, t.count/step+1)
		for i := uint64(0); i < t.count && limit > 0 && !isOver(); i += step {
			size := min(uint64(len(chunk)), pairSize*min(step, t.count-i))
			n := t.file.readSome(t.header+tableHeader+pairSize*i, chunk[:size])
			if n < pairSize {
				break
			}
			start := t.pairStart(chunk, 0)
			if len(marks) > 0 && start < marks[len(marks)-1] { // the table is not sorted, so marks would mislead
				marks = nil
				break
			}
			marks = append(marks, start)
			limit -= int64(n)
		}
		if uint64(len(marks)) == (t.count+step-1)/step {
			t.marks, t.step = marks, step
		}
	}
	return limit
}
