package native

import "encoding/binary"

// parseCIE reads what follows the identifier of a common information entry: of .eh_frame version 1, of .debug_frame 1, 3 and 4.
func parseCIE(raw []byte, debug bool) (*cie, bool) {
	r := reader{data: raw}
	version := r.u8()
	augmentation := r.text()
	if debug && version == 4 && (r.u8() != 8 || r.u8() != 0) { // sizes of an address and of a segment selector
		return nil, false
	}
	c := &cie{codeAlign: r.uleb(), dataAlign: r.sleb()}
	if version == 1 {
		c.returnRegister = uint64(r.u8())
	} else {
		c.returnRegister = r.uleb()
	}
	if augmentation != "" {
		if augmentation[0] != 'z' || !c.augment(augmentation[1:], r.block()) {
			return nil, false
		}
		c.augmented = true
	}
	c.program = r.data
	return c, !r.failed && c.codeAlign < 1<<16 && c.dataAlign > -1<<16 && c.dataAlign < 1<<16
}

// augment reads the augmentation data. Frames of signal handlers ("S") are not unwound: all their registers lie elsewhere.
func (c *cie) augment(letters string, data []byte) bool {
	r := reader{data: data}
	for _, letter := range letters {
		switch letter {
		case 'R':
			c.encoding = r.u8()
		case 'L':
			r.u8()
		case 'P':
			if size, ok := encodedSize(r.u8()); !ok || r.take(size) == nil {
				return false
			}
		case 'B':
		default:
			return false
		}
	}
	return !r.failed
}

// Encodings of addresses (DW_EH_PE_…; LSB 5.0, section 10.5). The low four bits say how large, the next three what is added.
const (
	encFormat = 0x0f
	encPCRel  = 0x10
	encBase   = 0x70
)

func encodedSize(encoding byte) (size uint64, ok bool) {
	switch encoding & encFormat {
	case 0x00, 0x04, 0x0c: // absptr, udata8, sdata8
		return 8, true
	case 0x03, 0x0b: // udata4, sdata4
		return 4, true
	case 0x02, 0x0a:
		return 2, true
	}
	return 0, false
}

// encoded reads a number of that format.
func (r *reader) encoded(encoding byte) uint64 {
	switch encoding & encFormat {
	case 0x00, 0x04, 0x0c:
		return r.u64()
	case 0x03:
		return uint64(r.u32())
	case 0x0b:
		return uint64(int64(int32(r.u32())))
	case 0x02:
		return uint64(r.u16())
	case 0x0a:
		return uint64(int64(int16(r.u16())))
	}
	r.failed = true
	return 0
}

// parseFDE reads what follows the pointer to its CIE; the first byte lies at an address.
func parseFDE(raw []byte, at uint64, c *cie) (e fde, ok bool) {
	r := reader{data: raw}
	e = fde{cie: c, start: r.encoded(c.encoding)}
	switch c.encoding & encBase {
	case 0:
	case encPCRel:
		e.start += at
	default:
		return fde{}, false
	}
	e.end = e.start + r.encoded(c.encoding&encFormat)
	if c.augmented {
		r.block()
	}
	e.program = r.data
	return e, !r.failed && e.end > e.start
}

// entrySource is a section with call frame information that is read as a whole.
type entrySource struct {
	data    []byte
	address uint64 // of the section
	debug   bool   // .debug_frame: identifiers are offsets, a CIE's is all ones
}

// parse reads the entry at an offset and says where the next one is. A CIE gives an entry without one.
func (s entrySource) parse(at uint64) (e fde, next uint64, ok bool) {
	if at > uint64(len(s.data)) || uint64(len(s.data))-at < 8 {
		return e, 0, false
	}
	length := uint64(binary.LittleEndian.Uint32(s.data[at:]))
	if length == 0 { // a terminator; a linker may leave one before more entries
		return e, at + 4, true
	}
	if length < 4 || length > maxEntry || length > uint64(len(s.data))-at-4 {
		return e, 0, false
	}
	next = at + 4 + length
	common, isCIE := s.commonOf(at)
	if isCIE {
		return e, next, true
	}
	if common > uint64(len(s.data)) || uint64(len(s.data))-common < 8 {
		return e, next, true
	}
	size := uint64(binary.LittleEndian.Uint32(s.data[common:]))
	if _, is := s.commonOf(common); !is || size < 4 || size > maxEntry || size > uint64(len(s.data))-common-4 {
		return e, next, true
	}
	c, ok := parseCIE(s.data[common+8:common+4+size], s.debug)
	if !ok {
		return e, next, true
	}
	if e, ok = parseFDE(s.data[at+8:next], s.address+at+8, c); !ok {
		return fde{}, next, true
	}
	return e, next, true
}

// commonOf is where an entry's CIE is, or that it is one.
func (s entrySource) commonOf(at uint64) (common uint64, isCIE bool) {
	id := uint64(binary.LittleEndian.Uint32(s.data[at+4:]))
	if s.debug {
		return id, id == 0xffffffff
	}
	return at + 4 - id, id == 0
}

// indexSection reads a whole section, entry by entry.
func (t *frameTables) indexSection(m *Module, name string, debug bool) {
	s := entrySource{data: m.section(m.elf, name), address: t.ehFrame, debug: debug}
	t.indexOf[debug] = s.data
	for at, n := uint64(0), 0; n < maxFDEs; n++ {
		e, next, ok := s.parse(at)
		if !ok {
			return
		}
		if e.cie != nil {
			t.indexed = append(t.indexed, indexedEntry{e.start, e.end, at, debug})
		}
		at = next
	}
}
