package native

import "encoding/binary"

// reader takes numbers off the front of a slice; failed turns true for ever at the first that is not there.
type reader struct {
	data   []byte
	failed bool
}

func (r *reader) take(n uint64) []byte {
	if r.failed || n > uint64(len(r.data)) {
		r.failed, r.data = true, nil
		return nil
	}
	out := r.data[:n]
	r.data = r.data[n:]
	return out
}

func (r *reader) u8() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// uleb reads an unsigned LEB128 of at most ten bytes; what does not fit into 64 bits is cut off.
func (r *reader) uleb() (n uint64) {
	for shift := uint(0); shift < 70; shift += 7 {
		b := r.u8()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	r.failed = true
	return 0
}

func (r *reader) sleb() (n int64) {
	for shift := uint(0); shift < 70; shift += 7 {
		b := r.u8()
		n |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 && shift+7 < 64 {
				n |= -1 << (shift + 7)
			}
			return n
		}
	}
	r.failed = true
	return 0
}

// block reads bytes with their number in front.
func (r *reader) block() []byte { return r.take(r.uleb()) }

// text reads up to a NUL.
func (r *reader) text() string {
	for i, b := range r.data {
		if b == 0 {
			out := string(r.data[:i])
			r.data = r.data[i+1:]
			return out
		}
	}
	r.failed, r.data = true, nil
	return ""
}
