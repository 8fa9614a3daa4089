package native

import (
	"debug/elf"
	"encoding/binary"
	"sort"
)

// Limits on call frame information.
const (
	maxEntry = 256 << 10 // bytes of one entry; the longest seen has 12 KiB
	maxFDEs  = 1 << 20   // of a section without a sorted table
)

// frameTables knows where a file's call frame information is.
type frameTables struct {
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

// cie is what entries have in common.
type cie struct {
	codeAlign      uint64
	dataAlign      int64
	returnRegister uint64
	encoding       byte
	augmented      bool
	program        []byte
}

// fde is the entry of a range of addresses.
type fde struct {
	cie        *cie
	start, end uint64
	program    []byte
}

// The table's format that every linker writes: count as udata4, entries as a pair of datarel sdata4.
const (
	headerVersion   = 1
	encUData4       = 0x03
	encDataRelSData = 0x3b
)

// find looks where the tables are.
func (t *frameTables) find(m *Module) {
	for _, p := range m.elf.Progs {
		if p.Type != elf.PT_GNU_EH_FRAME {
			continue
		}
		var head [12]byte
		if m.read(p.Vaddr, head[:]) == len(head) && head[0] == headerVersion && head[2] == encUData4 && head[3] == encDataRelSData {
			count := uint64(binary.LittleEndian.Uint32(head[8:]))
			if size := (p.Filesz - 12) / 8; p.Filesz >= 12 {
				t.header, t.count = p.Vaddr, min(count, size)
			}
		}
	}
	t.indexOf = map[bool][]byte{}
	if t.header == 0 || t.count == 0 {
		if s := m.elf.Section(".eh_frame"); s != nil {
			t.ehFrame = s.Addr
			t.indexSection(m, ".eh_frame", false)
		}
	}
	t.indexSection(m, ".debug_frame", true) // Go's linker writes only this one
	sort.Slice(t.indexed, func(i, j int) bool { return t.indexed[i].start < t.indexed[j].start })
}

// lookup returns the entry that holds an address.
func (t *frameTables) lookup(m *Module, vaddr uint64) (fde, bool) {
	if at, ok := t.search(m, vaddr); ok {
		if e, ok := t.entry(m, at); ok && vaddr >= e.start && vaddr < e.end {
			return e, true
		}
	}
	i := sort.Search(len(t.indexed), func(i int) bool { return t.indexed[i].start > vaddr })
	if i == 0 || vaddr >= t.indexed[i-1].end {
		return fde{}, false
	}
	x := t.indexed[i-1]
	s := entrySource{data: t.indexOf[x.debug], address: t.ehFrame, debug: x.debug}
	e, _, ok := s.parse(x.at)
	return e, ok && e.cie != nil
}

// search looks an address up in the sorted table and returns its entry's address.
func (t *frameTables) search(m *Module, vaddr uint64) (at uint64, ok bool) {
	pair := func(i uint64) (start, entry uint64, ok bool) {
		var raw [8]byte
		if m.read(t.header+12+8*i, raw[:]) != len(raw) {
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
func (t *frameTables) entry(m *Module, at uint64) (fde, bool) {
	head := make([]byte, 8)
	if m.read(at, head) != len(head) {
		return fde{}, false
	}
	length, back := uint64(binary.LittleEndian.Uint32(head)), uint64(binary.LittleEndian.Uint32(head[4:]))
	if length < 4 || length > maxEntry || back == 0 {
		return fde{}, false
	}
	common := at + 4 - back
	if m.read(common, head) != len(head) || binary.LittleEndian.Uint32(head[4:]) != 0 {
		return fde{}, false
	}
	size := uint64(binary.LittleEndian.Uint32(head))
	if size < 4 || size > maxEntry {
		return fde{}, false
	}
	raw := make([]byte, size-4)
	if m.read(common+8, raw) != len(raw) {
		return fde{}, false
	}
	c, ok := parseCIE(raw, false)
	if !ok {
		return fde{}, false
	}
	raw = make([]byte, length-4)
	if m.read(at+8, raw) != len(raw) {
		return fde{}, false
	}
	return parseFDE(raw, at+8, c)
}
