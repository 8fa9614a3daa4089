package elffile

import (
	"bytes"
	"encoding/binary"
)

// Numbers reads numbers from the front of a slice, in the forms of DWARF and of notes. Failed becomes true at the first
// number that is not complete, and stays true. From then on each number is 0.
type Numbers struct {
	Data   []byte
	Failed bool
}

// Take returns the next n bytes, or nil if there are not so many.
func (r *Numbers) Take(n uint64) []byte {
	if r.Failed || n > uint64(len(r.Data)) {
		r.Failed, r.Data = true, nil
		return nil
	}
	out := r.Data[:n]
	r.Data = r.Data[n:]
	return out
}

// U8 reads a byte.
func (r *Numbers) U8() byte {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads two bytes.
func (r *Numbers) U16() uint16 {
	if b := r.Take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// U32 reads four bytes.
func (r *Numbers) U32() uint32 {
	if b := r.Take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 reads eight bytes.
func (r *Numbers) U64() uint64 {
	if b := r.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// maxLEBBits is the number of bits in the ten bytes of the longest LEB128.
const maxLEBBits = 70

// ULEB reads an unsigned LEB128 of at most ten bytes. Bits beyond 64 are cut off.
func (r *Numbers) ULEB() (n uint64) {
	for shift := uint(0); shift < maxLEBBits; shift += 7 {
		b := r.U8()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	r.Failed = true
	return 0
}

// SLEB reads a signed LEB128 of at most ten bytes.
func (r *Numbers) SLEB() (n int64) {
	for shift := uint(0); shift < maxLEBBits; shift += 7 {
		b := r.U8()
		n |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 && shift+7 < 64 {
				n |= -1 << (shift + 7)
			}
			return n
		}
	}
	r.Failed = true
	return 0
}

// Block reads the number of bytes that follow, and returns these bytes.
func (r *Numbers) Block() []byte { return r.Take(r.ULEB()) }

// Text reads a text up to its NUL, or fails if there is no NUL.
func (r *Numbers) Text() string {
	text, rest, ended := bytes.Cut(r.Data, []byte{0})
	if r.Data = rest; !ended {
		r.Failed = true
		return ""
	}
	return string(text)
}
