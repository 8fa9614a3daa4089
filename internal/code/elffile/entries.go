package elffile

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Span is the half-open range of addresses [Start, End).
type Span struct{ Start, End uint64 }

// Contains reports whether an address is in the range.
func (s Span) Contains(a uint64) bool { return a >= s.Start && a < s.End }

// Limits for call frame information, in bytes.
const (
	maxEntry  = 256 << 10 // of one entry; the longest seen has 12 KiB
	maxCommon = 4 << 10   // of one common entry, which may be parsed again for each entry that refers to it
)

// Common is a common information entry (CIE): the common part of several entries.
type Common struct {
	CodeAlign      uint64
	DataAlign      int64
	ReturnRegister uint64
	Signal         bool   // the frames are those of signal handlers, whose registers were all saved elsewhere
	Program        []byte // call frame instructions
	encoding       byte   // of the addresses in entries
	augmented      bool   // entries have augmentation data
}

// Entry is a frame description entry (FDE): how to find the caller from each address of a range.
type Entry struct {
	Span
	Common  *Common
	Program []byte // call frame instructions that follow the common ones
}

// parseCommon parses a common information entry from behind its identifier on. It knows version 1 for .eh_frame, and
// versions 1, 3 and 4 for .debug_frame.
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

// augment reads the augmentation data. Each letter stands for a part of it. augment returns false if it does not know a
// letter.
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

// Encodings of addresses (DW_EH_PE_…; LSB 5.0, section 10.5). The low four bits are the format, the next three the base
// that is added.
const (
	encFormat = 0x0f
	encPCRel  = 0x10
	encBase   = 0x70
)

// encodedSize returns the number of bytes of an address with an encoding.
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

// encoded reads a number in the format of an encoding.
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

// parseEntry parses an entry from behind its pointer to the common entry on. The first byte of raw lies at address at.
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

// entrySource is a section with call frame information that was read completely.
type entrySource struct {
	data    []byte
	address uint64 // of the section
	debug   bool   // it is .debug_frame: identifiers are offsets, and a CIE's is all ones
	// last is the CIE that was parsed last, and lastAt its offset. The entries of an object file share one.
	last   *Common
	lastAt uint64
}

// parse parses the entry at an offset, and returns the offset of the next one. For a CIE, and for an entry that it does
// not understand, e.Common is nil. ok is false if there are no more entries.
func (s *entrySource) parse(at uint64) (e Entry, next uint64, ok bool) {
	if at > uint64(len(s.data)) || uint64(len(s.data))-at < 8 {
		return e, 0, false
	}
	length := uint64(binary.LittleEndian.Uint32(s.data[at:]))
	if length == 0 { // a terminator; further entries may follow
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

// common returns the CIE at an offset.
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

// commonOf returns the offset of the CIE of the entry at an offset, or reports that the entry is a CIE itself.
func (s *entrySource) commonOf(at uint64) (common uint64, isCIE bool) {
	id := uint64(binary.LittleEndian.Uint32(s.data[at+4:]))
	if s.debug {
		return id, id == 0xffffffff
	}
	return at + 4 - id, id == 0
}

// each calls show with every entry and its offset, in order of offset, until show returns false or the section ends.
func (s *entrySource) each(show func(e Entry, at uint64) bool) {
	for at := uint64(0); ; {
		e, next, ok := s.parse(at)
		if !ok || e.Common != nil && !show(e, at) {
			return
		}
		at = next
	}
}

// ranges returns the sorted code ranges of an .eh_frame section at an address: one for each function, and one for each
// cold fragment that the compiler or BOLT split off.
func ranges(data []byte, address uint64) (spans []Span) {
	(&entrySource{data: data, address: address}).each(func(e Entry, _ uint64) bool {
		spans = append(spans, e.Span)
		return len(spans) < maxRanges
	})
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	return spans
}

// Limits for the .eh_frame of an [Image]. The largest seen (PyTorch 1.13) has 10 MiB, with 220,000 ranges.
const (
	maxEHFrame = 16 << 20
	maxRanges  = 1 << 18
)
