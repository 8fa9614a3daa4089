package elffile

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Span is the half-open range of addresses [Start, End).
type Span struct{ Start, End uint64 }

// Contains reports whether an address is in it.
func (s Span) Contains(a uint64) bool { return a >= s.Start && a < s.End }

// Limits on call frame information.
const (
	maxEntry  = 256 << 10 // bytes of one entry; the longest seen has 12 KiB
	maxCommon = 4 << 10   // of a common one: many others that have it parse it again
)

// Common is the common part of several entries.
type Common struct {
	CodeAlign      uint64
	DataAlign      int64
	ReturnRegister uint64
	Signal         bool   // of frames of signal handlers: all their registers lie elsewhere
	Program        []byte // call frame instructions
	encoding       byte
	augmented      bool
}

// Entry is the way to the caller from a range of addresses.
type Entry struct {
	Span
	Common  *Common
	Program []byte // call frame instructions that follow the common ones
}

// parseCommon reads the part of a common information entry behind the identifier: of .eh_frame version 1, of
// .debug_frame 1, 3 and 4.
func parseCommon(raw []byte, debug bool) (*Common, bool) {
	r := Numbers{Data: raw}
	version := r.U8()
	augmentation := r.Text()
	if debug && version == 4 && (r.U8() != 8 || r.U8() != 0) { // sizes of an address and of a segment selector
		return nil, false
	}
	c := &Common{CodeAlign: r.ULEB(), DataAlign: r.SLEB()}
	if version == 1 {
		c.ReturnRegister = uint64(r.U8())
	} else {
		c.ReturnRegister = r.ULEB()
	}
	if augmentation != "" {
		if augmentation[0] != 'z' || !c.augment(augmentation[1:], r.Block()) {
			return nil, false
		}
		c.augmented = true
	}
	c.Program = r.Data
	return c, !r.Failed && c.CodeAlign < 1<<16 && c.DataAlign > -1<<16 && c.DataAlign < 1<<16
}

// augment reads the augmentation data.
func (c *Common) augment(letters string, data []byte) bool {
	r := Numbers{Data: data}
	for _, letter := range letters {
		switch letter {
		case 'R':
			c.encoding = r.U8()
		case 'L':
			r.U8()
		case 'P':
			if size, ok := encodedSize(r.U8()); !ok || r.Take(size) == nil {
				return false
			}
		case 'S':
			c.Signal = true
		case 'B':
		default:
			return false
		}
	}
	return !r.Failed
}

// Encodings of addresses (DW_EH_PE_…; LSB 5.0, section 10.5). The low four bits are the size, the next three the
// address that is added.
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
func (r *Numbers) encoded(encoding byte) uint64 {
	switch encoding & encFormat {
	case 0x00, 0x04, 0x0c:
		return r.U64()
	case 0x03:
		return uint64(r.U32())
	case 0x0b:
		return uint64(int64(int32(r.U32())))
	case 0x02:
		return uint64(r.U16())
	case 0x0a:
		return uint64(int64(int16(r.U16())))
	}
	r.Failed = true
	return 0
}

// parseEntry reads the part of an entry behind the pointer to its CIE; the first byte lies at an address.
func parseEntry(raw []byte, at uint64, c *Common) (e Entry, ok bool) {
	r := Numbers{Data: raw}
	e = Entry{Common: c, Span: Span{Start: r.encoded(c.encoding)}}
	switch c.encoding & encBase {
	case 0:
	case encPCRel:
		e.Start += at
	default:
		return Entry{}, false
	}
	e.End = e.Start + r.encoded(c.encoding&encFormat)
	if c.augmented {
		r.Block()
	}
	e.Program = r.Data
	return e, !r.Failed && e.End > e.Start
}

// entrySource is a section with call frame information that is read as a whole.
type entrySource struct {
	data    []byte
	address uint64 // of the section
	debug   bool   // .debug_frame: identifiers are offsets, a CIE's is all ones
	// last is the CIE that was read last, at an offset: the entries of an object file have one together.
	last   *Common
	lastAt uint64
}

// parse reads the entry at an offset and returns the offset of the next one. For a CIE it returns no entry.
func (s *entrySource) parse(at uint64) (e Entry, next uint64, ok bool) {
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
	c, ok := s.common(common)
	if !ok {
		return e, next, true
	}
	if e, ok = parseEntry(s.data[at+8:next], s.address+at+8, c); !ok {
		return Entry{}, next, true
	}
	return e, next, true
}

// common reads the CIE at an offset.
func (s *entrySource) common(at uint64) (c *Common, ok bool) {
	if s.last != nil && s.lastAt == at {
		return s.last, true
	}
	if at > uint64(len(s.data)) || uint64(len(s.data))-at < 8 {
		return nil, false
	}
	size := uint64(binary.LittleEndian.Uint32(s.data[at:]))
	if _, is := s.commonOf(at); !is || size < 4 || size > maxCommon || size > uint64(len(s.data))-at-4 {
		return nil, false
	}
	if c, ok = parseCommon(s.data[at+8:at+4+size], s.debug); ok {
		s.last, s.lastAt = c, at
	}
	return c, ok
}

// commonOf returns the place of an entry's CIE, or that the entry is one itself.
func (s *entrySource) commonOf(at uint64) (common uint64, isCIE bool) {
	id := uint64(binary.LittleEndian.Uint32(s.data[at+4:]))
	if s.debug {
		return id, id == 0xffffffff
	}
	return at + 4 - id, id == 0
}

// each shows every entry in order of the section, until show returns false or an entry is not understood.
func (s *entrySource) each(show func(e Entry, at uint64) bool) {
	for at := uint64(0); ; {
		e, next, ok := s.parse(at)
		if !ok || e.Common != nil && !show(e, at) {
			return
		}
		at = next
	}
}

// ranges returns the sorted code ranges of an .eh_frame section loaded at an address: one for each function and one for
// each cold fragment that the compiler or BOLT split off.
func ranges(data []byte, address uint64) (out []Span) {
	(&entrySource{data: data, address: address}).each(func(e Entry, _ uint64) bool {
		out = append(out, e.Span)
		return len(out) < maxRanges
	})
	slices.SortFunc(out, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	return out
}

// Bounds on the .eh_frame of an [Image]: 10 MiB in the largest library seen (PyTorch 1.13), with 220,000 ranges.
const (
	maxEHFrame = 16 << 20
	maxRanges  = 1 << 18
)
