package elffile

import (
	"debug/elf"
	"encoding/binary"
	"sort"
)

// Limits on call frame information.
const (
	maxEntry  = 256 << 10 // bytes of one entry; the longest seen has 12 KiB
	maxCommon = 4 << 10   // of a common one, which many others have parsed again
	maxFDEs   = 1 << 20   // of a section without a sorted table
)

// Frames finds call frame information: how to get from an instruction to its caller (.eh_frame or .debug_frame; DWARF 5, section 6.4, and
// LSB 5.0, section 10.6).
//
// It is read here and not by a library: what there is (delve's pkg/dwarf/frame) takes whole sections apart, some hundred MiB in
// PyTorch's, and panics where one is damaged. Here an entry is looked up in the file, by way of the sorted table that linkers put in
// front of it (.eh_frame_hdr).
type Frames struct {
	file   *File
	header uint64 // address of .eh_frame_hdr; 0: none that can be searched
	count  uint64 // entries of its table
	// indexed are the entries of sections that have no such table, in order of address.
	indexed []indexedEntry
	indexOf map[bool][]byte // the sections themselves, by whether they are .debug_frame
	ehFrame uint64          // address of .eh_frame
}

// indexedEntry is where the entry of a range of addresses is in its section.
type indexedEntry struct {
	start, end uint64
	at         uint64
	debug      bool // in .debug_frame
}

// Common is what entries have in common.
type Common struct {
	CodeAlign      uint64
	DataAlign      int64
	ReturnRegister uint64
	Signal         bool   // of frames of signal handlers, all of whose registers lie elsewhere
	Program        []byte // call frame instructions
	encoding       byte
	augmented      bool
}

// Entry is how to get to the caller from a range of addresses.
type Entry struct {
	Span
	Common  *Common
	Program []byte // call frame instructions that follow the common ones
}

// The table's format that every linker writes: count as udata4, entries as a pair of datarel sdata4.
const (
	headerVersion   = 1
	encUData4       = 0x03
	encDataRelSData = 0x3b
)

// ReadFrames looks where a file's tables are.
func ReadFrames(f *File, room *Room) *Frames {
	t := &Frames{file: f}
	for _, p := range f.headers.Progs {
		if p.Type != elf.PT_GNU_EH_FRAME {
			continue
		}
		var head [12]byte
		if t.file.readSome(p.Vaddr, head[:]) == len(head) && head[0] == headerVersion && head[2] == encUData4 && head[3] == encDataRelSData {
			count := uint64(binary.LittleEndian.Uint32(head[8:]))
			if size := (p.Filesz - 12) / 8; p.Filesz >= 12 {
				t.header, t.count = p.Vaddr, min(count, size)
			}
		}
	}
	t.indexOf = map[bool][]byte{}
	if t.header == 0 || t.count == 0 {
		if s := f.headers.Section(".eh_frame"); s != nil {
			t.ehFrame = s.Addr
			t.indexSection(".eh_frame", false, room)
		}
	}
	t.indexSection(".debug_frame", true, room) // Go's linker writes only this one
	sort.Slice(t.indexed, func(i, j int) bool { return t.indexed[i].start < t.indexed[j].start })
	return t
}

// At returns the entry that holds an address, unless it is that of a signal handler's frame.
func (t *Frames) At(vaddr uint64) (Entry, bool) {
	e, ok := t.lookup(vaddr)
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

// search looks an address up in the sorted table and returns its entry's address.
func (t *Frames) search(vaddr uint64) (at uint64, ok bool) {
	pair := func(i uint64) (start, entry uint64, ok bool) {
		var raw [8]byte
		if t.file.readSome(t.header+12+8*i, raw[:]) != len(raw) {
			return 0, 0, false
		}
		return t.header + uint64(int64(int32(binary.LittleEndian.Uint32(raw[:])))),
			t.header + uint64(int64(int32(binary.LittleEndian.Uint32(raw[4:])))), true
	}
	low, high := uint64(0), t.count // the entry is before high, none before low begins behind vaddr
	for low < high {
		middle := low + (high-low)/2
		start, _, ok := pair(middle)
		if !ok {
			return 0, false
		}
		if start <= vaddr {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == 0 {
		return 0, false
	}
	_, at, ok = pair(low - 1)
	return at, ok
}

// entry parses the entry at an address of .eh_frame, which is mapped with the program.
func (t *Frames) entry(at uint64) (Entry, bool) {
	head := make([]byte, 8)
	if t.file.readSome(at, head) != len(head) {
		return Entry{}, false
	}
	length, back := uint64(binary.LittleEndian.Uint32(head)), uint64(binary.LittleEndian.Uint32(head[4:]))
	if length < 4 || length > maxEntry || back == 0 {
		return Entry{}, false
	}
	common := at + 4 - back
	if t.file.readSome(common, head) != len(head) || binary.LittleEndian.Uint32(head[4:]) != 0 {
		return Entry{}, false
	}
	size := uint64(binary.LittleEndian.Uint32(head))
	if size < 4 || size > maxCommon {
		return Entry{}, false
	}
	raw := make([]byte, size-4)
	if t.file.readSome(common+8, raw) != len(raw) {
		return Entry{}, false
	}
	c, ok := parseCommon(raw, false)
	if !ok {
		return Entry{}, false
	}
	raw = make([]byte, length-4)
	if t.file.readSome(at+8, raw) != len(raw) {
		return Entry{}, false
	}
	return parseEntry(raw, at+8, c)
}
